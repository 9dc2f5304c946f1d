// The Reply part of connection.hpp.
#include <fmt/format.h>

#include <charconv>

#include "kit/connection.hpp"
#include "kit/error.hpp"

namespace slotwise::kit {

bool Reply::is_error(std::string_view word) const noexcept {
  return is_error() && std::string_view(text).substr(0, text.find(' ')) == word;
}

const std::string& Reply::str() const {
  if (type == Type::string || type == Type::status || type == Type::error || type == Type::other) {
    return text;
  }
  throw Error("reply is no text: " + to_string());
}

std::int64_t Reply::num() const {
  if (type == Type::integer || type == Type::boolean) return integer;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || at != end) {
    throw Error("reply is no integer: " + to_string());
  }
  return value;
}

std::vector<std::string> Reply::strings() const {
  std::vector<std::string> all;
  for (const auto& item : items) {
    all.push_back(item.type == Type::integer ? std::to_string(item.integer) : item.text);
  }
  return all;
}

const Reply& Reply::at(std::size_t index) const {
  if (index < items.size()) return items[index];
  throw Error(fmt::format("reply has no item {}: {}", index, to_string()));
}

const Reply* Reply::find(std::string_view key) const {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

const Reply& Reply::at(std::string_view key) const {
  if (const auto* found = find(key)) return *found;
  throw Error(fmt::format("reply has no field '{}': {}", key, to_string()));
}

std::string Reply::to_string() const {
  switch (type) {
    case Type::nil:
      return "nil";
    case Type::integer:
      return std::to_string(integer);
    case Type::boolean:
      return integer != 0 ? "true" : "false";
    case Type::error:
      return "error '" + text + "'";
    case Type::array:
    case Type::map:
    case Type::set:
    case Type::push:
      break;
    default:
      return "'" + text + "'";
  }
  std::string all = "[";
  for (const auto& item : items) {
    if (all.size() > 1) all += ", ";
    if (all.size() > 500) return all + "...]";
    all += item.to_string();
  }
  return all + "]";
}

}  // namespace slotwise::kit
