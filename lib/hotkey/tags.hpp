// A hash tag for each slot: `{tag}anything` lies there.
//
// Thread rule: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace slotwise::hotkey {

inline constexpr std::size_t tag_size = 3;

/// Three letters, always the same ones: they are in the names of keys that stay.
std::string_view tag_of(std::uint16_t slot) noexcept;

}  // namespace slotwise::hotkey
