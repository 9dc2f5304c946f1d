// One server behind a name: it is the whole topology.
//
// Thread rule: the loop's thread.
//
// Every reconnect resolves the name anew, so a managed service that moves its name is followed. A
// server that was demoted says READONLY (the dispatcher closes its connections, and so the name is
// asked again) or names the primary with -REDIRECT: that one is used until it fails.
#pragma once

#include <vector>

#include "routing/node_set.hpp"
#include "routing/slot_table.hpp"
#include "routing/topology_keeper.hpp"

namespace slotwise::routing {

class SingleKeeper final : public TopologyKeeper {
 public:
  SingleKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
               KeeperEvents& events);

  void start() override;
  void stop() override { stopped_ = true; }
  bool has_view() const noexcept override { return usable_; }
  void trigger(topology::RefreshReason reason) override;
  Node& moved(std::uint16_t slot, const Endpoint& endpoint) override;
  Node& at(const Endpoint& endpoint) override { return nodes_.at(endpoint); }
  void node_failed(Node& node, topology::RefreshReason reason) override;
  void node_down(Node& node, const Error& error) override;
  void node_up(Node& node) override;
  Error why_nobody(bool has_slot, std::uint16_t slot) const override;
  Node* any_primary() override { return current_; }
  std::vector<std::uint16_t> slot_of_each_shard() const override { return {0}; }
  ShardNodes* shard_of(std::uint16_t /*slot*/) noexcept override { return nullptr; }
  std::vector<Node*> replicas() const override { return {}; }
  TopologyInfo info() const override;
  std::uint64_t next_question() const noexcept override { return 1; }

 private:
  void use(Node& node);

  NodeSet& nodes_;
  SlotTable& table_;
  KeeperEvents& events_;
  Node& home_;     // at the configured name
  Node* current_;  // or where that one redirected us
  bool usable_ = false;
  bool stopped_ = false;
};

}  // namespace slotwise::routing
