#include "support/statistics.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace slotwise::bench;

TEST_CASE("median: the middle one, or between the two in the middle") {
  CHECK(median({}) == 0);
  CHECK(median({7}) == 7);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({8, 2, 4, 100}) == 6);
}

TEST_CASE("percentile: the figure that so many do not exceed") {
  std::vector<float> figures;
  CHECK(percentile(figures, 0.99) == 0);
  for (int i = 100; i >= 1; --i)
    figures.push_back(static_cast<float>(i));
  CHECK(percentile(figures, 0.5) == 50);
  CHECK(percentile(figures, 0.99) == 99);
  CHECK(percentile(figures, 1) == 100);
  CHECK(percentile(figures, 0) == 1);
}

TEST_CASE("compare: the ratio of medians, with the extremes of the rounds") {
  const auto ratio = compare({10, 30, 20}, {10, 10, 5});
  CHECK(ratio.of_medians == 2);
  CHECK(ratio.low == 1);
  CHECK(ratio.high == 4);
  CHECK(ratio.of_best == 3);
  CHECK(compare({}, {}).of_medians == 0);
}

TEST_CASE("compare_inverse: a latency half as long is twice as good") {
  const auto ratio = compare_inverse({50, 40}, {100, 80});
  CHECK(ratio.of_medians == 2);
  CHECK(ratio.low == 2);
  CHECK(ratio.high == 2);
}
