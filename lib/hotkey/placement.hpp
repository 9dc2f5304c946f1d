// Which slots get a copy and which lose theirs, so that every primary has the same number.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/events.hpp>

#include "hotkey/manifest.hpp"

namespace slotwise::hotkey {

struct Placement {
  std::vector<std::uint16_t> add;
  std::vector<std::uint16_t> remove;  ///< of the slots given
  bool balanced() const noexcept { return add.empty() && remove.empty(); }
};

/// Moves as little as possible. Primaries without slots get none; nobody's slots count as too many.
/// Where a primary has fewer slots than `per_primary`, all of them. Different keys get different
/// slots; the same question has the same answer everywhere. A primary that the cluster calls failed
/// gets none and loses none: it cannot be asked, and may come back with what it has. Slots of
/// `taken` are not added.
Placement place_copies(std::string_view key, std::span<const std::uint16_t> have, int per_primary,
                       const TopologyInfo& topology, std::span<const std::uint16_t> taken = {});

/// Whether every primary that has slots, failed ones included, has its number of copies.
bool evenly_placed(std::span<const std::uint16_t> have, int per_primary,
                   const TopologyInfo& topology);

/// The primary that owns the slot, nullptr if nobody does.
const TopologyInfo::Node* owner_node(const TopologyInfo& topology, std::uint16_t slot);
/// "host:port" of the primary that owns the slot; empty if nobody does.
std::string owner_of(const TopologyInfo& topology, std::uint16_t slot);

}  // namespace slotwise::hotkey
