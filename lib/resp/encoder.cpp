#include "resp/encoder.hpp"

#include <cstring>

namespace slotwise::resp {
namespace {

// A header and the line end after the bytes take at most this: '$', 20 digits, two line ends.
constexpr std::size_t most_per_word = 1 + 20 + 2 + 2;

constexpr std::size_t digits_of(std::size_t n) noexcept {
  std::size_t digits = 1;
  for (; n >= 10; n /= 10)
    ++digits;
  return digits;
}

char* write_line_end(char* to) noexcept {
  to[0] = '\r';
  to[1] = '\n';
  return to + 2;
}

// type byte, number, line end
char* write_header(char* to, char type, std::size_t n) noexcept {
  to[0] = type;
  if (n < 10) {
    to[1] = static_cast<char>('0' + n);
    return write_line_end(to + 2);
  }
  if (n < 100) {
    to[1] = static_cast<char>('0' + n / 10);
    to[2] = static_cast<char>('0' + n % 10);
    return write_line_end(to + 3);
  }
  char* const end = to + 1 + digits_of(n);
  for (char* p = end; n != 0; n /= 10)
    *--p = static_cast<char>('0' + n % 10);
  return write_line_end(end);
}

// Names, keys and numbers are short: two overlapping moves beat the call.
void write_text(char* to, const char* from, std::size_t n) noexcept {
  const auto both_ends = [&](std::size_t width) {
    std::memcpy(to, from, width);
    std::memcpy(to + n - width, from + n - width, width);
  };
  if (n > 16) {
    std::memcpy(to, from, n);
  } else if (n >= 8) {
    both_ends(8);
  } else if (n >= 4) {
    both_ends(4);
  } else if (n != 0) {
    to[0] = from[0];
    to[n / 2] = from[n / 2];
    to[n - 1] = from[n - 1];
  }
}

}  // namespace

std::size_t encoded_size(std::span<const std::string_view> words) noexcept {
  std::size_t size = 3 + digits_of(words.size());
  for (std::string_view word : words)
    size += 5 + digits_of(word.size()) + word.size();
  return size;
}

std::size_t encoded_bound(std::span<const std::string_view> words) noexcept {
  std::size_t bound = most_per_word * (words.size() + 1);
  for (std::string_view word : words)
    bound += word.size();
  return bound;
}

char* write_command(char* to, std::span<const std::string_view> words) noexcept {
  to = write_header(to, '*', words.size());
  for (std::string_view word : words) {
    to = write_header(to, '$', word.size());
    write_text(to, word.data(), word.size());
    to = write_line_end(to + word.size());
  }
  return to;
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  std::size_t bound = most_per_word * (words.size() + 1);
  for (std::string_view word : words)
    bound += word.size();
  // A string fills new room with zeros; appending what is written already is cheaper.
  if (char small[256]; bound <= sizeof(small)) {
    out.append(small, static_cast<std::size_t>(write_command(small, words) - small));
    return;
  }
  const std::size_t old_size = out.size();
  out.resize(old_size + encoded_size(words));
  write_command(out.data() + old_size, words);
}

}  // namespace slotwise::resp
