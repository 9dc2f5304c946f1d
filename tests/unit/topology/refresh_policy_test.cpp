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
    for (const auto& target : decision.ask)
      all.insert(target.endpoint.host);
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
  for (int i = 0; i < 50; ++i)
    firsts.insert(policy.candidates(1, now + 11s)[0].node);
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
  policy.set_nodes({node(1, false), node(2, true), node(3, false), {4, seed(0), false}});
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

TEST_CASE("refresh: settings come from the configuration") {
  Config config;
  config.refresh_interval = 5s;
  config.refresh_min_interval = 2s;
  const RefreshSettings settings = RefreshSettings::from(config);
  CHECK(settings.interval == 5s);
  CHECK(settings.min_interval == 2s);
  CHECK(settings.max_interval == 2s);
}
