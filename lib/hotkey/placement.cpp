#include "hotkey/placement.hpp"

#include <algorithm>
#include <array>

#include <slotwise/slot.hpp>

namespace slotwise::hotkey {

namespace {

constexpr std::int32_t nobody = -1;

/// For each slot the index of its primary in TopologyInfo::nodes.
std::vector<std::int32_t> owners(const TopologyInfo& topology) {
  std::vector<std::int32_t> out(slot_count, nobody);
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    for (const auto& range : topology.nodes[i].slots) {
      for (int slot = (std::max)(range.first, 0); slot <= range.last && slot < slot_count; ++slot) {
        out[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(i);
      }
    }
  }
  return out;
}

std::size_t slots_of(const TopologyInfo::Node& node) {
  std::size_t total = 0;
  for (const auto& range : node.slots)
    total += static_cast<std::size_t>(range.last - range.first + 1);
  return total;
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Every key has an order of its own of all slots, and a primary's copies are in the first of its
/// slots. So the choice does not depend on the order of nodes, and a slot that moves changes it for
/// nobody but those two. Part of the protocol: all clients must have the same.
class Order {
 public:
  explicit Order(std::string_view key) {
    for (const char c : key)  // FNV-1a
      key_ = (key_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  std::uint64_t place(std::uint16_t slot) const { return mixed(key_ + slot); }
  bool operator()(std::uint16_t a, std::uint16_t b) const { return place(a) < place(b); }

 private:
  std::uint64_t key_ = 0xcbf29ce484222325U;
};

/// The first `count` of the free slots of this node.
std::vector<std::uint16_t> first_free(const TopologyInfo::Node& node, std::size_t count,
                                      const std::vector<char>& used, const Order& order) {
  std::vector<std::uint16_t> free;
  for (const auto& range : node.slots) {
    for (int slot = range.first; slot <= range.last; ++slot) {
      if (used[static_cast<std::size_t>(slot)] == 0) {
        free.push_back(static_cast<std::uint16_t>(slot));
      }
    }
  }
  count = (std::min)(count, free.size());
  std::partial_sort(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(count), free.end(),
                    order);
  free.resize(count);
  return free;
}

}  // namespace

const TopologyInfo::Node* owner_node(const TopologyInfo& topology, std::uint16_t slot) {
  for (const auto& node : topology.nodes) {
    for (const auto& range : node.slots) {
      if (range.first <= slot && slot <= range.last) return &node;
    }
  }
  return nullptr;
}

std::string owner_of(const TopologyInfo& topology, std::uint16_t slot) {
  const auto* node = owner_node(topology, slot);
  return node == nullptr ? std::string() : node->endpoint;
}

Placement place_copies(std::string_view key, std::span<const std::uint16_t> have, int per_primary,
                       const TopologyInfo& topology, std::span<const std::uint16_t> taken) {
  Placement out;
  const std::vector<std::int32_t> owner = owners(topology);
  // A client that knows no slots at all is about to learn them; nothing is to be done by that.
  if (std::all_of(owner.begin(), owner.end(), [](std::int32_t o) { return o == nobody; })) {
    return out;
  }
  const Order order(key);
  std::vector<char> used(slot_count, 0);
  std::vector<std::vector<std::uint16_t>> at(topology.nodes.size());
  for (const std::uint16_t slot : have) {
    if (slot >= slot_count || used[slot] != 0) continue;
    used[slot] = 1;
    if (owner[slot] == nobody) {
      out.remove.push_back(slot);
    } else {
      at[static_cast<std::size_t>(owner[slot])].push_back(slot);
    }
  }
  for (const std::uint16_t slot : taken) {
    if (slot < slot_count) used[slot] = 1;
  }
  const auto wanted = static_cast<std::size_t>((std::max)(per_primary, 0));
  for (std::size_t i = 0; i < at.size(); ++i) {
    const TopologyInfo::Node& node = topology.nodes[i];
    if (!node.healthy) continue;
    std::vector<std::uint16_t>& mine = at[i];
    if (mine.size() > wanted) {
      std::sort(mine.begin(), mine.end(), order);
      out.remove.insert(out.remove.end(), mine.begin() + static_cast<std::ptrdiff_t>(wanted),
                        mine.end());
    } else if (mine.size() < wanted && !node.slots.empty()) {
      const auto more = first_free(node, wanted - mine.size(), used, order);
      out.add.insert(out.add.end(), more.begin(), more.end());
    }
  }
  std::sort(out.add.begin(), out.add.end());
  std::sort(out.remove.begin(), out.remove.end());
  return out;
}

bool evenly_placed(std::span<const std::uint16_t> have, int per_primary,
                   const TopologyInfo& topology) {
  const std::vector<std::int32_t> owner = owners(topology);
  std::vector<std::size_t> count(topology.nodes.size(), 0);
  for (const std::uint16_t slot : have) {
    if (slot >= slot_count || owner[slot] == nobody) return false;
    ++count[static_cast<std::size_t>(owner[slot])];
  }
  bool any = false;
  for (std::size_t i = 0; i < count.size(); ++i) {
    const std::size_t slots = slots_of(topology.nodes[i]);
    any = any || slots != 0;
    if (count[i] != (std::min)(static_cast<std::size_t>((std::max)(per_primary, 0)), slots)) {
      return false;
    }
  }
  return any;
}

}  // namespace slotwise::hotkey
