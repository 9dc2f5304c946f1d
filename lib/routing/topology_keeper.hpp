// Who answers: the one question that a cluster, a primary with sentinels and a single server answer
// each in its own way. Nothing above knows which of them it has.
//
// Thread rule: the loop's thread.
//
// Whoever implements it fills the SlotTable, which the hot path reads; the functions here are for
// everything else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>
#include <slotwise/events.hpp>

#include "routing/node.hpp"
#include "topology/refresh_policy.hpp"

namespace slotwise::routing {

class KeeperEvents {
 public:
  /// An answer to that question is in use, whether or not it changed anything.
  virtual void on_view(std::uint64_t question) = 0;
  /// The slot table changed. Calls that wait for that can go on.
  virtual void on_map_changed() = 0;
  /// A node that is not primary any more, or lost slots: what was not sent yet goes elsewhere.
  virtual void on_node_changed(Node& node) = 0;
  /// Told until the deployment has been usable: why it is not. `hopeless`: trying on is of no use.
  virtual void on_start_problem(const Error& error, bool hopeless) = 0;

 protected:
  ~KeeperEvents() = default;
};

/// Who can answer reads of a shard.
struct ShardNodes {
  std::vector<Node*> nodes;  ///< the primary first (null: none is known), then replicas that serve
  std::uint32_t turn = 0;    ///< counts the reads
};

class TopologyKeeper {
 public:
  virtual ~TopologyKeeper() = default;

  virtual void start() = 0;
  virtual void stop() = 0;
  /// The deployment has been usable.
  virtual bool has_view() const noexcept = 0;

  /// Something showed that what is believed may be old.
  virtual void trigger(topology::RefreshReason reason) = 0;
  /// MOVED or REDIRECT: the slot belongs to that endpoint. The node to send to.
  virtual Node& moved(std::uint16_t slot, const Endpoint& endpoint) = 0;
  /// The node at an endpoint, known or not; nothing is believed of it.
  virtual Node& at(const Endpoint& endpoint) = 0;
  /// A call to it failed, or went unanswered.
  virtual void node_failed(Node& node, topology::RefreshReason reason) = 0;
  /// Its connection ended, or could not be made.
  virtual void node_down(Node& node, const Error& error) = 0;
  /// A connection to it is ready.
  virtual void node_up(Node& node) = 0;

  /// Why there is no node for a call at present.
  virtual Error why_nobody(bool has_slot, std::uint16_t slot) const = 0;
  /// Any primary, in turn; null if there is none.
  virtual Node* any_primary() = 0;
  /// One slot of each shard, for commands to all shards.
  virtual std::vector<std::uint16_t> slot_of_each_shard() const = 0;
  /// Null if the slot has no owner and no replica. Valid until the map changes.
  virtual ShardNodes* shard_of(std::uint16_t slot) noexcept = 0;
  virtual std::vector<Node*> replicas() const = 0;
  virtual TopologyInfo info() const = 0;
  /// Questions have numbers, from 1 on; this is the next one's.
  virtual std::uint64_t next_question() const noexcept = 0;
};

}  // namespace slotwise::routing
