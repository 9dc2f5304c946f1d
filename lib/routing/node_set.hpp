// All nodes that the client knows, by handle and by endpoint.
//
// Thread rule: the loop's thread; references stay valid as long as the set.
//
// Invariants
//  1. A node of the map is found by its handle. A node that is known by its endpoint only (a seed,
//     the target of an ASK) is a visitor until a map names it: then it is adopted with its
//     connections. One that left the map is a (retired) visitor too.
//  2. Nodes are never destroyed before the set; those that left the map are retired.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "routing/node.hpp"
#include "topology/topology_map.hpp"

namespace slotwise::routing {

class NodeSet {
 public:
  NodeSet(const Surroundings& surroundings, NodeEvents& events)
      : around_(surroundings), events_(events) {}

  Node* find(topology::NodeHandle handle) const noexcept;
  /// A node of `map` that answers to the endpoint, else a visitor (made if there is none).
  Node& at(const Endpoint& endpoint, const topology::TopologyMap& map);
  /// Where there is no map: the one node of that endpoint. `primary`: what it is taken for if it is
  /// new, or comes back.
  Node& at(const Endpoint& endpoint, bool primary = true);
  /// Makes the set fit the map: adds, adopts, updates and retires.
  void apply(const topology::TopologyMap& map);
  /// Visitors are not needed any more (they come back to life when they are asked for).
  void retire_visitors();

  const std::vector<std::unique_ptr<Node>>& all() const noexcept { return all_; }

 private:
  Node& add(NodeIdentity identity);
  Node* adopt(const topology::MapNode& node);

  const Surroundings& around_;
  NodeEvents& events_;
  std::vector<std::unique_ptr<Node>> all_;
  std::unordered_map<topology::NodeHandle, Node*> by_handle_;
  std::unordered_map<std::string, Node*> visitors_;
};

}  // namespace slotwise::routing
