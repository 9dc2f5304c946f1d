#include "hotkey/names.hpp"

#include <slotwise/slot.hpp>

#include "hotkey/tags.hpp"

namespace slotwise::hotkey {

namespace {

std::string name(std::uint16_t slot, std::string_view what, std::string_view key) {
  std::string out;
  out.reserve(tag_size + 2 + what.size() + key.size());
  out += '{';
  out += tag_of(slot);
  out += '}';
  out += what;
  out += key;
  return out;
}

}  // namespace

std::string manifest_name(std::string_view key) {
  return name(slot(key), "slotwise:split:", key);
}

std::string copy_name(std::string_view key, std::uint16_t slot) {
  return name(slot, "slotwise:copy:", key);
}

std::string mark_name(std::string_view key, std::uint16_t slot) {
  return name(slot, "slotwise:mark:", key);
}

}  // namespace slotwise::hotkey
