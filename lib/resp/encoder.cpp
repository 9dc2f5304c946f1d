#include "resp/encoder.hpp"

#include <array>
#include <bit>
#include <cstdint>
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

constexpr std::array<char, 200> make_two_digits() noexcept {
  std::array<char, 200> digits{};
  for (std::size_t n = 0; n < 100; ++n) {
    digits[2 * n] = static_cast<char>('0' + n / 10);
    digits[2 * n + 1] = static_cast<char>('0' + n % 10);
  }
  return digits;
}
constexpr std::array<char, 200> two_digits = make_two_digits();

char* write_line_end(char* to) noexcept {
  constexpr char bytes[] = {'\r', '\n'};
  std::memcpy(to, bytes, 2);
  return to + 2;
}

char* write_long_header(char* to, char type, std::size_t n) noexcept {
  to[0] = type;
  char* const end = to + 1 + digits_of(n);
  for (char* p = end; p != to + 1; n /= 10)
    *--p = static_cast<char>('0' + n % 10);
  return write_line_end(end);
}

// type byte, number, line end; up to 3 bytes behind them are written too, so there must be room
[[gnu::always_inline]] inline char* write_header(char* to, char type, std::size_t n) noexcept {
  // One store each. The bytes of a number stand in memory lowest first here.
  if constexpr (std::endian::native == std::endian::little) {
    const auto first = static_cast<std::uint32_t>(static_cast<unsigned char>(type));
    if (n < 10) {
      const std::uint32_t bytes = first | static_cast<std::uint32_t>('0' + n) << 8 | 0x0a0d0000U;
      std::memcpy(to, &bytes, 4);
      return to + 4;
    }
    if (n < 100) {
      std::uint16_t digits = 0;
      std::memcpy(&digits, &two_digits[2 * n], 2);
      const std::uint64_t bytes = first | std::uint64_t{digits} << 8 | 0x0a0d000000U;
      std::memcpy(to, &bytes, 8);
      return to + 5;
    }
  }
  return write_long_header(to, type, n);
}

// Names, keys and numbers are short: two overlapping moves beat the call.
[[gnu::always_inline]] inline void write_text(char* to, const char* from, std::size_t n) noexcept {
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

std::size_t write_if_fits(char* to, std::size_t room,
                          std::span<const std::string_view> words) noexcept {
  std::size_t bound = most_per_word * (words.size() + 1);
  for (const std::string_view& word : words)
    bound += word.size();
  if (bound > room) return 0;
  return static_cast<std::size_t>(write_command(to, words) - to);
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
  // A string fills new room with zeros; appending what is written already is cheaper.
  char small[256];
  if (const std::size_t size = write_if_fits(small, sizeof small, words); size != 0) {
    out.append(small, size);
    return;
  }
  out.reserve(out.size() + encoded_size(words));
  char header[most_per_word + 8];
  const auto append_header = [&](char type, std::size_t n) {
    out.append(header, static_cast<std::size_t>(write_header(header, type, n) - header));
  };
  append_header('*', words.size());
  for (std::string_view word : words) {
    append_header('$', word.size());
    out.append(word).append("\r\n", 2);
  }
}

CommandBytes::CommandBytes(std::span<const std::string_view> words) {
  if (const std::size_t size = write_if_fits(small_, sizeof small_, words); size != 0) {
    bytes_ = {small_, size};
  } else {
    append_command(large_, words);
    bytes_ = large_;
  }
}

}  // namespace slotwise::resp
