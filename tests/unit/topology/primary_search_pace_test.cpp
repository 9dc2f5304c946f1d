// When the sentinels are asked: rule 6. And chance against all rules.
#include "topology/primary_search.hpp"

#include <catch2/generators/catch_generators.hpp>

#include <random>

#include "primary_search_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

namespace {

using time_point = PrimarySearch::time_point;

std::vector<SentinelReport> all_down(int count = 3) {
  return std::vector<SentinelReport>(static_cast<std::size_t>(count), unreachable());
}

}  // namespace

// --- rule 6: when ---------------------------------------------------------------------------

TEST_CASE("the first round needs no trigger, and there is never a second one beside it") {
  Search s(3);
  CHECK(s.search.next_round() == 1);
  REQUIRE(s.search.poll(s.now).ask);
  CHECK(s.search.next_round() == 2);
  s.search.trigger();
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(s.search.poll(s.now + i * 10s).ask);
    CHECK(s.search.poll(s.now + i * 10s).wake == time_point::max());
  }
}

TEST_CASE("a trigger during a round is not lost") {
  Search s(3);
  s.settle(x, 1);
  s.search.trigger();
  s.ask();
  s.search.trigger();
  (void)s.tell(1, says(1, x, 1));
  (void)s.tell(2, says(2, x, 1));
  const auto before = s.now;
  REQUIRE(s.try_ask(1s));
  CHECK(s.now - before <= 100ms);
}

TEST_CASE("triggers do not make rounds follow one another without a pause") {
  Search s(3);
  s.settle(x, 1);
  s.search.hears_events(true);
  const auto start = s.now;
  int rounds = 0;
  while (s.now < start + 1s) {
    s.search.trigger();
    s.ask();
    ++rounds;
    for (int n = 1; n <= 3; ++n)
      (void)s.tell(n, says(n, x, 1));
  }
  CHECK(rounds <= 11);
}

TEST_CASE("while no primary is in use rounds follow one another, a few a second") {
  Search s(3);
  const auto start = s.now;
  int rounds = 0;
  while (s.now < start + 10s) {
    (void)s.round({says(1, x, 1), says(2, x, 1), says(3, x, 1)});  // it cannot be connected to
    ++rounds;
  }
  CHECK(rounds >= 40);
  CHECK(rounds <= 65);
}

TEST_CASE("while no sentinel answers they are asked more slowly, about once a second") {
  Search s(3);
  (void)s.round(all_down());
  auto last = s.now;
  std::chrono::nanoseconds longest{0};
  for (int i = 0; i < 20; ++i) {
    (void)s.round(all_down());
    longest = std::max<std::chrono::nanoseconds>(longest, s.now - last);
    last = s.now;
  }
  CHECK(longest <= 1200ms);
  CHECK(longest >= 800ms);
  (void)s.round({says(1, x, 1), says(2, x, 1), says(3, x, 1)});
  last = s.now;
  s.ask();
  CHECK(s.now - last <= 250ms);
}

TEST_CASE("the periodic check") {
  SECTION("comes without any event") {
    Search s(3);
    s.settle(x, 1);
    s.search.hears_events(true);
    const auto before = s.now;
    REQUIRE(s.try_ask());
    CHECK(s.now - before >= 8s);
    CHECK(s.now - before <= 12s);
  }
  SECTION("again and again, also after an early end") {
    Search s(3);
    s.settle(x, 1);
    s.search.hears_events(true);
    for (int i = 0; i < 5; ++i) {
      const auto before = s.now;
      REQUIRE(s.try_ask(12s));
      CHECK(s.now - before >= 7s);
      (void)s.tell(1, says(1, x, 1));
      REQUIRE(s.tell(2, says(2, x, 1)));
    }
  }
  SECTION("each second while nobody tells of changes") {
    Search s(3);
    s.settle(x, 1);
    s.search.hears_events(false);
    const auto before = s.now;
    REQUIRE(s.try_ask());
    CHECK(s.now - before <= 1s);
  }
  SECTION("can be switched off") {
    auto settings = Search::with_name();
    settings.check_interval = 0ms;
    Search s(3, settings);
    s.settle(x, 1);
    s.search.hears_events(true);
    CHECK_FALSE(s.try_ask(24h));
    s.search.trigger();
    CHECK(s.try_ask(1s));
  }
  SECTION("settled() that says nothing new does not put it off") {
    Search s(3);
    s.settle(x, 1);
    s.search.hears_events(true);
    const auto start = s.now;
    bool asked = false;
    while (!asked && s.now < start + 30s) {
      s.search.settled(true, s.now);
      asked = s.try_ask(1s);
    }
    CHECK(asked);
    CHECK(s.now - start <= 13s);
  }
}

