// The flat grammar of RESP: where the next token ends. Knows no nesting and keeps no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace slotwise::resp {

/// One line of the protocol: a whole simple value, or the header of a bulk string or an aggregate.
struct Token {
  char type = 0;            ///< the type byte
  std::int64_t number = 0;  ///< ':' its value; bulk: its length; aggregate: its count; -1 is null
  std::string_view text;    ///< simple value: the line after the type byte; bulk: its bytes. Not of
                            ///< a number: digits do not count towards max_reply_bytes
  std::size_t size = 0;     ///< bytes on the wire, with line ends, and with the bytes of a bulk
  const char* fault = "";   ///< after LineScan::fault: what is wrong, as the end of a sentence
};

enum class LineScan : std::uint8_t { whole, partial, fault };

/// Reads the line at `begin`. `looked` is where it remembers, from call to call, how much of an
/// unfinished line is known to hold no line end; set it to 0 for each new line. Of a bulk, only
/// the header is read: `size` counts the header alone. `*end` is readable and no digit, so that
/// digits are read without a look at the end.
LineScan scan_line(const char* begin, const char* end, std::size_t& looked, Token& token) noexcept;

constexpr bool is_bulk(char type) noexcept {
  return type == '$' || type == '=' || type == '!';
}
constexpr bool is_aggregate(char type) noexcept {
  return type == '*' || type == '%' || type == '~' || type == '>' || type == '|';
}

/// How many values follow inside an aggregate; 0 for any other token and for a null array.
constexpr std::size_t children(const Token& token) noexcept {
  if (!is_aggregate(token.type) || token.number <= 0) return 0;
  const auto count = static_cast<std::size_t>(token.number);
  return token.type == '%' || token.type == '|' ? 2 * count : count;
}

}  // namespace slotwise::resp
