#include "observe/histogram.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using slotwise::observe::Histogram;
using Steps = slotwise::observe::detail::HistogramSteps;

TEST_CASE("every value falls into the counter whose upper end is next above it") {
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i <= Steps::index_of(Histogram::largest); ++i) {
    const std::uint64_t upper = Steps::upper(i);
    CHECK(Steps::index_of(upper) == i);
    if (i > 0) CHECK(Steps::index_of(previous + 1) == i);
    previous = upper;
  }
  CHECK(previous == Histogram::largest);
}

TEST_CASE("an empty histogram has no values") {
  const auto h = std::make_unique<Histogram>();
  CHECK(h->count() == 0);
  CHECK(h->quantile(0.5) == 0);
  CHECK(h->max() == 0);
  CHECK(h->mean() == 0);
}

TEST_CASE("small values are exact") {
  const auto h = std::make_unique<Histogram>();
  for (std::uint64_t v = 1; v <= 100; ++v)
    h->record(v);
  CHECK(h->count() == 100);
  CHECK(h->quantile(0) == 1);
  CHECK(h->quantile(0.5) == 50);
  CHECK(h->quantile(0.99) == 99);
  CHECK(h->quantile(1) == 100);
  CHECK(h->mean() == 50.5);
}

TEST_CASE("quantiles are right to one part in 128") {
  const auto h = std::make_unique<Histogram>();
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(13, 2);
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<std::uint64_t>(latency(random)));
    h->record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * 100'000)) - 1;
    const auto exact = static_cast<double>(values[rank]);
    const auto got = static_cast<double>(h->quantile(q));
    CHECK(got >= exact);
    CHECK(got <= exact * (1 + 1.0 / 128) + 1);
  }
  CHECK(h->quantile(1) == values.back());
}

TEST_CASE("values above the range count as the largest") {
  const auto h = std::make_unique<Histogram>();
  h->record(UINT64_MAX);
  CHECK(h->count() == 1);
  CHECK(h->quantile(0.5) == Histogram::largest);
}

TEST_CASE("histograms add up and can be used again") {
  const auto a = std::make_unique<Histogram>();
  const auto b = std::make_unique<Histogram>();
  a->record(10);
  b->record(20);
  b->record(30);
  a->add(*b);
  CHECK(a->count() == 3);
  CHECK(a->max() == 30);
  CHECK(a->mean() == 20);
  a->reset();
  CHECK(a->count() == 0);
  CHECK(a->max() == 0);
}

TEST_CASE("many threads count without loss") {
  const auto h = std::make_unique<Histogram>();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&h] {
        for (std::uint64_t i = 1; i <= 20'000; ++i)
          h->record(i);
      });
    }
  }
  CHECK(h->count() == 80'000);
  CHECK(h->max() == 20'000);
}
