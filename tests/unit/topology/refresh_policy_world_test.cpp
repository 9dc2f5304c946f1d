#include "topology/refresh_policy.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "refresh_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;
using namespace std::chrono_literals;

TEST_CASE("refresh: B19, a storm of triggers is a handful of questions a second, spread") {
  time_point now = start;
  RefreshPolicy policy = settled(6, now);
  World world{policy, now, [](const RefreshTarget&) { return RefreshOutcome::changed; }};
  world.run(60s, [&] {
    for (int i = 0; i < 32; ++i)
      policy.trigger(RefreshReason::moved, world.now);
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
    for (const auto& target : first.ask)
      policy.finished(target, RefreshOutcome::changed, now);
    now += 10s;
    bool up = false;
    bool found = false;
    World world{policy, now, [&](const RefreshTarget& target) {
                  if (!up || target.endpoint.host != "seed-2") return RefreshOutcome::failed;
                  found = true;
                  return RefreshOutcome::changed;
                }};
    policy.trigger(RefreshReason::node_lost, now);
    world.run(30s);
    CHECK_FALSE(world.asked_at.empty());
    up = true;
    const time_point served = world.now;
    while (!found) {
      world.run(10ms);
      REQUIRE(world.now - served < 3s);
    }
  }
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
