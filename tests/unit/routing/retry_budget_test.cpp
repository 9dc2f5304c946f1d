#include "routing/retry_budget.hpp"

#include <catch2/catch_test_macros.hpp>

using slotwise::routing::RetryBudget;
using namespace std::chrono_literals;

namespace {

int taken(RetryBudget& budget, slotwise::link::TimePoint now) {
  int n = 0;
  while (n < 10'000 && budget.take(now))
    ++n;
  return n;
}

}  // namespace

TEST_CASE("a second's worth of retries at once, then the pace of the refill") {
  RetryBudget budget(100);
  const auto start = slotwise::link::Clock::now();
  CHECK(taken(budget, start) == 100);
  CHECK(taken(budget, start) == 0);
  CHECK(taken(budget, start + 105ms) == 10);
  CHECK(taken(budget, start + 1h) == 100);
}

TEST_CASE("a retry that succeeds is free") {
  RetryBudget budget(3);
  const auto start = slotwise::link::Clock::now();
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(budget.take(start));
    budget.give_back();
  }
  CHECK(taken(budget, start) == 3);
  for (int i = 0; i < 10; ++i)
    budget.give_back();
  CHECK(taken(budget, start) == 3);  // never more than there was
}

TEST_CASE("no limit") {
  RetryBudget budget(0);
  CHECK(taken(budget, slotwise::link::Clock::now()) == 10'000);
}
