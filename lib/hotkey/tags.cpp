#include "hotkey/tags.hpp"

#include <slotwise/slot.hpp>

namespace slotwise::hotkey {

namespace {

// Never to be changed: names in clusters were made with these. Their codes are 0x48 with any of the
// bits 1, 2, 4, 0x18 and 0x20 turned over, and the sum is linear, so that the 32,768 tags hit every
// slot exactly twice. Any other 32 letters miss some, and more of them are more than compilers care
// to try in a constant.
constexpr char letters[] = "hijklmnopqrstuvwHIJKLMNOPQRSTUVW";
constexpr std::size_t letter_count = sizeof(letters) - 1;

struct Tags {
  char of[slot_count][tag_size];
};

/// The first tag of each slot.
constexpr Tags find_tags() noexcept {
  const auto next = [](unsigned crc, char c) constexpr noexcept {
    return ((crc << 8) & 0xffffU) ^
           detail::crc16_tables[0][(crc >> 8) ^ static_cast<unsigned char>(c)];
  };
  Tags tags{};
  for (std::size_t a = 0; a != letter_count; ++a) {
    const unsigned first = next(0, letters[a]);
    for (std::size_t b = 0; b != letter_count; ++b) {
      const unsigned second = next(first, letters[b]);
      for (std::size_t c = 0; c != letter_count; ++c) {
        char(&tag)[tag_size] = tags.of[next(second, letters[c]) % slot_count];
        if (tag[0] != 0) continue;
        tag[0] = letters[a];
        tag[1] = letters[b];
        tag[2] = letters[c];
      }
    }
  }
  return tags;
}

constexpr Tags tags = find_tags();

constexpr bool complete() noexcept {
  for (const auto& tag : tags.of)
    if (tag[0] == 0) return false;
  return true;
}
static_assert(complete());

}  // namespace

std::string_view tag_of(std::uint16_t slot) noexcept {
  return {tags.of[slot % slot_count], tag_size};
}

}  // namespace slotwise::hotkey
