#include "routing/retry_budget.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>

using slotwise::routing::RetryBudget;
using slotwise::routing::TokenBucket;
using namespace std::chrono_literals;

namespace {

int taken(RetryBudget& budget, TokenBucket& of_node, slotwise::link::TimePoint now) {
  int n = 0;
  while (n < 10'000 && budget.take(now, of_node))
    ++n;
  return n;
}

}  // namespace

TEST_CASE("a second's worth of retries at once, then the pace of the refill") {
  RetryBudget budget(160);
  TokenBucket node;
  const auto start = slotwise::link::Clock::now();
  CHECK(taken(budget, node, start) == 160 + 10);  // and the node's share on credit
  CHECK(taken(budget, node, start) == 0);
  CHECK(taken(budget, node, start + 1005ms) == 160);  // the credit is paid back
  CHECK(taken(budget, node, start + 1h) == 160 + 10);
}

TEST_CASE("a node's retry does not queue behind those of another") {
  RetryBudget budget(160);
  TokenBucket dead;
  TokenBucket healthy;
  auto now = slotwise::link::Clock::now();
  taken(budget, dead, now);
  CHECK(taken(budget, dead, now) == 0);
  CHECK(taken(budget, healthy, now) == 10);
  for (int i = 0; i < 10; ++i) {
    now += 105ms;
    taken(budget, dead, now);
    CHECK(budget.take(now, healthy));
  }
}

TEST_CASE("many nodes' shares do not make the pace faster") {
  RetryBudget budget(160);
  std::array<TokenBucket, 300> nodes;
  auto now = slotwise::link::Clock::now();
  int sum = 0;
  for (int tenth = 0; tenth < 100; ++tenth) {
    for (TokenBucket& node : nodes)
      sum += taken(budget, node, now);
    now += 100ms;
  }
  CHECK(sum <= 160 + 160 + 10 * 160);  // a second's worth, a second's credit, ten seconds' pace
}

TEST_CASE("a retry that succeeds is free") {
  RetryBudget budget(3);
  TokenBucket node;
  const auto start = slotwise::link::Clock::now();
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(budget.take(start, node));
    budget.give_back();
  }
  CHECK(taken(budget, node, start) == 3 + 1);
  for (int i = 0; i < 10; ++i)
    budget.give_back();
  CHECK(taken(budget, node, start) == 3);  // never more than there was
}

TEST_CASE("no limit") {
  RetryBudget budget(0);
  TokenBucket node;
  CHECK(taken(budget, node, slotwise::link::Clock::now()) == 10'000);
}
