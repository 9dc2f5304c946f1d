// Looking into a loop from outside: counters, and questions about the topology.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "client/core.hpp"
#include "client/engine.hpp"

namespace slotwise::detail {

void Engine::look_at_nodes() {
  Seen seen;
  for (const auto& node : dispatcher_->nodes().all()) {
    seen.direct_successes += node->direct_successes();
    if (node->retired() && node->replies() == 0) continue;
    seen.nodes.push_back({node->name(), node->replies(), node->connections()});
  }
  const std::lock_guard lock(mutex_);
  seen_ = std::move(seen);
}

void Engine::add_to(Stats& stats) {
  bool seen = true;
  if (here_ != this && core_.in_loop_thread()) {
    run_later([this] { look_at_nodes(); });
  } else {
    seen = run([this] { look_at_nodes(); });
  }
  if (seen) {
    const std::lock_guard lock(mutex_);
    stats.succeeded += seen_.direct_successes;
    for (const Stats::Node& node : seen_.nodes) {
      const auto same = std::find_if(stats.nodes.begin(), stats.nodes.end(),
                                     [&](const auto& n) { return n.endpoint == node.endpoint; });
      if (same == stats.nodes.end()) {
        stats.nodes.push_back(node);
      } else {
        same->replies += node.replies;
        same->connections += node.connections;
      }
    }
  }
  const observe::Counters& c = observer_.counters;
  stats.succeeded += c.succeeded.read();
  stats.failed += c.failed.read();
  stats.moved += c.moved.read();
  stats.asked += c.asked.read();
  stats.retries += c.retries.read();
  stats.refreshes += c.refreshes.read();
  stats.connects += c.connects.read();
  stats.connect_failures += c.connect_failures.read();
  stats.disconnects += c.disconnects.read();
}

void Engine::look_at_topology() noexcept {
  run_later([this] { dispatcher_->keeper().trigger(topology::RefreshReason::moved); });
}

std::optional<std::uint64_t> Engine::ask_for_view() {
  std::uint64_t question = 0;
  const bool open = run([&] {
    question = dispatcher_->keeper().next_question();
    dispatcher_->keeper().trigger(topology::RefreshReason::user);
  });
  return open ? std::optional(question) : std::nullopt;
}

bool Engine::wait_for_view(std::uint64_t question, routing::TimePoint limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, limit, [&] { return answered_question_ >= question; });
}

}  // namespace slotwise::detail
