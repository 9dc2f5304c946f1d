// Which calls are looked at, and what of them is counted; the sketch itself: unit_observe.
#include "client/hot_keys.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <slotwise/detail/known.hpp>

#include "commands/command_info.hpp"

using namespace slotwise;
using detail::HotKeySampler;

namespace {

void call(HotKeySampler& sampler, const std::vector<std::string_view>& words) {
  detail::Plan plan;
  plan.info = commands::find(words);
  HotKeySampler::count(&sampler, plan, {.words = words});
}

void get(HotKeySampler& sampler, std::string_view key) {
  static const commands::CommandInfo* const info = commands::find("GET");
  const std::array<std::string_view, 2> words = {"GET", key};
  detail::Plan plan;
  plan.info = info;
  HotKeySampler::count(&sampler, plan, {.words = words});
}

std::map<std::string, std::uint64_t> counted(HotKeySampler& sampler) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& key : sampler.top(0).keys)
    counts[key.key] = key.calls;
  return counts;
}

/// That a count which is expected so often by chance is this.
bool near(std::uint64_t count, double expected) {
  return std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected);
}

}  // namespace

TEST_CASE("off: there is no sampler, and none is needed") {
  CHECK(HotKeySampler::make(0) == nullptr);
  HotKeySampler::count(nullptr, {}, {});
}

TEST_CASE("one in one: every call is counted") {
  HotKeySampler sampler(1);
  for (int i = 0; i < 100; ++i)
    get(sampler, "a");
  for (int i = 0; i < 50; ++i)
    call(sampler, {"SET", "b", "1"});
  CHECK(counted(sampler) == std::map<std::string, std::uint64_t>{{"a", 100}, {"b", 50}});
  CHECK(sampler.top(0).calls == 150);
}

TEST_CASE("one in 32 are looked at, whatever the pattern of the calls") {
  // A countdown of 32 would see one of these keys only, or none with a call without a key.
  for (const int period : {2, 16, 32, 64}) {
    CAPTURE(period);
    HotKeySampler sampler(32);
    std::vector<std::string> keys;
    for (int i = 0; i < period; ++i)
      keys.push_back(std::to_string(i));
    constexpr int calls = 640'000;
    for (int i = 0; i < calls; ++i)
      get(sampler, keys[static_cast<std::size_t>(i % period)]);
    const auto top = sampler.top(0);
    CHECK(near(top.calls, calls / 32.0));
    REQUIRE(top.keys.size() == keys.size());
    for (const auto& key : top.keys)
      CHECK(near(key.calls, calls / 32.0 / period));
  }
}

TEST_CASE("calls without a key do not change the chance of those that follow") {
  HotKeySampler sampler(32);
  constexpr int rounds = 320'000;
  for (int i = 0; i < rounds; ++i) {
    call(sampler, {"PING"});
    get(sampler, "behind a ping");
    get(sampler, "behind a get");
  }
  const auto counts = counted(sampler);
  CHECK(near(counts.at("behind a ping"), rounds / 32.0));
  CHECK(near(counts.at("behind a get"), rounds / 32.0));
  CHECK(near(sampler.top(0).calls, rounds / 16.0));
}

TEST_CASE("a thread that uses two clients in turn looks at each as often as it shall") {
  HotKeySampler often(8);
  HotKeySampler seldom(128);
  constexpr int calls = 200'000;
  for (int i = 0; i < calls; ++i) {
    get(often, "a");
    get(seldom, "b");
  }
  CHECK(near(often.top(0).calls, calls / 8.0));
  CHECK(near(seldom.top(0).calls, calls / 128.0));
  CHECK(counted(often).contains("b") == false);
}

TEST_CASE("every key of a call counts once, of many keys some") {
  HotKeySampler sampler(1);
  for (int i = 0; i < 20; ++i)
    call(sampler, {"MSET", "a", "1", "b", "2", "a", "3"});
  for (int i = 0; i < 20; ++i)
    call(sampler, {"EVAL", "return 1", "1", "c", "no key"});
  for (int i = 0; i < 20; ++i)
    call(sampler, {"SPUBLISH", "a channel", "text"});
  for (int i = 0; i < 20; ++i)
    call(sampler, {"GET"});  // a server will refuse it
  for (int i = 0; i < 20; ++i)
    call(sampler, {"A.COMMAND", "of a module"});
  CHECK(counted(sampler) == std::map<std::string, std::uint64_t>{{"a", 20}, {"b", 20}, {"c", 20}});
  CHECK(sampler.top(0).calls == 40);

  HotKeySampler of_many(1);
  std::vector<std::string> keys;
  for (int i = 0; i < 32; ++i)
    keys.push_back(std::to_string(i));
  std::vector<std::string_view> words = {"MGET"};
  words.insert(words.end(), keys.begin(), keys.end());
  for (int i = 0; i < 3200; ++i)
    call(of_many, words);
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counted(of_many))
    sum += count;
  CHECK(sum == 8 * 3200);
  CHECK(of_many.top(0).calls == 3200);
  // One in the middle is chosen as often as 8 of 25 beginnings say.
  CHECK(near(counted(of_many).at("16"), 8 * 3200 / 25.0));
}

TEST_CASE("several threads: nothing is counted twice") {
  HotKeySampler sampler(1);
  constexpr int calls = 20'000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&sampler, t] {
        const std::string key = std::to_string(t);
        for (int i = 0; i < calls; ++i)
          get(sampler, key);
      });
    }
    for (int i = 0; i < 50; ++i)
      static_cast<void>(sampler.top(0.01));
  }
  // Who found the sketch in use left it: that many are counted, but never more than there were.
  const auto top = sampler.top(0);
  std::uint64_t sum = 0;
  for (const auto& key : top.keys) {
    CHECK(key.calls <= calls);
    sum += key.calls;
  }
  CHECK(sum <= top.calls);
  CHECK(top.calls <= 4 * calls);
  CHECK(top.calls > 0);
  get(sampler, "afterwards");
  CHECK(sampler.top(0).calls == top.calls + 1);
}
