#include "routing/words.hpp"

#include <charconv>
#include <cstddef>

#include "resp/encoder.hpp"

namespace slotwise::routing {
namespace {

/// Reads "*3\r\n" or "$3\r\n" and moves behind it.
std::size_t take_header(std::string_view& rest) {
  const std::size_t end = rest.find('\r');
  std::size_t n = 0;
  std::from_chars(rest.data() + 1, rest.data() + end, n);
  rest.remove_prefix(end + 2);
  return n;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view bytes) {
  std::vector<std::string_view> words;
  std::size_t count = take_header(bytes);
  words.reserve(count);
  for (; count > 0; --count) {
    const std::size_t size = take_header(bytes);
    words.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size + 2);
  }
  return words;
}

std::string evalsha_as_eval(std::string_view bytes, std::string_view body) {
  std::vector<std::string_view> words = words_of(bytes);
  const bool read_only = words[0].size() > 7;  // EVALSHA_RO
  words[0] = read_only ? "EVAL_RO" : "EVAL";
  words[1] = body;
  std::string encoded;
  resp::append_command(encoded, words);
  return encoded;
}

}  // namespace slotwise::routing
