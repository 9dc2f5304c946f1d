#include "base/backoff.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <set>
#include <thread>
#include <vector>

using namespace slotwise::base;
using namespace std::chrono_literals;
using std::chrono::microseconds;

TEST_CASE("backoff: doubles from min to max, jittered, half of it certain") {
  Random random(1);
  const BackoffLimits limits{20ms, 1000ms};
  struct Case {
    int attempt;
    microseconds low;
    microseconds high;
  };
  const Case cases[] = {
      {0, 20ms, 20ms},   {1, 20ms, 40ms},          {2, 40ms, 80ms},    {3, 80ms, 160ms},
      {5, 320ms, 640ms}, {6, 500ms, 1000ms},       {7, 500ms, 1000ms}, {1000, 500ms, 1000ms},
      {-5, 20ms, 20ms},  {INT_MAX, 500ms, 1000ms},
  };
  for (const Case& c : cases) {
    CAPTURE(c.attempt);
    microseconds least = microseconds::max();
    microseconds most{0};
    for (int i = 0; i < 2000; ++i) {
      const auto delay = backoff_delay(limits, c.attempt, random);
      least = std::min(least, delay);
      most = std::max(most, delay);
    }
    CHECK(least >= c.low);
    CHECK(most <= c.high);
    // The whole range is used.
    CHECK(least <= c.low + (c.high - c.low) / 20);
    CHECK(most >= c.high - (c.high - c.low) / 20);
  }
}

TEST_CASE("backoff: never zero, whatever the limits") {
  Random random(2);
  const BackoffLimits odd[] = {{0ms, 0ms},
                               {-5ms, -1ms},
                               {0ms, 1000ms},
                               {100ms, 10ms},
                               {std::chrono::milliseconds::max() / 2000, 1ms}};
  for (const BackoffLimits& limits : odd) {
    for (int attempt = -1; attempt < 70; ++attempt) {
      CHECK(backoff_delay(limits, attempt, random) >= 1ms);
    }
  }
}

TEST_CASE("backoff: jitter of periodic work is +-20 %") {
  Random random(3);
  microseconds least = microseconds::max();
  microseconds most{0};
  for (int i = 0; i < 5000; ++i) {
    const auto value = jittered(60s, random);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  CHECK(least >= 48s);
  CHECK(least < 49s);
  CHECK(most <= 72s);
  CHECK(most > 71s);
  CHECK(jittered(0s, random) == 0s);
}

TEST_CASE("random: the same seed gives the same numbers, another seed others") {
  Random a(42);
  Random b(42);
  Random c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    CHECK(x == b.next());
    differs = differs || x != c.next();
  }
  CHECK(differs);
}

TEST_CASE("random: ranges") {
  Random random(0);
  std::array<int, 10> seen{};
  for (int i = 0; i < 10'000; ++i) {
    ++seen[random.below(10)];
    const double unit = random.unit();
    CHECK((unit >= 0.0 && unit < 1.0));
    const auto value = random.between(-3, 3);
    CHECK((value >= -3 && value <= 3));
  }
  for (const int count : seen)
    CHECK((count > 800 && count < 1200));
  CHECK(random.below(0) == 0);
  CHECK(random.below(1) == 0);
  CHECK(random.between(5, 5) == 5);
  CHECK(random.between(5, 4) == 5);
  (void)random.between(INT64_MIN, INT64_MAX);

  std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8};
  random.shuffle(std::span(items));
  CHECK(std::set<int>(items.begin(), items.end()).size() == 8);
}

TEST_CASE("random: every thread has its own") {
  std::set<std::uint64_t> firsts;
  std::array<std::uint64_t, 8> values{};
  {
    std::vector<std::thread> threads;
    for (auto& value : values)
      threads.emplace_back([&value] { value = thread_random().next(); });
    for (auto& thread : threads)
      thread.join();
  }
  firsts.insert(values.begin(), values.end());
  CHECK(firsts.size() == values.size());
  CHECK(random_seed() != random_seed());
}
