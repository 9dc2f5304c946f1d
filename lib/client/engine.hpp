// One loop thread with everything that belongs to it: connections, nodes, the believed map, waiting
// calls. A client has one, or several that share nothing (Config::io_threads); see lib/README.md.
//
// Thread rule: the loop's thread, unless a function says otherwise.
//
// Invariant: the thread ends only when the client is closed, no call of it is pending and callers
// in place have given their connections back: whatever was posted has run by then.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/events.hpp>
#include <slotwise/result.hpp>

#include "client/operation.hpp"
#include "client/plan.hpp"
#include "client/waiting_callers.hpp"
#include "net/loop.hpp"
#include "net/resolver.hpp"
#include "net/tls.hpp"
#include "observe/events.hpp"
#include "routing/dispatcher.hpp"

namespace slotwise::detail {

class Core;

class Engine final : private routing::StartListener {
 public:
  struct Tls {
    std::shared_ptr<net::TlsContext> servers;  // null: plain, like the other
    std::shared_ptr<net::TlsContext> sentinels;
  };

  /// Throws Error(invalid_argument). `config`: its own share of the client's.
  Engine(Core& core, Config config, const Tls& tls);

  /// Any thread: the one whose thread this is, of whatever client; null: none.
  static Engine* current() noexcept { return here_; }
  Core& core() noexcept { return core_; }                              ///< any thread
  routing::Dispatcher& dispatcher() noexcept { return *dispatcher_; }  ///< as its own rule says
  WaitingCallers& callers() noexcept { return callers_; }
  const observe::Counters& counters() const noexcept { return observer_.counters; }  ///< any thread

  // --- start and end: the client's threads ---
  /// Begins to look for the deployment. The thread keeps the core alive.
  void launch(std::shared_ptr<Core> core, const char* name);
  /// Throws Error if it is not usable at `limit`, or never will be.
  void wait_until_usable(routing::TimePoint limit);
  /// Once, also by its own thread: everything that is under way ends.
  void close() noexcept;
  /// Waits for the thread, if it runs and is not this one.
  void join() noexcept;
  /// Nobody will ask for it any more; its own thread may say so too.
  void let_go() noexcept;

  // --- any thread ---
  /// The call goes on here; at once if it is made in a callback here.
  void submit(Operation& op);
  void post(net::Task& task) noexcept { loop_.post(&task); }
  /// Runs `job` on the loop's thread and waits. False: the client is closed. Not for threads of
  /// other engines of the client: two that wait for each other would wait for ever.
  bool run(const std::function<void()>& job);
  /// Runs it there some time, unless the client is closed by then.
  void run_later(std::function<void()> job) noexcept;
  /// No connection for callers in place is free: opens one more, if there may be one.
  void want_direct(routing::Node& node) noexcept;

  /// Something showed that its map may be old.
  void look_at_topology() noexcept;
  /// The number of a question about the topology that is asked from now on. Nothing: closed.
  std::optional<std::uint64_t> ask_for_view();
  /// False: no answer to it came until `limit`.
  bool wait_for_view(std::uint64_t question, routing::TimePoint limit);

  /// Adds what was counted here. In a callback of another engine nodes are as they were when
  /// somebody last looked.
  void add_to(Stats& stats);

 private:
  void run_loop();
  void on_usable() override;
  void on_view(std::uint64_t question) override;
  void on_start_problem(const Error& error, bool hopeless) override;

  void start(Operation& op);
  void start_at_named_node(Operation& op);
  void learn(Operation& op);
  void learned(Operation& op, bool asked_keys, Result<Reply>&& answer);
  void go_on(Operation& op, const Plan& plan);
  void look_at_nodes();

  struct CloseTask : net::Task {
    Engine* engine = nullptr;
  };

  static constinit inline thread_local Engine* here_ = nullptr;

  Core& core_;
  const Config config_;
  observe::Observer observer_;
  net::Loop loop_;
  std::optional<net::Resolver> resolver_;
  std::optional<routing::Dispatcher> dispatcher_;
  WaitingCallers callers_;
  CloseTask close_task_;
  std::thread thread_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool usable_ = false;
  std::uint64_t answered_question_ = 0;  // the newest that brought a view
  bool hopeless_ = false;
  std::optional<Error> start_error_;
  struct Seen {
    std::vector<Stats::Node> nodes;
    std::uint64_t direct_successes = 0;
  } seen_;
};

}  // namespace slotwise::detail
