// The engine behind Client, Async and Pipeline: one loop thread with everything that belongs to it.
//
// Thread rule: the public functions from any thread, unless they say otherwise.
//
// Invariants
//  1. Every call that is accepted is counted in pending_ before closed_ is looked at, and the
//  loop's
//     thread ends only when the client is closed and nothing is pending: no call is left behind.
//  2. After fork() the child's copy refuses every call and touches no descriptor.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <slotwise/call_options.hpp>
#include <slotwise/config.hpp>
#include <slotwise/events.hpp>
#include <slotwise/hot_keys.hpp>
#include <slotwise/result.hpp>

#include "client/hot_keys.hpp"
#include "client/mode_switch.hpp"
#include "client/operation.hpp"
#include "client/plan.hpp"
#include "client/waiting_callers.hpp"
#include "commands/learned.hpp"
#include "net/loop.hpp"
#include "net/resolver.hpp"
#include "observe/events.hpp"
#include "routing/batch.hpp"
#include "routing/dispatcher.hpp"

namespace slotwise::detail {

class Core final : public std::enable_shared_from_this<Core>, private routing::StartListener {
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
  Result<void> refresh();
  Result<void> reauthenticate();
  /// Any thread, also from a callback. Returns when everything is cancelled.
  void close() noexcept;

  bool in_loop_thread() const noexcept { return loop_.in_loop_thread(); }
  const Config& config() const noexcept { return config_; }
  WaitingCallers& callers() noexcept { return callers_; }
  /// An operation is done.
  void call_ended(routing::Node* counted, std::uint64_t calls = 1) noexcept;

 private:
  void run_loop();
  void wait_until_usable();
  void on_usable() override;
  void on_view(std::uint64_t question) override;
  void on_start_problem(const Error& error, bool hopeless) override;

  /// Counts the call. False: it cannot be taken, refusal() says why.
  bool accept(std::uint64_t calls = 1) noexcept;
  Error refusal() const;
  Operation* make_operation(const CallSpec& call, const CallOptions& options, const Plan& plan);
  void make_special(Operation& op, const CallSpec& call, const CallOptions& options,
                    const Plan& plan);
  OperationHandle start_other(Plan& plan, const CallSpec& call, const CallOptions& options);
  OperationHandle refused(Error error);
  void submit(Operation& op);
  void start_on_loop(Operation& op);
  void start_at_named_node(Operation& op);
  void learn(Operation& op);
  void learned(Operation& op, bool asked_keys, Result<Reply>&& answer);
  void go_on(Operation& op, const Plan& plan);
  bool try_direct(const CallSpec& call, const CallOptions& options, const Plan& plan,
                  const Sink& sink, Operation*& op, std::optional<Error>& error);
  bool have_judged(const CallSpec& call, const CallOptions& options, const Plan& plan,
                   routing::Node& node, std::optional<Reply>&& reply,
                   const link::Exchange& exchange, Operation*& op, std::optional<Error>& error);
  bool run_in_place(routing::Batch& batch, routing::TimePoint now);
  bool receive(routing::Batch& batch, const std::vector<std::size_t>& members,
               link::DirectConnection& connection, std::optional<Error>& failure, std::size_t sent,
               routing::TimePoint deadline);
  void want_direct(routing::Node& node) noexcept;
  /// Runs `job` on the loop's thread and waits. False: the client is closed.
  bool on_loop(const std::function<void()>& job);

  const Config config_;
  const std::uint32_t fork_generation_;
  const std::unique_ptr<HotKeySampler> hot_keys_ = HotKeySampler::make(config_.hot_key_sampling);
  observe::Observer observer_;
  net::Loop loop_;
  std::optional<net::Resolver> resolver_;
  std::optional<routing::Dispatcher> dispatcher_;
  commands::LearnedCommands learned_;
  std::thread thread_;
  std::mutex close_mutex_;  // one close() at a time

  alignas(64) ModeSwitch mode_;
  WaitingCallers callers_{loop_, mode_};
  alignas(64) std::atomic<std::uint64_t> pending_{0};
  std::atomic<bool> closed_{false};
  observe::SharedCounter commands_;

  std::mutex start_mutex_;  // guards what follows
  std::condition_variable start_changed_;
  bool usable_ = false;
  std::uint64_t answered_question_ = 0;  // the newest that brought a view
  bool hopeless_ = false;
  std::optional<Error> start_error_;
};

}  // namespace slotwise::detail
