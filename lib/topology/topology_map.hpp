// The believed map of the cluster as an immutable value: built aside, compared, then published.
//
// Thread rule: immutable; a shared_ptr<const TopologyMap> may be read from any thread.
//
// Invariants
//  1. nodes are sorted by handle; shards are in the order of their primaries.
//  2. A handle names the same node for as long as the client lives and is never used again. It
//     survives another address, another role and another spelling of the name.
//  3. Every node with role primary has exactly one shard; slots[] points only at those.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slotwise/events.hpp>
#include <slotwise/slot.hpp>

#include "topology/view.hpp"

namespace slotwise::topology {

/// Names a node over all versions of the map. Small numbers, counted up from 1.
using NodeHandle = std::uint32_t;
inline constexpr NodeHandle no_node = 0;

struct MapNode {
  NodeHandle handle = no_node;
  /// Known from a redirect only: no view has confirmed it, id and role are guesses.
  bool provisional = false;
  NodeHandle primary = no_node;  ///< of a replica, if known
  NodeInfo info;                 ///< info.primary is not used here: see primary
};

/// Nodes and shards. Shared by all versions of the map between which only slots changed.
struct NodeTable {
  std::vector<MapNode> nodes;
  std::vector<Shard> shards;  ///< indices into nodes

  /// Sorts the nodes and makes the shards from their roles: the only way to invariants 1 and 3.
  static std::shared_ptr<const NodeTable> make(std::vector<MapNode> nodes);
};

class TopologyMap {
 public:
  /// The primary of every slot, or no_node: how a map is put together.
  using Owners = std::array<NodeHandle, slot_count>;

  TopologyMap();
  /// Every owner must be in the table, as a primary.
  TopologyMap(std::uint64_t version, std::shared_ptr<const NodeTable> table, const Owners& owners);

  /// Counts up with every published change. 0: nothing is known yet.
  std::uint64_t version() const noexcept { return version_; }
  const std::shared_ptr<const NodeTable>& table() const noexcept { return table_; }
  const std::vector<MapNode>& nodes() const noexcept { return table_->nodes; }
  const std::vector<Shard>& shards() const noexcept { return table_->shards; }
  /// Index into shards() for every slot, or no_shard. What routing copies.
  const std::array<std::uint16_t, slot_count>& slots() const noexcept { return slots_; }
  int covered() const noexcept { return covered_; }
  bool full() const noexcept { return covered_ == slot_count; }

  /// The primary of a slot, or null.
  const MapNode* owner(std::uint16_t slot) const noexcept;
  NodeHandle owner_handle(std::uint16_t slot) const noexcept;
  Owners owners() const noexcept;

  const MapNode* find(NodeHandle handle) const noexcept;
  const MapNode* find_by_id(std::string_view id) const noexcept;
  /// By what to connect to, then by announced hostname or ip with the node's port; without case.
  /// A node with an id is preferred to a provisional one.
  const MapNode* find_by_endpoint(const Endpoint& endpoint) const noexcept;

  /// For Client::topology() and the CLI.
  TopologyInfo info() const;

 private:
  std::uint64_t version_ = 0;
  std::shared_ptr<const NodeTable> table_;
  std::array<std::uint16_t, slot_count> slots_;
  int covered_ = 0;
};

/// What the step from one map to the next changed.
struct MapChanges {
  struct Move {
    NodeHandle from = no_node;  ///< no_node: nobody owned them
    NodeHandle to = no_node;    ///< no_node: nobody owns them now
    int slots = 0;
    std::uint16_t first = 0;  ///< the lowest of them
  };
  std::vector<Move> moves;
  std::vector<NodeHandle> added;
  std::vector<NodeHandle> removed;
  std::vector<NodeHandle> role_changed;  ///< promoted, demoted, or replica of another primary
  /// Endpoint, announced ip, hostname, zone, or an id that is known only now. Matters to the next
  /// connect; live connections are to the same node and stay.
  std::vector<NodeHandle> address_changed;
  std::vector<NodeHandle> health_changed;

  bool empty() const noexcept;
};

MapChanges compare(const TopologyMap& before, const TopologyMap& after);

/// One line for the topology_changed event: who got slots from whom, who came, who went.
std::string describe(const MapChanges& changes, const TopologyMap& before,
                     const TopologyMap& after);

}  // namespace slotwise::topology
