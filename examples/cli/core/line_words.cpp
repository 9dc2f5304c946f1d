#include "cli/core/line_words.hpp"

#include <fmt/format.h>

namespace slotwise::cli {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string position(std::size_t at) {
  return fmt::format("column {}", at + 1);
}

/// The byte that `\c` stands for, or nothing.
std::optional<char> simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case '\\':
    case '"':
      return c;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> LineWords::split(std::string_view line) {
  words_.clear();
  bytes_.clear();
  bytes_.reserve(line.size());  // so that the views into it stay valid
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_blank(line[at]))
      ++at;
    if (at == line.size()) return std::nullopt;
    if (words_.empty() && line[at] == '#') return std::nullopt;
    const std::size_t start = bytes_.size();
    while (at < line.size() && !is_blank(line[at])) {
      if (line[at] == '"' || line[at] == '\'') {
        if (auto wrong = quoted(line, at)) {
          words_.clear();
          return wrong;
        }
      } else {
        bytes_ += line[at++];
      }
    }
    words_.push_back(std::string_view(bytes_).substr(start));
  }
}

// Reads one quoted part that begins at `at`, and leaves `at` behind its closing quote.
std::optional<std::string> LineWords::quoted(std::string_view line, std::size_t& at) {
  const std::size_t open = at;
  const char quote = line[at++];
  while (at < line.size() && line[at] != quote) {
    if (quote == '\'' || line[at] != '\\') {
      bytes_ += line[at++];
      continue;
    }
    const std::size_t escape = at++;
    if (at == line.size()) break;  // a backslash at the very end: the quote is open all the same
    const char c = line[at];
    if (c == 'x') {
      const int high = escape + 2 < line.size() ? hex_digit(line[escape + 2]) : -1;
      const int low = escape + 3 < line.size() ? hex_digit(line[escape + 3]) : -1;
      if (high < 0 || low < 0) {
        return fmt::format("{}: \\x needs two hex digits, as in \"\\x00\"", position(escape));
      }
      bytes_ += static_cast<char>(high * 16 + low);
      at = escape + 4;
    } else if (auto byte = simple_escape(c)) {
      bytes_ += *byte;
      at = escape + 2;
    } else {
      return fmt::format("{}: unknown escape; for a backslash write \\\\ or use single quotes",
                         position(escape));
    }
  }
  if (at >= line.size()) {
    return fmt::format("{}: the {} quote opened here is never closed", position(open),
                       quote == '"' ? "double" : "single");
  }
  ++at;
  return std::nullopt;
}

}  // namespace slotwise::cli
