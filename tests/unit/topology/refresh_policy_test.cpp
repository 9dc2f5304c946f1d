#include "topology/refresh_policy.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace slotwise;
using namespace slotwise::topology;
using namespace std::chrono_literals;

namespace {

using time_point = RefreshPolicy::time_point;
constexpr time_point start = time_point{} + 1000h;

Endpoint seed(int i) { return {"seed-" + std::to_string(i), 6379}; }
RefreshPolicy::Node node(NodeHandle handle, bool connected = true) {
  return {handle, {"node-" + std::to_string(handle), 6379}, connected};
}
std::vector<RefreshPolicy::Node> nodes(NodeHandle count) {
  std::vector<RefreshPolicy::Node> list;
  for (NodeHandle handle = 1; handle <= count; ++handle) list.push_back(node(handle));
  return list;
}

RefreshPolicy make(int seeds, RefreshSettings settings = {}, std::uint64_t random = 7) {
  std::vector<Endpoint> list;
  for (int i = 0; i < seeds; ++i) list.push_back(seed(i));
  return RefreshPolicy(settings, std::move(list), base::Random(random));
}

RefreshSettings without_verification() {
  RefreshSettings settings;
  settings.verify_nodes = 0;
  return settings;
}

// A policy that has its first view of `count` nodes; nothing is in flight.
RefreshPolicy settled(NodeHandle count, time_point& now,
                      RefreshSettings settings = without_verification()) {
  RefreshPolicy policy = make(1, settings);
  const auto first = policy.poll(now);
  REQUIRE(first.ask.size() == 1);
  policy.set_nodes(nodes(count));
  policy.finished(first.ask[0], RefreshOutcome::changed, now);
  now += 10s;
  REQUIRE(policy.poll(now).ask.empty());
  return policy;
}

// Drives a policy through time against a made-up cluster. Answers come after `latency`.
struct World {
  RefreshPolicy& policy;
  time_point now;
  std::function<RefreshOutcome(const RefreshTarget&)> answer;
  std::function<std::chrono::milliseconds(const RefreshTarget&)> latency =
      [](const RefreshTarget&) { return 1ms; };
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
  void run(std::chrono::milliseconds time, const std::function<void()>& each = [] {}) {
    for (const time_point end = now + time; now < end; now += 1ms) {
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

}  // namespace

TEST_CASE("refresh: one seed, one question, then the check of the first view beside it") {
  RefreshPolicy policy = make(1);
  const auto first = policy.poll(start);
  REQUIRE(first.ask.size() == 1);
  CHECK(first.ask[0] == RefreshTarget{no_node, seed(0)});
  CHECK(first.reason == RefreshReason::start);
  CHECK(policy.poll(start + 1ms).ask.empty());

  // The seed is node 2 of the map.
  policy.set_nodes(nodes(6));
  policy.finished(first.ask[0], RefreshOutcome::changed, start + 2ms, 2);
  CHECK(policy.has_view());
  const auto second = policy.poll(start + 2ms);
  CHECK(second.reason == RefreshReason::verify);
  REQUIRE(second.ask.size() == 3);
  for (const RefreshTarget& target : second.ask) {
    CHECK(target.node != 2);
    CHECK_FALSE(target.is_seed());
    policy.finished(target, RefreshOutcome::failed, start + 3ms);
  }
  // Once, and failures there are nobody's trouble.
  const auto third = policy.poll(start + 4ms);
  CHECK(third.ask.empty());
  CHECK(third.wake > start + 40s);
}

TEST_CASE("refresh: several seeds, in random order, two at once, the next at each failure") {
  std::set<std::string> firsts;
  for (std::uint64_t random = 0; random < 40; ++random) {
    RefreshPolicy policy = make(4, {}, random);
    auto decision = policy.poll(start);
    REQUIRE(decision.ask.size() == 2);
    firsts.insert(decision.ask[0].endpoint.host);
    std::set<std::string> all{decision.ask[0].endpoint.host, decision.ask[1].endpoint.host};
    policy.finished(decision.ask[0], RefreshOutcome::failed, start + 1ms);
    policy.finished(decision.ask[1], RefreshOutcome::failed, start + 1ms);
    decision = policy.poll(start + 1ms);
    REQUIRE(decision.ask.size() == 2);
    for (const auto& target : decision.ask) all.insert(target.endpoint.host);
    CHECK(all.size() == 4);
  }
  CHECK(firsts.size() == 4);
}

TEST_CASE("refresh: a seed that keeps silent costs a quarter second, not its whole timeout") {
  RefreshPolicy policy = make(5);
  auto decision = policy.poll(start);
  REQUIRE(decision.ask.size() == 2);
  CHECK(decision.wake == start + 250ms);
  CHECK(policy.poll(start + 249ms).ask.empty());
  CHECK(policy.poll(start + 250ms).ask.size() == 1);
  CHECK(policy.poll(start + 499ms).ask.empty());
  CHECK(policy.poll(start + 500ms).ask.size() == 1);
}

TEST_CASE("refresh: B05, a view with gaps makes it ask on; if all have gaps, so be it") {
  RefreshPolicy policy = make(3);
  auto decision = policy.poll(start);
  REQUIRE(decision.ask.size() == 2);
  policy.finished(decision.ask[0], RefreshOutcome::partial, start);
  policy.finished(decision.ask[1], RefreshOutcome::partial, start);
  decision = policy.poll(start);
  REQUIRE(decision.ask.size() == 1);
  CHECK_FALSE(policy.has_view());
  SECTION("the third is whole") {
    policy.finished(decision.ask[0], RefreshOutcome::changed, start);
    CHECK(policy.has_view());
    CHECK_FALSE(policy.round_open());
  }
  SECTION("none is") {
    policy.finished(decision.ask[0], RefreshOutcome::partial, start);
    decision = policy.poll(start);
    CHECK(decision.ask.empty());
    CHECK(policy.has_view());
    CHECK(decision.wake > start + 40s);
  }
}

TEST_CASE("refresh: periodic, with jitter") {
  std::set<std::chrono::milliseconds> waits;
  time_point now = start;
  RefreshPolicy policy = settled(3, now);
  for (int i = 0; i < 30; ++i) {
    auto decision = policy.poll(now);
    CHECK(decision.ask.empty());
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(decision.wake - now);
    now = decision.wake;
    decision = policy.poll(now);
    REQUIRE(decision.ask.size() == 1);
    CHECK(decision.reason == RefreshReason::periodic);
    policy.finished(decision.ask[0], RefreshOutcome::unchanged, now);
    if (i == 0) continue;  // part of the first wait lies before
    CHECK(wait >= 48s);
    CHECK(wait <= 72s);
    waits.insert(wait);
  }
  CHECK(waits.size() > 20);

  RefreshSettings off = without_verification();
  off.interval = 0ms;
  RefreshPolicy quiet = settled(3, now, off);
  CHECK(quiet.poll(now).wake == time_point::max());
}

TEST_CASE("refresh: a trigger asks at once, first the node that MOVED named") {
  time_point now = start;
  RefreshPolicy policy = settled(6, now);
  policy.trigger(RefreshReason::moved, now, RefreshTarget{5, node(5).endpoint});
  const auto decision = policy.poll(now);
  REQUIRE(decision.ask.size() == 1);
  CHECK(decision.ask[0].node == 5);
  CHECK(decision.reason == RefreshReason::moved);
}

TEST_CASE("refresh: single flight, and no trigger is lost") {
  time_point now = start;
  RefreshPolicy policy = settled(3, now);
  policy.trigger(RefreshReason::moved, now);
  const auto first = policy.poll(now);
  REQUIRE(first.ask.size() == 1);
  for (int i = 0; i < 100; ++i) {
    policy.trigger(RefreshReason::moved, now);
    CHECK(policy.poll(now).ask.empty());
  }
  policy.finished(first.ask[0], RefreshOutcome::changed, now + 2ms);
  auto decision = policy.poll(now + 2ms);
  CHECK(decision.ask.empty());
  CHECK(decision.wake >= now + 200ms);
  CHECK(decision.wake <= now + 240ms);
  decision = policy.poll(decision.wake);
  REQUIRE(decision.ask.size() == 1);
  CHECK(decision.reason == RefreshReason::moved);
  // One more, not a hundred.
  policy.finished(decision.ask[0], RefreshOutcome::unchanged, now + 250ms);
  CHECK(policy.poll(now + 1h).reason == RefreshReason::periodic);
}

TEST_CASE("refresh: B19, a storm of triggers is a handful of questions a second, spread") {
  time_point now = start;
  RefreshPolicy policy = settled(6, now);
  World world{policy, now, [](const RefreshTarget&) { return RefreshOutcome::changed; }};
  world.run(60s, [&] {
    for (int i = 0; i < 32; ++i) policy.trigger(RefreshReason::moved, world.now);
  });
  const auto total = world.asked_at.size();
  CAPTURE(total);
  CHECK(total <= 60 * 2);
  CHECK(total >= 60);
  CHECK(world.asked.size() == 6);
  for (const auto& [host, count] : world.asked) {
    CAPTURE(host, count);
    CHECK(count <= static_cast<int>(total) * 2 / 5);
  }
  const auto in_first_second = std::count_if(world.asked_at.begin(), world.asked_at.end(),
                                             [&](time_point at) { return at < now + 1s; });
  CHECK(in_first_second <= 4);
}

TEST_CASE("refresh: a failover under load needs no more than ten questions") {
  for (std::uint64_t random = 0; random < 20; ++random) {
    time_point now = start;
    RefreshPolicy policy = settled(6, now);
    World world{policy, now, [](const RefreshTarget& target) {
                  return target.node == 3 ? RefreshOutcome::failed : RefreshOutcome::unchanged;
                }};
    // Node 3 dies; for 4 s every call to it reports that.
    world.run(4s, [&] {
      policy.node_failed(3, world.now);
      policy.trigger(RefreshReason::node_lost, world.now);
    });
    CHECK(world.asked_at.size() <= 9);
    CHECK(world.asked["node-3"] == 0);
    // From one question to the next it is never a whole second, or the news would come too late.
    for (std::size_t i = 1; i < world.asked_at.size(); ++i) {
      CHECK(world.asked_at[i] - world.asked_at[i - 1] < 900ms);
    }
  }
}

TEST_CASE("refresh: after a quiet time the pace is quick again") {
  time_point now = start;
  RefreshPolicy policy = settled(3, now);
  World world{policy, now, [](const RefreshTarget&) { return RefreshOutcome::unchanged; }};
  world.run(5s, [&] { policy.trigger(RefreshReason::moved, world.now); });
  world.run(5s);
  world.asked_at.clear();
  policy.trigger(RefreshReason::moved, world.now);
  world.poll();
  REQUIRE(world.asked_at.size() == 1);
  const time_point first = world.asked_at[0];
  world.run(300ms, [&] { policy.trigger(RefreshReason::moved, world.now); });
  REQUIRE(world.asked_at.size() == 2);
  CHECK(world.asked_at[1] - first <= 240ms);
}

TEST_CASE("refresh: a full outage is asked about for ever, gently, and seeds are part of it") {
  time_point now = start;
  RefreshPolicy policy = settled(6, now);
  World world{policy, now, [](const RefreshTarget&) { return RefreshOutcome::failed; }};
  world.run(1h, [&] { policy.trigger(RefreshReason::node_lost, world.now); });
  const auto total = world.asked_at.size();
  CAPTURE(total);
  CHECK(total < 3600 * 5);
  CHECK(total > 3600 * 2);
  CHECK(world.asked["seed-0"] > 1000);
  CHECK(world.asked.size() == 7);
  for (const auto& [host, count] : world.asked) {
    CAPTURE(host, count);
    CHECK(count > 500);
  }
  for (std::size_t i = 3; i < total; ++i) {
    CHECK(world.asked_at[i] - world.asked_at[i - 3] >= 200ms);
  }
  // It comes back: one good answer and all is as before.
  world.answer = [](const RefreshTarget&) { return RefreshOutcome::changed; };
  const time_point back = world.now;
  world.asked_at.clear();
  world.run(2s);
  REQUIRE_FALSE(world.asked_at.empty());
  CHECK(world.asked_at[0] - back < 900ms);
  CHECK(world.asked_at.size() <= 3);
}

TEST_CASE("refresh: all nodes moved, only the seeds' names still lead somewhere") {
  for (std::uint64_t random = 0; random < 20; ++random) {
    time_point now = start;
    RefreshPolicy policy = make(3, without_verification(), random);
    auto first = policy.poll(now);
    policy.set_nodes(nodes(6));
    for (const auto& target : first.ask) policy.finished(target, RefreshOutcome::changed, now);
    now += 10s;
    bool up = false;
    World world{policy, now, [&](const RefreshTarget& target) {
                  return up && target.endpoint.host == "seed-2" ? RefreshOutcome::changed
                                                                : RefreshOutcome::failed;
                }};
    policy.trigger(RefreshReason::node_lost, now);
    world.run(30s);
    CHECK_FALSE(world.asked_at.empty());
    up = true;
    const time_point served = world.now;
    while (policy.in_flight() > 0 || world.now - served < 10ms ||
           policy.poll(world.now).wake < world.now + 30s) {
      world.run(10ms);
      REQUIRE(world.now - served < 3s);
    }
  }
}

TEST_CASE("refresh: nodes that failed lately are asked last, the longest ago first") {
  time_point now = start;
  RefreshPolicy policy = settled(4, now);
  policy.node_failed(2, now);
  policy.node_failed(3, now + 1s);
  now += 2s;
  for (int i = 0; i < 20; ++i) {
    const auto order = policy.candidates(10, now);
    REQUIRE(order.size() == 5);
    CHECK(order[2].is_seed());
    CHECK(order[3].node == 2);
    CHECK(order[4].node == 3);
  }
  CHECK(policy.candidates(2, now).size() == 2);
  // Not for ever.
  std::set<NodeHandle> firsts;
  policy.set_nodes(nodes(4));
  for (int i = 0; i < 50; ++i) firsts.insert(policy.candidates(1, now + 11s)[0].node);
  CHECK(firsts.size() == 4);
}

TEST_CASE("refresh: a preferred node that just failed is not preferred") {
  time_point now = start;
  RefreshPolicy policy = settled(3, now);
  policy.node_failed(2, now);
  policy.trigger(RefreshReason::moved, now, RefreshTarget{2, node(2).endpoint});
  const auto decision = policy.poll(now);
  REQUIRE(decision.ask.size() == 1);
  CHECK(decision.ask[0].node != 2);
}

TEST_CASE("refresh: B25, connected nodes first; a seed that is a node is not asked beside it") {
  time_point now = start;
  RefreshPolicy policy = settled(1, now);
  policy.set_nodes({node(1, false), node(2, true), node(3, false),
                    {4, seed(0), false}});
  for (int i = 0; i < 20; ++i) {
    const auto order = policy.candidates(10, now);
    REQUIRE(order.size() == 4);
    CHECK(order[0].node == 2);
  }
  policy.set_connected(2, false);
  policy.set_connected(3, true);
  CHECK(policy.candidates(1, now)[0].node == 3);
}

TEST_CASE("refresh: late answers and strangers do no harm") {
  time_point now = start;
  RefreshPolicy policy = settled(6, now);
  policy.finished({99, {"stranger", 1}}, RefreshOutcome::changed, now);
  policy.finished({99, {"stranger", 1}}, RefreshOutcome::failed, now);
  CHECK(policy.poll(now).ask.empty());

  policy.trigger(RefreshReason::node_lost, now);
  const auto first = policy.poll(now);
  REQUIRE(first.ask.size() == 1);
  const auto second = policy.poll(now + 250ms);
  REQUIRE(second.ask.size() == 1);
  policy.finished(second.ask[0], RefreshOutcome::unchanged, now + 251ms);
  CHECK_FALSE(policy.round_open());
  CHECK(policy.in_flight() == 1);
  // The next round goes on without the one that still owes its answer.
  policy.trigger(RefreshReason::node_lost, now + 300ms);
  const auto third = policy.poll(now + 300ms);
  REQUIRE(third.ask.size() == 1);
  CHECK_FALSE(third.ask[0] == first.ask[0]);
  policy.finished(first.ask[0], RefreshOutcome::failed, now + 1s);
  CHECK(policy.round_open());
  policy.finished(third.ask[0], RefreshOutcome::unchanged, now + 1s);
  CHECK_FALSE(policy.round_open());
  CHECK(policy.in_flight() == 0);
}

TEST_CASE("refresh: random events never break single flight, pace or progress") {
  base::Random random(20'240'607);
  for (int world_number = 0; world_number < 60; ++world_number) {
    RefreshPolicy policy = make(1 + static_cast<int>(random.below(4)), {}, random.next());
    const NodeHandle count = 1 + random.below(8);
    World world{policy, start, [&](const RefreshTarget&) {
                  policy.set_nodes(nodes(count));
                  return static_cast<RefreshOutcome>(random.below(4));
                }};
    world.latency = [&](const RefreshTarget&) {
      return std::chrono::milliseconds(1 + random.below(random.below(5) == 0 ? 2000 : 20));
    };
    world.run(60s, [&] {
      if (random.below(50) == 0) policy.trigger(RefreshReason::moved, world.now);
      if (random.below(500) == 0) policy.node_failed(1 + random.below(count), world.now);
    });
    CHECK(policy.in_flight() <= 12);
    // Never more than six at the start and three in a round of at least 200 ms.
    CHECK(world.asked_at.size() <= 6 + 3 + 60 * 5 * 3);
    CHECK(world.asked_at.size() >= 30);
    world.answer = [](const RefreshTarget&) { return RefreshOutcome::unchanged; };
    world.run(5s);
    CHECK(policy.in_flight() == 0);
    CHECK_FALSE(policy.round_open());
  }
}

TEST_CASE("refresh: settings come from the configuration") {
  Config config;
  config.refresh_interval = 5s;
  config.refresh_min_interval = 2s;
  const RefreshSettings settings = RefreshSettings::from(config);
  CHECK(settings.interval == 5s);
  CHECK(settings.min_interval == 2s);
  CHECK(settings.max_interval == 2s);
}
