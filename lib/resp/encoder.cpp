#include "resp/encoder.hpp"

#include <cstring>

namespace slotwise::resp {
namespace {

constexpr std::size_t digits_of(std::size_t n) noexcept {
  std::size_t digits = 1;
  for (; n >= 10; n /= 10)
    ++digits;
  return digits;
}

// type byte, number, line end
char* write_header(char* to, char type, std::size_t n) noexcept {
  *to++ = type;
  if (n < 10) {
    *to++ = static_cast<char>('0' + n);
  } else {
    char* const end = to + digits_of(n);
    for (char* p = end; p != to; n /= 10)
      *--p = static_cast<char>('0' + n % 10);
    to = end;
  }
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

}  // namespace

std::size_t encoded_size(std::span<const std::string_view> words) noexcept {
  std::size_t size = 3 + digits_of(words.size());
  for (std::string_view word : words)
    size += 5 + digits_of(word.size()) + word.size();
  return size;
}

char* write_command(char* to, std::span<const std::string_view> words) noexcept {
  to = write_header(to, '*', words.size());
  for (std::string_view word : words) {
    to = write_header(to, '$', word.size());
    if (!word.empty()) std::memcpy(to, word.data(), word.size());
    to += word.size();
    *to++ = '\r';
    *to++ = '\n';
  }
  return to;
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  const std::size_t old_size = out.size();
  out.resize(old_size + encoded_size(words));
  write_command(out.data() + old_size, words);
}

}  // namespace slotwise::resp
