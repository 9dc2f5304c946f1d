// A refresh policy in known states, and a made-up cluster to drive it against.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "topology/refresh_policy.hpp"

namespace slotwise::topology::testing {

using time_point = RefreshPolicy::time_point;
inline constexpr time_point start = time_point{} + std::chrono::hours(1000);

inline Endpoint seed(int i) {
  return {"seed-" + std::to_string(i), 6379};
}
inline RefreshPolicy::Node node(NodeHandle handle, bool connected = true) {
  return {handle, {"node-" + std::to_string(handle), 6379}, connected};
}
inline std::vector<RefreshPolicy::Node> nodes(NodeHandle count) {
  std::vector<RefreshPolicy::Node> list;
  for (NodeHandle handle = 1; handle <= count; ++handle)
    list.push_back(node(handle));
  return list;
}

inline RefreshPolicy make(int seeds, RefreshSettings settings = {}, std::uint64_t random = 7) {
  std::vector<Endpoint> list;
  for (int i = 0; i < seeds; ++i)
    list.push_back(seed(i));
  return RefreshPolicy(settings, std::move(list), base::Random(random));
}

inline RefreshSettings without_verification() {
  RefreshSettings settings;
  settings.verify_nodes = 0;
  return settings;
}

// A policy that has its first view of `count` nodes; nothing is in flight.
inline RefreshPolicy settled(NodeHandle count, time_point& now,
                             RefreshSettings settings = without_verification()) {
  RefreshPolicy policy = make(1, settings);
  const auto first = policy.poll(now);
  REQUIRE(first.ask.size() == 1);
  policy.set_nodes(nodes(count));
  policy.finished(first.ask[0], RefreshOutcome::changed, now);
  now += std::chrono::seconds(10);
  REQUIRE(policy.poll(now).ask.empty());
  return policy;
}

// Drives a policy through time against a made-up cluster. Answers come after `latency`.
struct World {
  RefreshPolicy& policy;
  time_point now;
  std::function<RefreshOutcome(const RefreshTarget&)> answer;
  std::function<std::chrono::milliseconds(const RefreshTarget&)> latency =
      [](const RefreshTarget&) { return std::chrono::milliseconds(1); };
  std::multimap<time_point, RefreshTarget> due = {};
  std::vector<time_point> asked_at = {};
  std::map<std::string, int> asked = {};

  void poll() {
    for (const RefreshTarget& target : policy.poll(now).ask) {
      asked_at.push_back(now);
      ++asked[target.endpoint.host];
      due.emplace(now + latency(target), target);
    }
  }
  // `each` runs every millisecond, before the policy is polled.
  void run(
      std::chrono::milliseconds time, const std::function<void()>& each = [] {}) {
    for (const time_point end = now + time; now < end; now += std::chrono::milliseconds(1)) {
      while (!due.empty() && due.begin()->first <= now) {
        const RefreshTarget target = due.begin()->second;
        due.erase(due.begin());
        policy.finished(target, answer(target), now);
      }
      each();
      poll();
    }
  }
};

}  // namespace slotwise::topology::testing
