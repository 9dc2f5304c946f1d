#include "hotkey/key_state.hpp"

#include <catch2/catch_test_macros.hpp>

#include <thread>
#include <vector>

#include "hotkey/names.hpp"

using namespace slotwise::hotkey;
using namespace std::chrono_literals;
using State = CopyPlace::State;

namespace {

Manifest manifest(std::uint64_t number, std::vector<CopyPlace> copies, std::uint64_t version = 0) {
  Manifest m;
  m.number = number;
  m.copies = std::move(copies);
  m.version = version;
  return m;
}

}  // namespace

TEST_CASE("hotkey: the floor only grows, and what is below it is refused") {
  KeyState state("k");
  CHECK(state.raise_floor(0));
  CHECK(state.raise_floor(10));
  CHECK(state.raise_floor(10));
  CHECK_FALSE(state.raise_floor(9));
  CHECK(state.floor() == 10);

  state.lower_floor(9, 3);  // it was 10 by then
  CHECK(state.floor() == 10);
  state.lower_floor(10, 3);
  CHECK(state.floor() == 3);
}

TEST_CASE("hotkey: the floor of many threads is the greatest of all") {
  KeyState state("k");
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&state, t] {
      for (std::uint64_t i = 0; i < 20000; ++i) {
        const std::uint64_t mine = i * 4 + t;
        const bool taken = state.raise_floor(mine);
        // Refused: only because of a greater one.
        if (taken ? state.floor() < mine : state.floor() <= mine) std::abort();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(state.floor() == 79999);
}

TEST_CASE("hotkey: a manifest is learnt with what is read, and the copies' names") {
  KeyState state("k");
  CHECK(state.copies() == nullptr);
  state.learn(manifest(3, {{7, State::joining}, {8, State::ready}, {9, State::leaving}}),
              Clock::now());
  const auto copies = state.copies();
  REQUIRE(copies != nullptr);
  CHECK(copies->ready == std::vector<std::size_t>{1});
  CHECK(copies->names[2] == copy_name("k", 9));
}

TEST_CASE("hotkey: what was seen of copies that stay is kept") {
  KeyState state("k");
  state.learn(manifest(1, {{7, State::ready}, {8, State::ready}}), Clock::now());
  const auto first = state.copies();
  first->seen[1]->in_flight = 5;
  state.learn(manifest(2, {{8, State::ready}, {9, State::ready}}), Clock::now());
  const auto second = state.copies();
  CHECK(second->seen[0] == first->seen[1]);
  CHECK(second->seen[1] != first->seen[0]);
  CHECK(second->seen[1]->in_flight == 0);
  first->seen[1]->in_flight -= 5;  // a call that was under way ends
  CHECK(second->seen[0]->in_flight == 0);
}

TEST_CASE("hotkey: an answer that was overtaken changes nothing") {
  KeyState state("k");
  const auto asked = Clock::now();
  state.learn(manifest(2, {{7, State::ready}}), asked);
  const auto in_use = state.copies();
  state.learn(manifest(1, {{8, State::ready}}), asked);
  CHECK(state.copies() == in_use);
  CHECK(state.confirmed_at() == asked);

  // Asked for afterwards: the home slot has forgotten number 2.
  const auto later = Clock::now();
  state.learn(manifest(1, {{8, State::ready}}), later);
  CHECK(state.copies()->manifest.number == 1);
  CHECK(state.confirmed_at() == later);
}

TEST_CASE("hotkey: the same number is a confirmation") {
  KeyState state("k");
  const auto asked = Clock::now();
  state.learn(manifest(2, {{7, State::ready}}), asked);
  const auto in_use = state.copies();
  state.learn(manifest(2, {{7, State::ready}}), asked + 1s);
  CHECK(state.copies() == in_use);
  CHECK(state.confirmed_at() == asked + 1s);
  state.confirm(asked);  // older
  CHECK(state.confirmed_at() == asked + 1s);
  state.confirm(asked + 2s);
  CHECK(state.confirmed_at() == asked + 2s);
}

TEST_CASE("hotkey: a key whose manifest is gone counts as joined until there is another") {
  KeyState state("k");
  state.forget(Clock::now());
  CHECK(state.copies() == nullptr);  // nothing was known

  const auto asked = Clock::now();
  state.learn(manifest(9, {{7, State::ready}}), asked);
  state.forget(asked);  // overtaken
  CHECK_FALSE(state.copies()->manifest.joined);

  const auto later = Clock::now();
  state.forget(later);
  CHECK(state.copies()->manifest.joined);
  CHECK(state.copies()->ready.empty());
  CHECK(state.confirmed_at() == later);
  state.learn(manifest(9, {{7, State::ready}}), asked);  // asked for before
  CHECK(state.copies()->manifest.joined);

  state.learn(manifest(1, {{8, State::ready}}), Clock::now());  // split again
  CHECK_FALSE(state.copies()->manifest.joined);
  CHECK(state.copies()->manifest.number == 1);
}

TEST_CASE("hotkey: what every copy should have by now is what the home slot had a while ago") {
  KeyState state("k");
  const auto t = Clock::now() + 1h;  // later than whatever came
  CHECK_FALSE(state.heard(5, t));
  CHECK(state.newest() == 5);
  CHECK(state.settled() == 0);
  CHECK_FALSE(state.heard(6, t + 10ms));
  CHECK(state.newest() == 6);
  CHECK(state.settled() == 0);
  CHECK_FALSE(state.heard(7, t + refresh_interval));
  CHECK(state.newest() == 7);
  CHECK(state.settled() == 5);
  CHECK_FALSE(state.heard(8, t + 2 * refresh_interval));
  CHECK(state.settled() == 7);
  // It has forgotten.
  CHECK(state.heard(3, t + 2 * refresh_interval + 1ms));
  CHECK(state.newest() == 3);
  CHECK(state.settled() == 3);
}

TEST_CASE("hotkey: an answer that was overtaken does not tell of forgotten writes") {
  KeyState state("k");
  const auto asked = Clock::now();
  CHECK_FALSE(state.heard(6, asked));
  CHECK_FALSE(state.heard(5, asked));
  CHECK(state.newest() == 6);
  CHECK_FALSE(state.heard(7, asked));
  CHECK(state.newest() == 7);
}

TEST_CASE("hotkey: a home slot that is silent is asked by one call at a time") {
  KeyState state("k");
  const auto t = Clock::now();
  CHECK_FALSE(state.home_silent(t, 500ms));
  CHECK_FALSE(state.home_silent(t, 500ms));
  state.home_silent_until(t + 1s);
  CHECK(state.home_silent(t + 999ms, 500ms));
  CHECK_FALSE(state.home_silent(t + 1001ms, 500ms));
  CHECK(state.home_silent(t + 1002ms, 500ms));
  CHECK_FALSE(state.home_silent(t + 1502ms, 500ms));
  state.home_silent_until({});
  CHECK_FALSE(state.home_silent(t + 1503ms, 500ms));
}

TEST_CASE("hotkey: manifests are exchanged under many readers") {
  KeyState state("k");
  state.learn(manifest(1, {{1, State::ready}}), Clock::now());
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      std::uint64_t last = 0;
      while (!done) {
        const auto copies = state.copies();
        if (copies->manifest.number < last) std::abort();
        last = copies->manifest.number;
        if (copies->seen.size() != copies->names.size()) std::abort();
      }
    });
  }
  const auto asked = Clock::now() - 1h;  // in any order
  for (std::uint64_t n = 2; n < 2000; ++n) {
    state.learn(manifest(n, {{1, State::ready}, {2, State::joining}}), asked);
    state.learn(manifest(n - 1, {{1, State::ready}}), asked);
  }
  done = true;
  for (auto& reader : readers)
    reader.join();
  CHECK(state.copies()->manifest.number == 1999);
}
