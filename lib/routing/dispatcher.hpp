// Takes a request to its end: chooses the node, sends, has every bad answer judged, waits, sends
// again, delivers.
//
// Thread rule: the loop's thread, except node_for() and the constructor.
//
// Invariants
//  1. Every request that was started is delivered exactly once, at the latest at its deadline
//     (plus one turn of the loop), and at once when the dispatcher is closed.
//  2. What an error reply or a lost connection leads to is decided in verdict.cpp only; here it is
//     carried out.
//  3. A request is in exactly one place: with a node (its links), in the waiting room, held by its
//     pipeline (Batch), or delivered.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include "base/random.hpp"
#include "routing/node.hpp"
#include "routing/node_set.hpp"
#include "routing/replica_choice.hpp"
#include "routing/request.hpp"
#include "routing/retry_budget.hpp"
#include "routing/slot_table.hpp"
#include "routing/topology_keeper.hpp"
#include "routing/trouble.hpp"
#include "routing/verdict.hpp"

namespace slotwise::routing {

/// Told when the deployment can be used or cannot, and of every view. Loop thread.
class StartListener {
 public:
  virtual void on_usable() = 0;
  /// See KeeperEvents.
  virtual void on_view(std::uint64_t question) = 0;
  virtual void on_start_problem(const Error& error, bool hopeless) = 0;

 protected:
  ~StartListener() = default;
};

class Dispatcher final : private NodeEvents, private KeeperEvents {
 public:
  Dispatcher(const Surroundings& surroundings, StartListener& listener);
  ~Dispatcher();

  /// Looks for the deployment.
  void begin();
  void start(Request& request);
  /// The same for a plain command whose node was looked up a moment ago.
  void start_at(Request& request, Node& node) {
    if (closed_ || around_.loop.now() >= request.deadline) [[unlikely]] {
      return start(request);
    }
    request.attempts = 1;
    node.submit_plain(request);
  }
  /// A caller in direct mode got something else than a plain reply: the same rules apply.
  void resume_with_reply(Request& request, Node& node, Reply&& reply);
  void resume_with_failure(Request& request, Node& node, const Error& error, bool expired);
  /// All connections take over the credentials of now. What a node refuses: auth_refused().
  void reauthenticate();
  /// The first refusal since reauthenticate().
  const std::optional<Error>& auth_refused() const noexcept { return auth_refused_; }
  /// Everything that is under way ends with `cancelled`; nothing is accepted any more.
  void close();
  /// All connections are gone, callers in direct mode have given theirs back.
  bool quiet() const noexcept;

  /// Any thread: who owns the slot.
  Node* node_for(std::uint16_t slot) const noexcept { return table_.get(slot); }

  TopologyKeeper& keeper() noexcept { return *keeper_; }
  NodeSet& nodes() noexcept { return nodes_; }
  const Surroundings& surroundings() const noexcept { return around_; }

  // For Batch: the second half of what happened to a request of a pipeline.
  void carry_out(Request& request, const Verdict& verdict, Error error, Node* follow_to);
  void dispatch(Request& request);
  /// `request` is dispatched directly after `first`, which waits.
  void wait_with(Request& request, Request& first);
  void finish(Request& request, Result<Reply>&& result);
  /// With a reply where it lies; it is no error.
  void finish(Request& request, ReplyView& reply);

 private:
  friend struct Trouble;

  void on_reply(Node& node, Request& request, ReplyView& reply) override;
  void on_failed(Node& node, Request& request, const Error& error) override;
  void on_expired(Node& node, Request& request, bool sent) override;
  void on_up(Node& node) override;
  void on_down(Node& node, const Error& error, bool was_ready) override;
  void on_view(std::uint64_t question) override { listener_.on_view(question); }
  void on_map_changed() override;
  void on_node_changed(Node& node) override;
  void on_start_problem(const Error& error, bool hopeless) override;
  void on_stalled(Node& node) override;
  void on_auth_refused(Node& node, const Error& error) override;

  [[gnu::noinline]] void on_other_reply(Node& node, Request& request, ReplyView& reply);
  void judge_error(Node& node, Request& request, const Reply& reply);
  Node* choose(Request& request);
  bool may_read_elsewhere(const Request& request) const noexcept;
  Node* choose_reader(const Request& request);
  Facts facts_of(const Request& request) const;
  bool has_fresh_credentials(Request& request, const Node& node);
  Trouble& trouble_of(Request& request);
  void note(Request& request, const Node& node, const Error& error);
  void wait(Request& request, bool pause, bool wakes_on_map);
  void send_elsewhere(Node& node, link::Call* calls);
  void go_on(Trouble& trouble);
  void throttle(Trouble& trouble);
  void retry_succeeded();
  void leave_trouble(Request& request, bool succeeded);
  void expire(Request& request);
  void fail(Request& request, Error error);
  void run_script(Request& request);
  Node* follow(Request& request, const Verdict& verdict, const topology::ServerError& error,
               const Node& answered);
  void react(Node& node, const Verdict& verdict, const Error& error);

  const Surroundings around_;
  StartListener& listener_;
  SlotTable table_;
  NodeSet nodes_;
  const std::unique_ptr<TopologyKeeper> keeper_;
  WaitingRoom waiting_;
  WaitingRoom throttled_;  // due, but the retry budget is spent
  RetryBudget budget_;
  TokenBucket unowned_share_;              // of calls that never found a node
  std::vector<ReadCandidate> candidates_;  // of the choice at hand
  bool closed_ = false;
  bool told_usable_ = false;
  std::optional<Error> auth_refused_;
};

}  // namespace slotwise::routing
