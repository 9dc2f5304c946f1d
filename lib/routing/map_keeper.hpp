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
#include "routing/topology_keeper.hpp"
#include "topology/refresh_policy.hpp"
#include "topology/slot_map.hpp"
#include "topology/view_parser.hpp"

namespace slotwise::routing {

class MapKeeper final : public TopologyKeeper {
 public:
  MapKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
            KeeperEvents& events);
  ~MapKeeper() override;

  void start() override { step(); }
  void stop() override;
  bool has_view() const noexcept override { return usable_; }
  void trigger(topology::RefreshReason reason) override { trigger(reason, nullptr); }
  Node& moved(std::uint16_t slot, const Endpoint& endpoint) override;
  Node& at(const Endpoint& endpoint) override;
  void node_failed(Node& node, topology::RefreshReason reason) override;
  void node_down(Node& node, const Error& error) override;
  void node_up(Node& node) override;
  Error why_nobody(bool has_slot, std::uint16_t slot) const override;
  Node* any_primary() override;
  std::vector<std::uint16_t> slot_of_each_shard() const override;
  ShardNodes* shard_of(std::uint16_t slot) noexcept override;
  std::vector<Node*> replicas() const override;
  TopologyInfo info() const override;
  std::uint64_t next_question() const noexcept override { return next_question_; }

  const topology::TopologyMap& map() const noexcept { return *map_.current(); }

 private:
  struct Question;
  friend struct Question;

  void trigger(topology::RefreshReason reason, Node* preferred);
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
  KeeperEvents& events_;
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
  bool usable_ = false;
  bool stopped_ = false;
};

}  // namespace slotwise::routing
