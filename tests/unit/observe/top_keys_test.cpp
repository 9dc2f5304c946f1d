#include "observe/top_keys.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <slotwise/slot.hpp>

using namespace slotwise;
using observe::RecentKeys;
using observe::TopKeys;

namespace {

constexpr std::uint64_t seed = 7;
const RecentKeys::Clock::time_point start{std::chrono::hours(1)};

void add(TopKeys& keys, std::string_view key) {
  keys.add(key, observe::hash_of_key(key, seed));
}

std::map<std::string, TopKeys::Entry> all_of(const TopKeys& keys) {
  std::map<std::string, TopKeys::Entry> all;
  for (const TopKeys::Entry& entry : keys)
    CHECK(all.emplace(entry.key, entry).second);
  return all;
}

void call(RecentKeys& keys, std::string_view key, RecentKeys::Clock::time_point at = start) {
  keys.add_call(at);
  keys.add_key(key);
}

/// The standard says what this engine gives, but not what its distributions make of it.
class Random {
 public:
  explicit Random(std::uint64_t seed_) : engine_(seed_) {}
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

 private:
  std::mt19937_64 engine_;
};

/// Keys 0, 1, 2, ...: the n-th comes as often as 1 / (n + 1)^exponent says (Zipf's law).
class Zipf {
 public:
  Zipf(std::size_t keys, double exponent) {
    double sum = 0;
    for (std::size_t i = 0; i < keys; ++i) {
      sum += std::pow(static_cast<double>(i + 1), -exponent);
      up_to_.push_back(sum);
    }
  }
  double share(std::size_t key) const {
    return (up_to_[key] - (key > 0 ? up_to_[key - 1] : 0)) / up_to_.back();
  }
  std::size_t draw(Random& random) const {
    const double at = random.unit() * up_to_.back();
    const auto found = std::upper_bound(up_to_.begin(), up_to_.end() - 1, at);
    return static_cast<std::size_t>(found - up_to_.begin());
  }

 private:
  std::vector<double> up_to_;
};

}  // namespace

TEST_CASE("few keys are counted exactly") {
  TopKeys keys;
  for (std::size_t i = 0; i < TopKeys::capacity; ++i) {
    for (std::size_t n = 0; n <= i % 3; ++n)
      add(keys, "key:" + std::to_string(i));
  }
  const auto all = all_of(keys);
  REQUIRE(all.size() == TopKeys::capacity);
  for (std::size_t i = 0; i < TopKeys::capacity; ++i) {
    const TopKeys::Entry& entry = all.at("key:" + std::to_string(i));
    CHECK(entry.count == i % 3 + 1);
    CHECK(entry.error == 0);
    CHECK(entry.slot() == slot("key:" + std::to_string(i)));
  }
}