TEST_CASE("when the primary is lost the sentinels are asked without the check's interval") {
  Search s(3);
  s.settle(x, 1);
  s.search.hears_events(true);
  s.now += 3s;
  s.search.settled(false, s.now);
  const auto before = s.now;
  s.ask();
  CHECK(s.now == before);
}

TEST_CASE("a late answer with a newer epoch is a reason to ask again") {
  Search s(3);
  s.settle(x, 5);
  s.search.hears_events(true);
  s.search.trigger();
  s.ask();
  (void)s.tell(1, says(1, x, 5));
  REQUIRE(s.tell(2, says(2, x, 5)));
  SECTION("a newer one: the primary is left until the next round shows who is right") {
    const auto c = s.tell(3, says(3, y, 6));
    REQUIRE(c);
    CHECK_FALSE(c->primary);
    CHECK(c->leave);
    CHECK(c->error->message().find("10.0.1.2:6379") != std::string_view::npos);
    CHECK(s.try_ask(200ms));
    SECTION("it was wrong: the others are believed, and it is not heard again") {
      (void)s.tell(1, says(1, x, 5));
      const auto end = s.tell(2, says(2, x, 5));
      REQUIRE(end);
      CHECK(end->primary == x);
      CHECK_FALSE(s.tell(3, says(3, y, 6)));
    }
  }
  SECTION("the same, a failure, a name that is not known") {
    const int which = GENERATE(0, 1, 2);
    CHECK_FALSE(s.tell(3, which == 0   ? says(3, x, 5)
                          : which == 1 ? unreachable()
                                       : unknown_name(3)));
    CHECK_FALSE(s.try_ask(5s));
  }
}

TEST_CASE("a sentinel that is always late with a higher epoch does not make rounds for ever") {
  Search s(3);
  s.settle(x, 5);
  s.search.hears_events(true);
  s.search.trigger();
  const auto start = s.now;
  int rounds = 0;
  while (s.now < start + 60s) {
    if (!s.try_ask(1s)) continue;
    ++rounds;
    (void)s.tell(1, says(1, x, 5));
    (void)s.tell(2, says(2, x, 5));
    s.now += 10ms;
    (void)s.tell(3, says(3, y, 99));
  }
  CHECK(rounds < 120);
}

// --- chance ---------------------------------------------------------------------------------

TEST_CASE("whatever the sentinels say, no round stays open and the asking does not stop") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    CAPTURE(seed);
    Search s(1 + below(4));
    const Endpoint servers[] = {x, y, z};
    const auto report = [&](const Endpoint& from) {
      const int n = from.host.back() - '0';
      if (below(4) == 0) return unreachable();
      if (below(8) == 0) return refused();
      if (below(8) == 0) return unknown_name(n);
      auto r = says(n, servers[below(3)], static_cast<std::uint64_t>(below(4)), 1 + below(6));
      if (below(6) == 0) r.id.clear();
      if (below(10) == 0) r.id = id_of(below(9));
      for (auto& other : r.others) {
        if (below(8) == 0) other.endpoint.host = "10.0.7." + std::to_string(1 + below(9));
        if (below(8) == 0) other.id.clear();
      }
      return r;
    };
    bool settled = false;
    for (int round = 0; round < 60; ++round) {
      REQUIRE(s.try_ask(20s));
      REQUIRE(s.asked() == static_cast<int>(s.search.sentinels().size()));
      int conclusions = 0;
      std::vector<SentinelHandle> late;
      while (s.search.round_open()) {  // those that are learned meanwhile are asked, too
        std::vector<PrimarySearch::Sentinel> waiting = s.search.sentinels();
        std::erase_if(waiting, [](const auto& sentinel) { return !sentinel.asked; });
        REQUIRE_FALSE(waiting.empty());
        const auto& sentinel =
            waiting[static_cast<std::size_t>(below(static_cast<int>(waiting.size())))];
        const auto c = s.search.reported(sentinel.handle, report(sentinel.endpoint), s.now);
        s.now += std::chrono::milliseconds(below(50));
        if (below(10) == 0) s.search.trigger();
        REQUIRE(c.has_value() == !s.search.round_open());
        if (!c) continue;
        ++conclusions;
        REQUIRE(c->primary.has_value() != c->error.has_value());
        REQUIRE(c->round == s.search.next_round() - 1);
        settled = c->primary ? below(2) == 0 : settled && !c->leave;
        s.search.settled(settled, s.now);
      }
      REQUIRE(conclusions == 1);
      for (const auto& sentinel : s.search.sentinels()) {
        if (sentinel.asked) late.push_back(sentinel.handle);
      }
      for (const SentinelHandle handle : late) {
        const auto c = s.search.reported(handle, report(at(1 + below(5))), s.now);
        if (!c) continue;
        REQUIRE_FALSE(c->primary);
        settled = settled && !c->leave;
        s.search.settled(settled, s.now);
      }
    }
    REQUIRE(s.search.sentinels().size() < 100);
  }
}
