#include "resp/encoder.hpp"

#include <algorithm>
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

[[gnu::noinline]] char* write_long_header(char* to, char type, std::size_t n) noexcept {
  to[0] = type;
  char* const end = to + 1 + digits_of(n);
  for (char* p = end; p != to + 1; n /= 10)
    *--p = static_cast<char>('0' + n % 10);
  return write_line_end(end);
}

// Type byte, number below 100, line end; up to 3 bytes behind them are written too, so there must
// be room.
[[gnu::always_inline]] inline char* write_short_header(char* to, char type,
                                                       std::size_t n) noexcept {
  // One store each. The bytes of a number stand in memory lowest first here.
  if constexpr (std::endian::native == std::endian::little) {
    const auto first = static_cast<std::uint32_t>(static_cast<unsigned char>(type));
    if (n < 10) {
      const std::uint32_t bytes = first | static_cast<std::uint32_t>('0' + n) << 8 | 0x0a0d0000U;
      std::memcpy(to, &bytes, 4);
      return to + 4;
    }
    std::uint16_t digits = 0;
    std::memcpy(&digits, &two_digits[2 * n], 2);
    const std::uint64_t bytes = first | std::uint64_t{digits} << 8 | 0x0a0d000000U;
    std::memcpy(to, &bytes, 8);
    return to + 5;
  }
  return write_long_header(to, type, n);
}

[[gnu::always_inline]] inline char* write_header(char* to, char type, std::size_t n) noexcept {
  return n < 100 ? write_short_header(to, type, n) : write_long_header(to, type, n);
}

// At most 32 bytes. Names, keys and numbers are short: two overlapping moves beat the call.
[[gnu::always_inline]] inline void write_short_text(char* to, const char* from,
                                                    std::size_t n) noexcept {
  const auto both_ends = [&](std::size_t width) {
    std::memcpy(to, from, width);
    std::memcpy(to + n - width, from + n - width, width);
  };
  if (n > 16) {
    both_ends(16);
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

[[gnu::always_inline]] inline void write_text(char* to, const char* from, std::size_t n) noexcept {
  if (n > 32) {
    std::memcpy(to, from, n);
  } else {
    write_short_text(to, from, n);
  }
}

[[gnu::always_inline]] inline char* write_word(char* to, const std::string_view& word) noexcept {
  to = write_header(to, '$', word.size());
  write_text(to, word.data(), word.size());
  return write_line_end(to + word.size());
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
  for (std::string_view word : words)
    to = write_word(to, word);
  return to;
}

Head make_head(std::string_view name) noexcept {
  const std::size_t space = name.find(' ');
  const bool two = space != std::string_view::npos;
  const std::string_view parts[] = {name.substr(0, space),
                                    two ? name.substr(space + 1) : std::string_view()};
  const std::span<const std::string_view> words(parts, two ? 2 : 1);
  char whole[Head::most_bytes + 2 * most_per_word];
  Head head;
  const std::size_t size = encoded_size(words) - 4;  // without "*1" and its line end
  if (size > Head::most_bytes) return head;
  char* to = whole;
  for (std::string_view word : words)
    to = write_word(to, word);
  std::memcpy(head.bytes, whole, size);
  head.words = static_cast<std::uint8_t>(words.size());
  head.size = static_cast<std::uint8_t>(size);
  return head;
}

namespace {

constexpr std::size_t most_for_header = 8;  // type, three digits, line ends; what is over-written

[[gnu::noinline]] std::size_t write_words_behind(char* const begin, std::size_t room,
                                                 const Head& head,
                                                 std::span<const std::string_view> words) noexcept {
  constexpr std::size_t longest_word = 999;
  if (head.words == 0 || words.size() > 99 || room < most_for_header + Head::most_bytes)
      [[unlikely]] {
    return write_if_fits(begin, room, words);
  }
  const std::string_view* word = words.data() + head.words;
  const std::string_view* const end = words.data() + words.size();
  const char* const room_end = begin + room;
  char* to = write_short_header(begin, '*', words.size());
  std::memcpy(to, head.bytes, Head::most_bytes);  // all of it: a known length costs two moves
  to += head.size;
  for (; word != end; ++word) {
    const std::size_t size = word->size();
    const char* const text = word->data();
    if (size > longest_word || static_cast<std::size_t>(room_end - to) < size + most_for_header) {
      return 0;
    }
    to = size < 100 ? write_short_header(to, '$', size) : write_long_header(to, '$', size);
    write_text(to, text, size);
    to = write_line_end(to + size);
  }
  return static_cast<std::size_t>(to - begin);
}

}  // namespace

std::size_t write_if_fits(char* const begin, std::size_t room, const Head& head,
                          std::span<const std::string_view> words) noexcept {
  // One short word behind the head is what most calls have: straight through, without a call.
  constexpr std::size_t short_word = 32;
  constexpr std::size_t enough = 2 * most_for_header + Head::most_bytes + short_word;
  const std::size_t last = head.words;
  if (last == 0 || words.size() != last + 1 || words[last].size() > short_word || room < enough)
      [[unlikely]] {
    return write_words_behind(begin, room, head, words);
  }
  const std::string_view word = words[last];
  char* to = write_short_header(begin, '*', last + 1);
  std::memcpy(to, head.bytes, Head::most_bytes);  // all of it: a known length costs two moves
  to = write_short_header(to + head.size, '$', word.size());
  write_short_text(to, word.data(), word.size());
  to = write_line_end(to + word.size());
  return static_cast<std::size_t>(to - begin);
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

CommandBytes::CommandBytes(std::span<const std::string_view> words) : CommandBytes(Head(), words) {}

CommandBytes::CommandBytes(const Head& head, std::span<const std::string_view> words) {
  if (const std::size_t size = write_if_fits(small_, sizeof small_, head, words); size != 0) {
    bytes_ = {small_, size};
  } else {
    append_command(large_, words);
    bytes_ = large_;
  }
}

}  // namespace slotwise::resp
