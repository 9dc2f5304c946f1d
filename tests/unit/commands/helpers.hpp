// What the tests of this room share.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/reply.hpp>

#include "commands/command_info.hpp"

namespace commands_test {

using slotwise::Reply;

/// A whole command, usable as Args: words({"GET", "k"}).
using Words = std::vector<std::string_view>;

inline Words words(std::initializer_list<std::string_view> list) {
  return Words(list);
}

/// "GET k" cut at single blanks. The text must outlive the result.
inline Words cut(std::string_view text) {
  Words out;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    out.push_back(text.substr(0, blank));
    if (blank == std::string_view::npos) break;
    text.remove_prefix(blank + 1);
  }
  return out;
}

inline Reply number(std::int64_t value) {
  return Reply::make_integer(value);
}
inline Reply text(std::string value) {
  return Reply::make_text(Reply::Type::string, std::move(value));
}
inline Reply status(std::string value) {
  return Reply::make_text(Reply::Type::status, std::move(value));
}
inline Reply error(std::string value) {
  return Reply::make_text(Reply::Type::error, std::move(value));
}
inline Reply array(std::vector<Reply> values) {
  return Reply::make_aggregate(Reply::Type::array, std::move(values));
}
inline Reply map(std::vector<Reply> values) {
  return Reply::make_aggregate(Reply::Type::map, std::move(values));
}

/// A reply as one line: 1, "text", +status, -error, [1 2], {k v}, nil.
inline std::string show(const Reply& reply) {
  switch (reply.type()) {
    case Reply::Type::nil:
      return "nil";
    case Reply::Type::integer:
      return std::to_string(reply.integer());
    case Reply::Type::real: {
      std::ostringstream out;
      out << reply.real();
      return out.str();
    }
    case Reply::Type::boolean:
      return reply.boolean() ? "true" : "false";
    case Reply::Type::status:
      return "+" + std::string(reply.text());
    case Reply::Type::error:
      return "-" + std::string(reply.text());
    default:
      break;
  }
  if (reply.is_text()) return '"' + std::string(reply.text()) + '"';
  std::string out;
  for (const Reply& each : reply.elements())
    out += (out.empty() ? "" : " ") + show(each);
  const bool is_array = reply.type() == Reply::Type::array;
  return (is_array ? "[" : "{") + out + (is_array ? "]" : "}");
}

}  // namespace commands_test