TEST_CASE("with more keys than counters the true number lies between the bounds") {
  Random random(3);
  const Zipf zipf(100'000, 0.8);
  TopKeys keys;
  std::map<std::string, std::uint64_t> truth;
  constexpr std::uint64_t total = 200'000;
  for (std::uint64_t i = 0; i < total; ++i) {
    const std::string key = std::to_string(zipf.draw(random));
    add(keys, key);
    ++truth[key];
  }
  const auto all = all_of(keys);
  CHECK(all.size() == TopKeys::capacity);
  std::uint64_t sum = 0;
  for (const auto& [key, entry] : all) {
    CHECK(entry.at_least() <= truth[key]);
    CHECK(truth[key] <= entry.count);
    CHECK(entry.error <= total / TopKeys::capacity);
    sum += entry.count;
  }
  CHECK(sum == total);
  for (const auto& [key, count] : truth) {
    if (count > total / TopKeys::capacity) CHECK(all.contains(key));
  }
}

TEST_CASE("a cleared sketch has forgotten everything") {
  TopKeys keys;
  for (int i = 0; i < 5000; ++i)
    add(keys, std::to_string(i));
  keys.clear();
  CHECK(keys.begin() == keys.end());
  add(keys, "4999");
  const auto all = all_of(keys);
  REQUIRE(all.size() == 1);
  CHECK(all.at("4999").count == 1);
  CHECK(all.at("4999").error == 0);
}

TEST_CASE("keys with the same hash are different keys") {
  TopKeys keys;
  for (int i = 0; i < 10; ++i) {
    for (int n = 0; n <= i; ++n)
      keys.add(std::to_string(i), 42);
  }
  const auto all = all_of(keys);
  REQUIRE(all.size() == 10);
  for (int i = 0; i < 10; ++i)
    CHECK(all.at(std::to_string(i)).count == static_cast<std::uint64_t>(i) + 1);
}

TEST_CASE("of a long key the beginning is kept, and the slot of the whole") {
  const std::string begin(TopKeys::most_key_bytes, 'x');
  TopKeys keys;
  add(keys, begin + "{a}");
  add(keys, begin + "{b}");
  add(keys, begin + "{b}");
  REQUIRE(keys.end() - keys.begin() == 2);
  for (const TopKeys::Entry& entry : keys) {
    CHECK(entry.key == begin);
    CHECK(entry.slot() == slot(entry.count == 1 ? "a" : "b"));
  }
}

TEST_CASE("keys are bytes, and the hash depends on each of them") {
  const std::string zeros("\0\0", 2);
  TopKeys keys;
  for (const std::string& key : {std::string(), std::string(1, '\0'), zeros, std::string("\xff")})
    add(keys, key);
  CHECK(all_of(keys).size() == 4);
  std::string key(40, 'k');
  const std::uint64_t hash = observe::hash_of_key(key, 1);
  CHECK(hash != observe::hash_of_key(key, 2));
  for (char& c : key) {
    c = 'l';
    CHECK(hash != observe::hash_of_key(key, 1));
    c = 'k';
  }
}

// What Client::hot_keys() promises, at one call in 32 of a million.
TEST_CASE("Zipf loads: every key above a hundredth is found, none below two thousandths") {
  constexpr std::size_t looked_at = 1'000'000 / 32;
  constexpr std::uint64_t seeds = 40;
  for (const double exponent : {0.9, 1.0, 1.1, 1.4}) {
    const Zipf zipf(1'000'000, exponent);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < 1'000'000; ++i)
      names.push_back("key:" + std::to_string(i));
    for (std::uint64_t round = 0; round < seeds; ++round) {
      CAPTURE(exponent, round);
      Random random(round);
      RecentKeys keys(start, round);
      for (std::size_t i = 0; i < looked_at; ++i) {
        // Three seconds: half of the rounds turn to a new window in the middle.
        const auto at = start + std::chrono::microseconds(96 * i + 3'500'000 * (round % 2));
        call(keys, names[zipf.draw(random)], at);
      }
      const auto top = keys.top(start + std::chrono::milliseconds(6500), 0.005);
      CHECK(top.calls == looked_at);
      std::size_t above = 0;
      while (zipf.share(above) > 0.01)
        ++above;
      REQUIRE(above > 0);
      std::vector<bool> found(above);
      double before = 1;
      for (const RecentKeys::Key& key : top.keys) {
        const auto number = static_cast<std::size_t>(std::stoul(key.key.substr(4)));
        const double share = static_cast<double>(key.calls) / static_cast<double>(top.calls);
        CHECK(zipf.share(number) >= 0.002);
        CHECK(std::abs(share - zipf.share(number)) < 0.25 * zipf.share(number));
        CHECK(share <= before);
        before = share;
        if (number < above) found[number] = true;
      }
      CHECK(std::count(found.begin(), found.end(), false) == 0);
    }
  }
}

TEST_CASE("where few calls were looked at, chance makes no hot key") {
  Random random(1);
  RecentKeys keys(start, seed);
  for (int i = 0; i < 100; ++i)
    call(keys, "cold:" + std::to_string(static_cast<int>(50 * random.unit())));
  CHECK(keys.top(start, 0.005).keys.empty());
  // But one that is plainly hot is found at once.
  for (int i = 0; i < 50; ++i)
    call(keys, "hot");
  const auto top = keys.top(start, 0.005);
  REQUIRE(top.keys.size() == 1);
  CHECK(top.keys[0].key == "hot");
  CHECK(top.keys[0].calls == 50);
  CHECK(top.calls == 150);
}

TEST_CASE("what is told is lately: two windows") {
  using std::chrono::seconds;
  RecentKeys keys(start, seed);
  for (int i = 0; i < 100; ++i)
    call(keys, "old", start + seconds(1));
  for (int i = 0; i < 100; ++i)
    call(keys, "new", start + seconds(6));
  auto top = keys.top(start + seconds(9), 0.1);
  CHECK(top.calls == 200);
  CHECK(top.keys.size() == 2);
  CHECK(top.time == seconds(9));
  for (int i = 0; i < 50; ++i)
    call(keys, "new", start + seconds(11));
  top = keys.top(start + seconds(11), 0.1);
  REQUIRE(top.keys.size() == 1);
  CHECK(top.keys[0].key == "new");
  CHECK(top.keys[0].calls == 150);
  CHECK(top.calls == 150);
  CHECK(top.time == seconds(6));
  top = keys.top(start + seconds(25), 0.1);
  CHECK(top.keys.empty());
  CHECK(top.calls == 0);
}
