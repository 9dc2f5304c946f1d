#include "kit/resp_bytes.hpp"

#include <fmt/format.h>

namespace slotwise::kit::resp {

namespace {

std::string aggregate(char type, std::size_t count, const std::vector<std::string>& items) {
  std::string bytes = fmt::format("{}{}\r\n", type, count);
  for (const auto& item : items)
    bytes += item;
  return bytes;
}

}  // namespace

std::string simple(std::string_view text) {
  return fmt::format("+{}\r\n", text);
}
std::string error(std::string_view text) {
  return fmt::format("-{}\r\n", text);
}
std::string integer(std::int64_t value) {
  return fmt::format(":{}\r\n", value);
}
std::string bulk(std::string_view bytes) {
  return fmt::format("${}\r\n{}\r\n", bytes.size(), bytes);
}
std::string nil2() {
  return "$-1\r\n";
}
std::string nil3() {
  return "_\r\n";
}

std::string array(const std::vector<std::string>& encoded_items) {
  return aggregate('*', encoded_items.size(), encoded_items);
}

std::string push(const std::vector<std::string>& encoded_items) {
  return aggregate('>', encoded_items.size(), encoded_items);
}

std::string map(const std::vector<std::pair<std::string, std::string>>& encoded_pairs) {
  std::vector<std::string> items;
  for (const auto& [key, value] : encoded_pairs) {
    items.push_back(key);
    items.push_back(value);
  }
  return aggregate('%', encoded_pairs.size(), items);
}

std::string bulks(const std::vector<std::string>& items) {
  std::vector<std::string> encoded;
  for (const auto& item : items)
    encoded.push_back(bulk(item));
  return array(encoded);
}

}  // namespace slotwise::kit::resp
