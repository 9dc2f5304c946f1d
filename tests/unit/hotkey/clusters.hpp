// Topologies for the tests of the placement.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <slotwise/events.hpp>

#include "hotkey/manifest.hpp"
#include "hotkey/placement.hpp"

namespace slotwise::hotkey::test {

using Ranges = std::vector<TopologyInfo::SlotRange>;

inline TopologyInfo::Node primary(int number, Ranges slots) {
  TopologyInfo::Node node;
  node.id = std::string(39, '0') + static_cast<char>('a' + number);
  node.endpoint = "10.0.0." + std::to_string(number) + ":6379";
  node.slots = std::move(slots);
  return node;
}

inline TopologyInfo cluster(std::vector<Ranges> primaries) {
  TopologyInfo topology;
  topology.mode = Mode::cluster;
  int number = 0;
  for (Ranges& slots : primaries)
    topology.nodes.push_back(primary(++number, std::move(slots)));
  return topology;
}

inline TopologyInfo three() {
  return cluster({{{0, 5460}}, {{5461, 10922}}, {{10923, 16383}}});
}

/// Gives `slot` to the primary with this index, whoever has it.
inline void give(TopologyInfo& topology, std::size_t to, int slot) {
  for (auto& node : topology.nodes) {
    Ranges left;
    for (const auto& range : node.slots) {
      if (slot < range.first || slot > range.last) {
        left.push_back(range);
        continue;
      }
      if (range.first < slot) left.push_back({range.first, slot - 1});
      if (slot < range.last) left.push_back({slot + 1, range.last});
    }
    node.slots = left;
  }
  topology.nodes.at(to).slots.push_back({slot, slot});
}

inline void give(TopologyInfo& topology, std::size_t to, int first, int last) {
  for (int slot = first; slot <= last; ++slot)
    give(topology, to, slot);
}

/// How many of these slots each primary has, in the order of the nodes; the last one: nobody's.
inline std::vector<int> spread(const TopologyInfo& topology, std::span<const std::uint16_t> slots) {
  std::vector<int> out(topology.nodes.size() + 1, 0);
  for (const std::uint16_t slot : slots) {
    const auto* node = owner_node(topology, slot);
    ++out[node == nullptr ? topology.nodes.size()
                          : static_cast<std::size_t>(node - topology.nodes.data())];
  }
  return out;
}

}  // namespace slotwise::hotkey::test
