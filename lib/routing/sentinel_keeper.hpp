// Keeps the primary that sentinels name: asks them, checks what they say, publishes, and takes
// back.
//
// Thread rule: the loop's thread.
//
// What is believed is decided in topology/primary_search; here questions become connections and the
// belief becomes a node.
//
// Invariants
//  1. The slot table names a node only while (a) the sentinels, asked at most `confirmation` before
//     its connection became ready, named it and told of no switch since they were asked, and
//     (b) that connection heard ROLE master.
//  2. When the connection of the primary ends, the table is empty until the sentinels were asked
//     again: no reconnect goes to an address of before.
//  3. While a failover promotes a replica nothing is published: what the old primary acknowledged
//     would be lost. This ends with the sentinels' word, or after `longest_hold`.
//  4. When the sentinels name another one, or disagree with a newer epoch, all connections to the
//     old one are closed before anything else happens.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "net/timer.hpp"
#include "routing/node_set.hpp"
#include "routing/sentinel_peer.hpp"
#include "routing/slot_table.hpp"
#include "routing/topology_keeper.hpp"
#include "topology/primary_search.hpp"

namespace slotwise::routing {

class SentinelKeeper final : public TopologyKeeper, private SentinelPeerEvents {
 public:
  SentinelKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
                 KeeperEvents& events);
  ~SentinelKeeper() override;

  void start() override { step(); }
  void stop() override;
  bool has_view() const noexcept override { return usable_; }
  void trigger(topology::RefreshReason reason) override;
  Node& moved(std::uint16_t slot, const Endpoint& endpoint) override;
  Node& at(const Endpoint& endpoint) override { return nodes_.at(endpoint, false); }
  void node_failed(Node& node, topology::RefreshReason reason) override;
  void node_down(Node& node, const Error& error) override;
  void node_up(Node& node) override;
  Error why_nobody(bool has_slot, std::uint16_t slot) const override;
  Node* any_primary() override { return published_ ? primary_ : nullptr; }
  std::vector<std::uint16_t> slot_of_each_shard() const override { return {0}; }
  ShardNodes* shard_of(std::uint16_t slot) noexcept override;
  std::vector<Node*> replicas() const override;
  TopologyInfo info() const override;
  std::uint64_t next_question() const noexcept override { return search_.next_round(); }

 private:
  void on_report(SentinelPeer& peer, topology::SentinelReport&& report) override;
  void on_event(SentinelPeer& peer, topology::SentinelEvent event) override;
  void on_hearing(SentinelPeer& peer, bool hears) override;

  void step();
  void soon();
  void match_peers();
  void conclude(const topology::PrimarySearch::Conclusion& conclusion);
  void follow(const Endpoint& endpoint);
  void leave(const Error& why);
  void take_replicas(const std::vector<topology::KnownReplica>& known);
  void hold();
  bool confirmed() const noexcept;
  void publish();
  void withdraw();
  void problem(const Error& error, bool hopeless);

  const Surroundings& around_;
  NodeSet& nodes_;
  SlotTable& table_;
  KeeperEvents& events_;
  topology::PrimarySearch search_;
  net::Timer timer_ = net::Timer::calling<&SentinelKeeper::step>(this);
  std::vector<std::unique_ptr<SentinelPeer>> peers_;
  std::vector<std::unique_ptr<SentinelPeer>> left_;  // may be calling: freed by the next step
  Node* primary_ = nullptr;                          // as the sentinels say
  Node* last_ = nullptr;                             // that was published last
  std::vector<Node*> replicas_;                      // of which some may be unwell
  ShardNodes shard_;
  std::optional<Error> problem_;    // why nobody is published
  TimePoint asked_at_{};            // when the last round began
  TimePoint confirmed_at_{};        // when the last round began that named primary_
  TimePoint ready_at_{};            // when the connection of primary_ became ready
  std::uint64_t config_epoch_ = 0;  // and with which epoch
  TimePoint held_until_{};          // invariant 3
  bool switched_since_asked_ = false;
  bool published_ = false;
  bool usable_ = false;
  bool stopped_ = false;
};

}  // namespace slotwise::routing
