// The keys that a split key K of slot h has in the cluster. Any bytes and braces in K will do: the
// tag in front decides the slot.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slotwise::hotkey {

/// In the slot of `key`.
std::string manifest_name(std::string_view key);
/// The copy of `key` in `slot`, and the mark beside it.
std::string copy_name(std::string_view key, std::uint16_t slot);
std::string mark_name(std::string_view key, std::uint16_t slot);

/// The set of all split keys.
inline constexpr std::string_view registry_name = "slotwise:splits";

}  // namespace slotwise::hotkey
