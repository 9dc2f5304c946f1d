// One node's opinion of the cluster: what CLUSTER SLOTS and CLUSTER NODES of ONE server say.
//
// Thread rule: plain values. A view is never changed once it is parsed.
//
// Invariants of a ClusterView
//  1. Every index is in range: Shard::primary and ::replicas into nodes, slots[] into shards,
//     NodeInfo::primary into nodes.
//  2. covered is the number of slots that have a shard; it is at least 1.
//  3. No two nodes share an id, and no two nodes without an id share an endpoint.
//  4. Every endpoint has a host and a port other than 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/slot.hpp>

namespace slotwise::topology {

inline constexpr std::uint16_t no_shard = 0xffff;
inline constexpr std::uint32_t no_index = 0xffffffff;
inline constexpr std::size_t longest_node_id = 64;  // 40 today

enum class Role : std::uint8_t { primary, replica };

enum class Health : std::uint8_t {
  ok,
  /// A replica that CLUSTER SLOTS leaves out while CLUSTER NODES has it: it is syncing, or its
  /// link to the primary is down. Passed over by reads.
  not_serving,
  failed,  ///< flag `fail`: a majority of primaries says so. `fail?` is one node's opinion: ok
};

struct NodeInfo {
  std::string id;     ///< 40 hex digits, lower case; empty where the server does not say
  Endpoint endpoint;  ///< what to connect to: the endpoint that the server prefers
  /// The server named no host: the endpoint is the host that was asked. Another view may
  /// have another host here and mean the same node.
  bool endpoint_implied = false;
  std::string announced_ip;       ///< the cluster's own word about the ip; may be empty
  std::string hostname;           ///< announced name; may be empty
  std::string availability_zone;  ///< may be empty
  Role role = Role::primary;
  std::uint32_t primary = no_index;  ///< of a replica, if known
  Health health = Health::ok;
  std::uint64_t config_epoch = 0;  ///< of its shard; 0: unknown

  /// True for the endpoint and for hostname and announced ip with the endpoint's port.
  bool answers_to(const Endpoint& endpoint) const noexcept;
};

struct Shard {
  std::uint32_t primary = no_index;
  std::vector<std::uint32_t> replicas;  ///< only those that serve (Health::ok)

  friend bool operator==(const Shard&, const Shard&) = default;
};

struct ClusterView {
  std::vector<NodeInfo> nodes;
  std::vector<Shard> shards;  ///< one for every node that owns a slot
  std::array<std::uint16_t, slot_count> slots;
  int covered = 0;
  std::uint32_t answered_by = no_index;  ///< the node that answered, if it is known which
  bool has_nodes = false;                ///< CLUSTER NODES was there: epochs and flags are known
  std::uint64_t max_epoch = 0;           ///< highest config epoch of any node

  ClusterView() { slots.fill(no_shard); }
  bool full() const noexcept { return covered == slot_count; }
};

}  // namespace slotwise::topology
