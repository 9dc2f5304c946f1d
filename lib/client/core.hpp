// What stands behind Client, Async and Pipeline: it makes plans, takes the way in place where it
// can, and gives everything else to the engine (loop thread) of its slot.
//
// Thread rule: the public functions from any thread, unless they say otherwise.
//
// Invariants
//  1. Every call that is accepted is counted in pending_ before closed_ is looked at, and an
//     engine's thread ends only when the client is closed and nothing is pending anywhere: no call
//     is left behind.
//  2. After fork() the child's copy refuses every call and touches no descriptor.
//  3. A slot belongs to one engine from the start to the end: calls on a key keep their order,
//     whichever node they go to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <slotwise/call_options.hpp>
#include <slotwise/config.hpp>
#include <slotwise/events.hpp>
#include <slotwise/hot_keys.hpp>
#include <slotwise/result.hpp>

#include "client/engine.hpp"
#include "client/hot_keys.hpp"
#include "client/mode_switch.hpp"
#include "client/operation.hpp"
#include "client/plan.hpp"
#include "commands/learned.hpp"
#include "net/fork.hpp"
#include "observe/counters.hpp"
#include "routing/batch.hpp"

namespace slotwise::detail {

class Core final : public std::enable_shared_from_this<Core> {
 public:
  /// Returns when the deployment is usable; throws Error.
  static std::shared_ptr<Core> open(Config config);
  explicit Core(Config config);  // for open()
  ~Core();

  /// The reply goes to `sink`. The Error of a call to which there is none.
  std::optional<Error> execute(const CallSpec& call, const CallOptions& options, const Sink& sink);
  OperationHandle start(const CallSpec& call, const CallOptions& options);
  static Error error_after_fork();

  /// Fills `request` for a pipeline. The Error of a command that must not be sent.
  std::optional<Error> prepare(routing::Batch::Member& request, const CallSpec& call,
                               const CallOptions& options);
  /// Runs the batch and waits for its end.
  void run(routing::Batch& batch, std::atomic<std::uint32_t>& finished);

  Stats stats();
  TopologyInfo topology();
  std::vector<HotKey> hot_keys(double least_share);
  Result<void> refresh();  ///< not in a callback, like the next
  Result<void> reauthenticate();
  /// Any thread, also from a callback. Returns when everything is cancelled; in a callback before.
  void close() noexcept;

  /// In a callback of this client.
  bool in_loop_thread() noexcept {
    Engine* const here = Engine::current();
    return here != nullptr && &here->core() == this;
  }
  const Config& config() const noexcept { return config_; }

  // --- for engines and operations ---
  Engine& engine_of(std::uint16_t slot) noexcept {
    return only_ != nullptr ? *only_ : *engines_[engine_of_slot_[slot]];
  }
  /// Null: there are several.
  Engine* only_engine() noexcept { return only_; }
  commands::LearnedCommands& known_commands() noexcept { return learned_; }
  ModeSwitch& mode() noexcept { return mode_; }
  bool closed() const noexcept { return closed_.load(); }
  std::uint64_t pending() const noexcept { return pending_.load(); }
  bool forked() const noexcept { return fork_generation_ != net::fork_generation(); }
  /// As a call that is pending, until call_ended(). False: the client is closed.
  bool count_in() noexcept;
  /// An operation is done.
  void call_ended(routing::Node* counted, std::uint64_t calls = 1) noexcept {
    if (counted != nullptr) counted->loop_calls.fetch_sub(1, std::memory_order_release);
    pending_.fetch_sub(calls);
  }

 private:
  void start_engines();
  void assign_slots();
  void require_one_cluster();
  Config config_of_engine() const;
  Engine& engine_to_ask() noexcept;

  /// Counts the call. False: it cannot be taken, refusal() says why.
  bool accept(std::uint64_t calls = 1) noexcept;
  Error refusal() const;
  Operation* make_operation(Engine& engine, const CallSpec& call, const CallOptions& options,
                            const Plan& plan);
  void make_special(Operation& op, const CallSpec& call, const CallOptions& options,
                    const Plan& plan);
  OperationHandle start_other(Plan& plan, const CallSpec& call, const CallOptions& options,
                              Engine* engine = nullptr);
  OperationHandle start_ping(Engine& engine, std::string node);
  OperationHandle refused(Error error);
  bool try_direct(Engine& engine, const CallSpec& call, const CallOptions& options,
                  const Plan& plan, const Sink& sink, Operation*& op, std::optional<Error>& error);
  bool have_judged(Engine& engine, const CallSpec& call, const CallOptions& options,
                   const Plan& plan, routing::Node& node, std::optional<Reply>&& reply,
                   const link::Exchange& exchange, Operation*& op, std::optional<Error>& error);
  enum class InPlace : std::uint8_t { no, done, to_be_judged };
  InPlace run_in_place(routing::Batch& batch, routing::TimePoint now);
  bool receive(routing::Batch& batch, const std::vector<std::size_t>& members,
               link::DirectConnection& connection, std::optional<Error>& failure, std::size_t sent,
               routing::TimePoint deadline);

  const Config config_;
  const std::uint32_t fork_generation_;
  const std::unique_ptr<HotKeySampler> hot_keys_ = HotKeySampler::make(config_.hot_key_sampling);
  std::shared_ptr<EventSink> events_;  // of all engines
  Engine::Tls tls_;
  Engine* only_ = nullptr;  // there is one engine; null: a table tells whose a slot is
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::uint8_t> engine_of_slot_;
  commands::LearnedCommands learned_;
  std::mutex close_mutex_;  // one waits for the threads at a time

  alignas(64) ModeSwitch mode_;
  alignas(64) std::atomic<std::uint64_t> pending_{0};
  std::atomic<bool> closed_{false};
  observe::SharedCounter commands_;
};

}  // namespace slotwise::detail
