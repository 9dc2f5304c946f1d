#include "resp/token.hpp"

#include <cassert>
#include <cstring>

namespace slotwise::resp {
namespace {

// A double has at most this many characters; hiredis has the same limit.
constexpr std::size_t max_double_length = 325;

LineScan fault(Token& token, const char* text) noexcept {
  token.fault = text;
  return LineScan::fault;
}

// Reads the number of a header strictly, as servers write it: no plus sign, no leading zeros.
LineScan scan_number(const char* begin, const char* end, Token& token) noexcept {
  const char* p = begin + 1;
  const bool negative = *p == '-' && p != end;
  if (negative) ++p;
  const char* const digits = p;
  std::uint64_t value = 0;
  for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) <= 9; ++p) {
    value = value * 10 + digit;
  }
  // 19 digits cannot overflow 64 bits without a sign.
  if (p - digits > 19) return fault(token, "a number that does not fit into 64 bits");
  if (end - p < 2) {
    const bool possible = p == end || (*p == '\r' && p != digits);
    return possible ? LineScan::partial : fault(token, "a number with other bytes in it");
  }
  const bool leading_zero = *digits == '0' && (p - digits > 1 || negative);
  if (p == digits || leading_zero || p[0] != '\r' || p[1] != '\n') {
    return fault(token, "a number with other bytes in it");
  }
  if (value > std::uint64_t{INT64_MAX} + (negative ? 1 : 0)) {
    return fault(token, "a number that does not fit into 64 bits");
  }
  token.number = static_cast<std::int64_t>(negative ? 0 - value : value);
  token.size = static_cast<std::size_t>(p + 2 - begin);
  return LineScan::whole;
}

LineScan scan_count(const char* begin, const char* end, bool null_allowed, Token& token) noexcept {
  const LineScan result = scan_number(begin, end, token);
  if (result == LineScan::whole && token.number < 0 && !(null_allowed && token.number == -1)) {
    return fault(token, "a negative length");
  }
  return result;
}

LineScan scan_text(const char* begin, const char* end, std::size_t& looked, Token& token) noexcept {
  const char* const text = begin + 1;
  const char* const from = text + looked;
  assert(from <= end);  // else `looked` is of another line
  const auto* cr =
      static_cast<const char*>(std::memchr(from, '\r', static_cast<std::size_t>(end - from)));
  if (cr == nullptr || cr + 1 == end) {
    looked = static_cast<std::size_t>((cr ? cr : end) - text);
    return LineScan::partial;
  }
  token.text = {text, static_cast<std::size_t>(cr - text)};
  if (cr[1] != '\n' || std::memchr(text, '\n', token.text.size()) != nullptr) {
    return fault(token, "a line break inside a line");
  }
  token.size = token.text.size() + 3;
  return LineScan::whole;
}

// A line that can only be short: it must not make us wait, or search, for long.
LineScan scan_short(const char* begin, const char* end, std::size_t longest, std::size_t& looked,
                    Token& token) noexcept {
  const LineScan result = scan_text(begin, end, looked, token);
  const std::size_t length = result == LineScan::whole ? token.text.size() : looked;
  return length > longest ? fault(token, "a line longer than its type can have") : result;
}

LineScan scan_flag(const char* begin, const char* end, std::size_t& looked, Token& token) noexcept {
  const LineScan result = scan_short(begin, end, 1, looked, token);
  if (result == LineScan::whole && token.text != "t" && token.text != "f") {
    return fault(token, "a boolean that is neither t nor f");
  }
  return result;
}

}  // namespace

LineScan scan_line(const char* begin, const char* end, std::size_t& looked, Token& token) noexcept {
  if (begin == end) return LineScan::partial;
  token.type = *begin;
  switch (*begin) {
    case '$':
    case '*':
      return scan_count(begin, end, true, token);
    case ':':
      return scan_number(begin, end, token);
    case '+':
    case '-':
    case '(':
      return scan_text(begin, end, looked, token);
    case '=':
    case '!':
    case '%':
    case '~':
    case '>':
    case '|':
      return scan_count(begin, end, false, token);
    case '_':
      return scan_short(begin, end, 0, looked, token);
    case '#':
      return scan_flag(begin, end, looked, token);
    case ',':
      return scan_short(begin, end, max_double_length, looked, token);
    default:
      return fault(token, "a byte that begins no type");
  }
}

}  // namespace slotwise::resp
