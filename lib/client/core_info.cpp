// Looking in from outside: counters, topology, a refresh on request.
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "client/core.hpp"

namespace slotwise::detail {

bool Core::on_loop(const std::function<void()>& job) {
  if (fork_generation_ != net::fork_generation()) return false;
  if (loop_.in_loop_thread()) {
    job();
    return true;
  }
  pending_.fetch_add(1);
  if (closed_.load()) {
    pending_.fetch_sub(1);
    return false;
  }
  struct Job : net::Task {
    const std::function<void()>* work = nullptr;
    std::atomic<std::uint32_t> finished{0};
  } task;
  task.work = &job;
  task.run = [](net::Task* t) {
    auto& self = static_cast<Job&>(*t);
    (*self.work)();
    self.finished.store(1, std::memory_order_release);
    futex_wake(self.finished);
  };
  loop_.post(&task);
  while (task.finished.load(std::memory_order_acquire) == 0)
    futex_wait(task.finished, 0);
  pending_.fetch_sub(1);
  return true;
}

Stats Core::stats() {
  Stats s;
  s.commands = commands_.read();
  const auto& c = observer_.counters;
  on_loop([&] {
    for (const auto& node : dispatcher_->nodes().all()) {
      s.succeeded += node->direct_successes();
      if (node->retired() && node->replies() == 0) continue;
      s.nodes.push_back({node->name(), node->replies(), node->connections()});
    }
  });
  s.succeeded += c.succeeded.read();
  s.failed = c.failed.read();
  s.moved = c.moved.read();
  s.asked = c.asked.read();
  s.retries = c.retries.read();
  s.refreshes = c.refreshes.read();
  s.connects = c.connects.read();
  s.connect_failures = c.connect_failures.read();
  s.disconnects = c.disconnects.read();
  s.pending = pending_.load();
  return s;
}

TopologyInfo Core::topology() {
  TopologyInfo info;
  on_loop([&] { info = dispatcher_->keeper().info(); });
  return info;
}

Result<void> Core::refresh() {
  if (config_.mode == Mode::single) return {};
  // An answer to what was asked before does not count: it may be older than what the caller knows.
  std::uint64_t wanted = 0;
  const bool open = on_loop([&] {
    wanted = dispatcher_->keeper().next_question();
    dispatcher_->keeper().trigger(topology::RefreshReason::user);
  });
  if (!open) return Error(ErrorCode::cancelled, Outcome::not_sent, "the client is closed");
  std::unique_lock lock(start_mutex_);
  const auto limit = std::chrono::steady_clock::now() + config_.timeout;
  const auto answered = [&] { return answered_question_ >= wanted; };
  if (start_changed_.wait_until(lock, limit, answered)) return {};
  return Error(ErrorCode::timeout, Outcome::not_sent,
               config_.mode == Mode::cluster ? "no node gave its view of the cluster"
                                             : "the sentinels did not name a primary");
}

Result<void> Core::reauthenticate() {
  std::vector<OperationHandle> answers;
  const bool open = on_loop([&] {
    dispatcher_->reauthenticate();
    // Behind the AUTH on each connection, so that its answer is in when these are.
    for (const auto& node : dispatcher_->nodes().all()) {
      if (!node->connected()) continue;
      CallOptions options;
      options.node = node->name();
      constexpr std::string_view ping[] = {"PING"};
      answers.push_back(start({.words = ping}, options));
    }
  });
  if (!open) return Error(ErrorCode::cancelled, Outcome::not_sent, "the client is closed");
  for (OperationHandle& answer : answers)
    (void)answer.wait();
  std::optional<Error> refused;
  on_loop([&] { refused = dispatcher_->auth_refused(); });
  if (refused) return *refused;
  return {};
}

}  // namespace slotwise::detail
