#include "cli/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>

namespace slotwise::cli {

namespace {

constexpr std::string_view hex = "0123456789abcdef";

unsigned char byte_at(std::string_view s, std::size_t i) noexcept {
  return static_cast<unsigned char>(s[i]);
}

/// Length of the well-formed UTF-8 sequence at `i`, or 0.
std::size_t sequence_at(std::string_view s, std::size_t i) noexcept {
  const unsigned char lead = byte_at(s, i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || i + length > s.size()) return 0;
  // Only the second byte is limited by the first: overlong forms, surrogates, above U+10FFFF.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte_at(s, i + 1) < low || byte_at(s, i + 1) > high) return 0;
  for (std::size_t k = 2; k < length; ++k) {
    if ((byte_at(s, i + k) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// True if the text can stand on a line of its own and be taken for nothing else.
bool stands_alone(std::string_view text) noexcept {
  if (text.empty() || text.front() == '"') return false;
  if (text.starts_with("(nil)") || text.starts_with("(error)")) return false;
  return std::none_of(text.begin(), text.end(), is_control) && is_utf8(text);
}

void append_real(std::string& out, double value) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  out.append(digits, end);
}

bool all_utf8(const Reply& reply) noexcept {
  if (reply.is_text()) return is_utf8(reply.text());
  const auto elements = reply.elements();
  return std::all_of(elements.begin(), elements.end(), all_utf8);
}

void append_nested(std::string& out, const Reply& reply) {
  const bool map = reply.type() == Reply::Type::map;
  out += map ? '{' : '[';
  std::size_t i = 0;
  for (const Reply& element : reply.elements()) {
    if (i != 0) out += map && i % 2 == 1 ? ": " : ", ";
    ++i;
    if (element.is_aggregate()) {
      append_nested(out, element);
    } else if (element.is_text() && !element.is_error() &&
               element.type() != Reply::Type::big_number) {
      append_quoted(out, element.text());
    } else {
      append_reply(out, element);
    }
  }
  out += map ? '}' : ']';
}

void append_json_value(std::string& out, const Reply& reply, JsonEncoding encoding);

void append_json_map(std::string& out, std::span<const Reply> elements, JsonEncoding encoding) {
  bool text_keys = true;
  for (std::size_t i = 0; i < elements.size(); i += 2)
    text_keys &= elements[i].is_text();
  out += text_keys ? '{' : '[';
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (i != 0) out += ',';
    if (!text_keys) out += '[';
    append_json_value(out, elements[i], encoding);
    out += text_keys ? ':' : ',';
    append_json_value(out, elements[i + 1], encoding);
    if (!text_keys) out += ']';
  }
  out += text_keys ? '}' : ']';
}

void append_json_value(std::string& out, const Reply& reply, JsonEncoding encoding) {
  switch (reply.type()) {
    case Reply::Type::nil:
      out += "null";
      return;
    case Reply::Type::integer:
      fmt::format_to(std::back_inserter(out), "{}", reply.integer());
      return;
    case Reply::Type::boolean:
      out += reply.boolean() ? "true" : "false";
      return;
    case Reply::Type::real:
      if (!std::isfinite(reply.real())) out += '"';
      append_real(out, reply.real());
      if (!std::isfinite(reply.real())) out += '"';
      return;
    case Reply::Type::error:
      out += R"({"error":)";
      append_json_string(out, reply.text(), encoding);
      out += '}';
      return;
    case Reply::Type::map:
      append_json_map(out, reply.elements(), encoding);
      return;
    case Reply::Type::status:
    case Reply::Type::string:
    case Reply::Type::big_number:
    case Reply::Type::verbatim:
      append_json_string(out, reply.text(), encoding);
      return;
    case Reply::Type::array:
    case Reply::Type::set:
    case Reply::Type::push:
      break;
  }
  out += '[';
  bool first = true;
  for (const Reply& element : reply.elements()) {
    if (!first) out += ',';
    first = false;
    append_json_value(out, element, encoding);
  }
  out += ']';
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept {
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_at(bytes, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void append_quoted(std::string& out, std::string_view bytes) {
  out += '"';
  for (std::size_t i = 0; i < bytes.size();) {
    const char c = bytes[i];
    const std::size_t length = sequence_at(bytes, i);
    if (length > 1) {
      out += bytes.substr(i, length);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += '\\';
      out += c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
    } else if (length == 0 || is_control(c)) {
      out += "\\x";
      out += hex[byte_at(bytes, i) >> 4];
      out += hex[byte_at(bytes, i) & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    i += std::max<std::size_t>(length, 1);
  }
  out += '"';
}

void append_json_string(std::string& out, std::string_view bytes, JsonEncoding encoding) {
  out += '"';
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (is_control(c) || (byte >= 0x80 && encoding == JsonEncoding::latin1)) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  out += '"';
}

void append_reply(std::string& out, const Reply& reply) {
  switch (reply.type()) {
    case Reply::Type::nil:
      out += "(nil)";
      return;
    case Reply::Type::integer:
      fmt::format_to(std::back_inserter(out), "{}", reply.integer());
      return;
    case Reply::Type::boolean:
      out += reply.boolean() ? "true" : "false";
      return;
    case Reply::Type::real:
      append_real(out, reply.real());
      return;
    case Reply::Type::error:
      out += "(error) ";
      break;
    case Reply::Type::status:
    case Reply::Type::string:
    case Reply::Type::big_number:
    case Reply::Type::verbatim:
      break;
    case Reply::Type::array:
    case Reply::Type::map:
    case Reply::Type::set:
    case Reply::Type::push:
      append_nested(out, reply);
      return;
  }
  if (stands_alone(reply.text())) {
    out += reply.text();
  } else {
    append_quoted(out, reply.text());
  }
}

JsonEncoding append_json_reply(std::string& out, const Reply& reply) {
  const auto encoding = all_utf8(reply) ? JsonEncoding::utf8 : JsonEncoding::latin1;
  append_json_value(out, reply, encoding);
  return encoding;
}

void append_line(std::string& out, const Reply& reply, bool json) {
  if (json) {
    out += R"({"ok":true,"reply":)";
    if (append_json_reply(out, reply) == JsonEncoding::latin1) out += R"(,"encoding":"latin1")";
    out += '}';
  } else {
    append_reply(out, reply);
  }
  out += '\n';
}

void append_line(std::string& out, const Error& error, bool json) {
  if (!json) {
    std::string text;
    // What the server says stands as it came; ours says also whether the command ran.
    if (error.code() == ErrorCode::server) {
      text = error.server_text().empty() ? error.message() : error.server_text();
    } else {
      text = fmt::format("{} ({}): {}", to_string(error.code()), to_string(error.outcome()),
                         error.message());
    }
    append_reply(out, Reply::make_text(Reply::Type::error, std::move(text)));
    out += '\n';
    return;
  }
  const bool utf8 = is_utf8(error.message());
  fmt::format_to(std::back_inserter(out), R"({{"ok":false,"code":"{}","outcome":"{}","message":)",
                 to_string(error.code()), to_string(error.outcome()));
  append_json_string(out, error.message(), utf8 ? JsonEncoding::utf8 : JsonEncoding::latin1);
  out += R"(,"node":)";
  append_json_string(out, error.node(), JsonEncoding::latin1);
  fmt::format_to(std::back_inserter(out), R"(,"attempts":{})", error.attempts());
  if (!utf8) out += R"(,"encoding":"latin1")";
  out += "}\n";
}

}  // namespace slotwise::cli
