// Bitmaps, which are strings, and HyperLogLogs, which estimate how many different elements they
// saw.
#pragma once

#include <cstdint>
#include <string_view>

#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>

namespace slotwise {

template <class Face>
class BitCommands {
 public:
  /// Sets or clears a bit, and gives what it was. (SETBIT)
  auto setbit(std::string_view key, std::int64_t offset, bool value) const {
    return detail::call<bool, "SETBIT">(*this, key, offset, value ? 1 : 0);
  }
  /// A bit; false past the end of the string. (GETBIT)
  auto getbit(std::string_view key, std::int64_t offset) const {
    return detail::call<bool, "GETBIT">(*this, key, offset);
  }
  /// Number of set bits. (BITCOUNT)
  auto bitcount(std::string_view key) const {
    return detail::call<std::int64_t, "BITCOUNT">(*this, key);
  }
  /// Number of set bits in the BYTES from `first` to `last` inclusive; negative positions count
  /// from the end. (BITCOUNT)
  auto bitcount(std::string_view key, std::int64_t first, std::int64_t last) const {
    return detail::call<std::int64_t, "BITCOUNT">(*this, key, first, last);
  }

  /// Adds elements to a HyperLogLog; true if its estimate may have changed. (PFADD)
  auto pfadd(std::string_view key, Words elements) const {
    return detail::call<bool, "PFADD">(*this, key, elements);
  }
  /// Estimated number of different elements of the union of these, which lie in one slot. (PFCOUNT)
  auto pfcount(Words keys) const { return detail::call<std::int64_t, "PFCOUNT">(*this, keys); }
  /// Adds HyperLogLogs of the same slot to `to`. (PFMERGE)
  auto pfmerge(std::string_view to, Words from) const {
    return detail::call<void, "PFMERGE">(*this, to, from);
  }
};

}  // namespace slotwise
