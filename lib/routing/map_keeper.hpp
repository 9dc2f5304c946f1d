// Keeps the map of a cluster: asks nodes for their view, believes it or not, publishes.
//
// Thread rule: the loop's thread.
//
// What is asked when, and what is believed, is decided in topology/ (RefreshPolicy, SlotMap); here
// questions become requests and maps become nodes and slot table entries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <slotwise/error.hpp>

#include "net/timer.hpp"
#include "routing/node_set.hpp"
#include "routing/slot_table.hpp"
#include "topology/refresh_policy.hpp"
#include "topology/slot_map.hpp"
#include "topology/view_parser.hpp"

namespace slotwise::routing {

class MapKeeperEvents {
 public:
  /// A node gave a full view, whether or not it changed anything, in answer to that question.
  virtual void on_view(std::uint64_t question) = 0;
  /// A new map is in use. Calls that wait for one can go on.
  virtual void on_map_changed() = 0;
  /// A node that is not primary any more, or lost slots: what was not sent yet goes elsewhere.
  virtual void on_node_changed(Node& node) = 0;
  /// The answer to every question of one round is known; `error` if there is still no view.
  virtual void on_first_view_failed(const Error& error, bool hopeless) = 0;

 protected:
  ~MapKeeperEvents() = default;
};

/// Who can answer reads of a shard.
struct ShardNodes {
  std::vector<Node*> nodes;  ///< the primary first, then the replicas that serve
  std::uint32_t turn = 0;    ///< counts the reads
};

class MapKeeper {
 public:
  MapKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
            MapKeeperEvents& events);
  ~MapKeeper();

  /// Single server: the one endpoint is the whole map.
  void use_single_server();
  void start() { step(); }

  void trigger(topology::RefreshReason reason, Node* preferred = nullptr);
  /// MOVED: the slot belongs to that endpoint. The node to send to.
  Node& moved(std::uint16_t slot, const Endpoint& endpoint);
  /// The node of an ASK or REDIRECT; the map is not touched.
  Node& at(const Endpoint& endpoint);
  void node_failed(Node& node, topology::RefreshReason reason);
  void node_ok(Node& node);

  /// Questions have numbers, from 1 on; this is the next one's.
  std::uint64_t next_question() const noexcept { return next_question_; }
  const topology::TopologyMap& map() const noexcept { return *map_.current(); }
  TopologyInfo info() const;
  bool has_view() const noexcept { return usable_; }
  /// The primary of any shard, in turn; null if there is none.
  Node* any_primary();
  /// One slot of each shard, for commands to all shards.
  std::vector<std::uint16_t> slot_of_each_shard() const;
  /// Null if the slot has no owner. Valid until the map changes.
  ShardNodes* shard_of(std::uint16_t slot) noexcept;
  /// Replicas of the map.
  std::vector<Node*> replicas() const;
  void stop();

 private:
  struct Question;
  friend struct Question;

  void step();
  void ask(const topology::RefreshTarget& target);
  void answered(Question& question);
  void note_problem(const topology::RefreshTarget& target, topology::ViewProblem problem,
                    const Error& error);
  void take(const topology::MergeResult& merged, const topology::TopologyMap& before);
  void publish();
  void tell_policy();
  void look_for_replicas_again();
  void look_again();

  const Surroundings& around_;
  NodeSet& nodes_;
  SlotTable& table_;
  MapKeeperEvents& events_;
  topology::SlotMap map_;
  topology::RefreshPolicy policy_;
  net::Timer timer_ = net::Timer::calling<&MapKeeper::step>(this);
  net::Timer look_again_ = net::Timer::calling<&MapKeeper::look_again>(this);
  std::vector<std::unique_ptr<Question>> questions_;
  std::vector<std::unique_ptr<Question>> answered_;  // to be freed by the next step
  std::unordered_map<std::string, Error> problems_;  // before the first view: by endpoint
  std::vector<ShardNodes> shards_;                   // as map().shards()
  std::size_t next_primary_ = 0;
  std::uint64_t next_question_ = 1;
  Node* single_ = nullptr;
  bool usable_ = false;
  bool stopped_ = false;
};

}  // namespace slotwise::routing
