// Whom to believe: rules 1 to 5, and what is said when nobody can be believed.
#include "topology/primary_search.hpp"

#include "primary_search_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

namespace {

bool has(const std::optional<Error>& error, std::string_view part) {
  return error && error->message().find(part) != std::string_view::npos;
}

}  // namespace

// --- rule 1: together, and no longer than it takes ------------------------------------------

TEST_CASE("all sentinels are asked together, and a majority that agrees ends the round") {
  Search s(3);
  s.ask();
  CHECK(s.asked() == 3);
  CHECK_FALSE(s.tell(1, says(1, x, 5)));
  const auto end = s.tell(2, says(2, x, 5));
  REQUIRE(end);
  CHECK(end->primary == x);
  CHECK(end->config_epoch == 5);
  CHECK(end->round == 1);
  CHECK_FALSE(s.search.round_open());
  CHECK_FALSE(s.tell(3, says(3, x, 5)));  // late, and nothing new
}

TEST_CASE("a majority of an older epoch does not end the round early") {
  Search s(5);
  s.ask();
  CHECK_FALSE(s.tell(1, says(1, y, 6, 5)));
  CHECK_FALSE(s.tell(2, says(2, x, 5, 5)));
  CHECK_FALSE(s.tell(3, says(3, x, 5, 5)));
  CHECK_FALSE(s.tell(4, says(4, x, 5, 5)));  // three of five, but a newer epoch was heard of
  const auto end = s.tell(5, says(5, x, 5, 5));
  REQUIRE(end);
  CHECK_FALSE(end->primary);
}

TEST_CASE("a sentinel that knows no other does not decide while others are asked") {
  Search s(3);
  s.ask();
  CHECK_FALSE(s.tell(1, says(1, x, 0, 1)));
  CHECK_FALSE(s.tell(2, says(2, y, 5)));
  const auto end = s.tell(3, says(3, y, 5));
  REQUIRE(end);
  CHECK(end->primary == y);
}

TEST_CASE("one sentinel that there is decides") {
  Search s(1);
  CHECK(s.round({says(1, x, 0, 1)}).primary == x);
}

// --- rule 2 and 3 ---------------------------------------------------------------------------

TEST_CASE("the highest epoch wins where most name it, in whatever order they answer") {
  int order[] = {1, 2, 3};
  do {
    Search s(3);
    s.ask();
    std::optional<Conclusion> end;
    for (const int n : order) {
      auto c = s.tell(n, n == 1 ? says(1, x, 5) : says(n, y, 6));
      if (c && !end) end = c;
    }
    REQUIRE(end);
    CHECK(end->primary == y);
    CHECK(end->config_epoch == 6);
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

TEST_CASE("a minority is believed when it stays alone, and then its highest epoch wins") {
  Search s(5);
  const auto minority = [&] {
    return s.round({says(1, x, 5, 5), says(2, y, 6, 5), unreachable(), unreachable(),
                    unreachable("no route")});
  };
  SECTION("from the start") {
    for (int i = 0; i < 2; ++i) {
      const Conclusion c = minority();
      CHECK_FALSE(c.primary);
      CHECK(c.error->code() == ErrorCode::no_primary);
      CHECK_FALSE(c.hopeless);
    }
    const Conclusion c = minority();
    CHECK(c.primary == y);
    CHECK(c.config_epoch == 6);
  }
  SECTION("the primary in use is left at once where they name a newer one") {
    s.settle(x, 5, 5);
    s.search.trigger();
    CHECK(minority().leave);
    s.search.settled(false, s.now);
    CHECK_FALSE(minority().primary);
    CHECK(minority().primary == y);
  }
  SECTION("not while they name the one in use") {
    s.settle(x, 5, 5);
    for (int i = 0; i < 5; ++i) {
      const Conclusion c = s.round_on_trigger(
          {says(1, x, 5, 5), says(2, x, 5, 5), unreachable(), unreachable(), unreachable()});
      CHECK(c.primary == x);
    }
  }
  SECTION("a majority in between counts anew") {
    (void)minority();
    (void)minority();
    s.settle(x, 6, 5);
    s.search.settled(false, s.now);
    for (int i = 0; i < 3; ++i) {
      const auto c =
          s.round({says(1, y, 7, 5), unreachable(), unreachable(), unreachable(), unreachable()});
      CHECK(c.primary.has_value() == (i == 2));
    }
  }
}

TEST_CASE("with a majority reachable a server that most do not name gets nothing") {
  Search s(3);
  SECTION("one names a newer one") {
    const Conclusion c = s.round({says(1, y, 6), says(2, x, 5), says(3, x, 5)});
    CHECK_FALSE(c.primary);
    CHECK(c.error->code() == ErrorCode::no_primary);
    CHECK_FALSE(c.hopeless);
    for (const char* part : {"mymaster", "10.0.1.1:6379 is named by 2 with epoch 5",
                             "10.0.1.2:6379 is named by 1 with epoch 6", "of 3 sentinels 3 answer"})
      CHECK(has(c.error, part));
  }
  SECTION("three answers, three servers") {
    CHECK_FALSE(s.round({says(1, x, 7), says(2, y, 7), says(3, z, 6)}).primary);
  }
  SECTION("at the same epoch most decide") {
    CHECK(s.round({says(1, x, 6), says(2, y, 6), says(3, y, 6)}).primary == y);
  }
}

TEST_CASE("two halves: the newer epoch wins, and at one epoch nobody does") {
  Search s(3);
  SECTION("of three, one silent") {
    CHECK(s.round({says(1, x, 5), says(2, y, 6), unreachable()}).primary == y);
  }
  SECTION("of two") {
    Search two(2);
    CHECK(two.round({says(1, x, 5, 2), says(2, y, 6, 2)}).primary == y);
  }
  SECTION("at one epoch, while nobody was believed before") {
    CHECK_FALSE(s.round({says(1, x, 6), says(2, y, 6), unreachable()}).primary);
  }
  SECTION("at one epoch, while one of the two is in use") {
    s.settle(x, 6);
    const Conclusion c = s.round_on_trigger({unreachable(), says(2, y, 6), says(3, x, 6)});
    CHECK((!c.primary || *c.primary == x));
  }
  SECTION("older than what was believed") {
    s.settle(z, 7);
    CHECK_FALSE(s.round_on_trigger({says(1, x, 5), says(2, y, 6), unreachable()}).primary);
  }
}

TEST_CASE("a failover that is under way is waited for") {
  // The leader announces the new epoch first, still with the old address, then the others move.
  Search s(3);
  s.settle(x, 5);
  CHECK(s.round_on_trigger({says(1, x, 6), says(2, x, 5), says(3, x, 5)}).primary == x);
  CHECK(s.round_on_trigger({says(1, x, 6), says(2, y, 6), says(3, y, 6)}).primary == y);
  CHECK(s.round_on_trigger({says(1, y, 6), says(2, y, 6), says(3, y, 6)}).primary == y);
}

TEST_CASE("the first to know of a failover makes the client leave the old primary") {
  Search s(3);
  s.settle(x, 5);
  SECTION("in time: until the others know, nobody is believed") {
    s.search.trigger();
    s.ask();
    CHECK_FALSE(s.tell(3, says(3, y, 6)));
    CHECK_FALSE(s.tell(1, says(1, x, 5)));
    const auto c = s.tell(2, says(2, x, 5));
    REQUIRE(c);
    CHECK_FALSE(c->primary);
    CHECK(c->leave);
    CHECK(s.round({says(1, y, 6), says(2, x, 5), says(3, y, 6)}).primary == y);
  }
  SECTION("late") {
    s.search.trigger();
    s.ask();
    CHECK_FALSE(s.tell(1, says(1, x, 5)));
    REQUIRE(s.tell(2, says(2, x, 5)));
    const auto c = s.tell(3, says(3, y, 6));
    REQUIRE(c);
    CHECK(c->leave);
  }
}

TEST_CASE("a tie in a minority does not turn with the order of answers") {
  Search s(5);
  s.settle(x, 6, 5);
  for (int i = 0; i < 6; ++i) {
    s.search.trigger();
    s.ask();
    const int first = i % 2 == 0 ? 2 : 1;
    for (const int n : {first, 3 - first})
      (void)s.tell(n, n == 1 ? says(1, x, 6, 5) : says(2, y, 6, 5));
    (void)s.tell(3, unreachable());
    (void)s.tell(4, unreachable());
    const auto c = s.tell(5, unreachable());
    REQUIRE(c);
    CHECK((!c->primary || *c->primary == x));
  }
}

TEST_CASE("one sentinel with a wrong epoch does not take away what most name") {
  Search s(3);
  s.settle(y, 5);
  // As of the first doubt the client may be careful once; after `insistence` it must be over.
  const auto all = [] { return std::vector{says(1, x, 99), says(2, y, 5), says(3, y, 5)}; };
  const auto start = s.now;
  bool believed = false;
  int left_later = 0;
  while (s.now < start + 120s) {
    s.ask();
    std::optional<Conclusion> end;
    auto reports = all();
    for (int n = 1; n <= 3 && !end; ++n)
      end = s.tell(n, reports[static_cast<std::size_t>(n) - 1]);
    REQUIRE(end);
    if (end->primary) {
      CHECK(end->primary == y);
      believed = true;
      s.search.settled(true, s.now);
    } else if (end->leave) {
      left_later += believed ? 1 : 0;
      s.search.settled(false, s.now);
    }
  }
  CHECK(believed);
  CHECK(left_later == 0);
}

// --- rule 4 and 5 ---------------------------------------------------------------------------

TEST_CASE("a server of an older epoch is not believed, in use or not") {
  Search s(3);
  s.settle(y, 6);
  SECTION("by one, while the others are down") {
    const Conclusion c = s.round_on_trigger({says(1, x, 5), unreachable(), unreachable()});
    CHECK_FALSE(c.primary);
    CHECK_FALSE(c.leave);  // nobody who counts says that Y is not the primary any more
    CHECK(has(c.error, "epoch 6 was heard of before"));
  }
  SECTION("by most, the first time: Y is left, X gets nothing yet") {
    const Conclusion c = s.round_on_trigger({says(1, x, 5), says(2, x, 5), says(3, y, 6)});
    CHECK(c.primary == std::nullopt);
    CHECK(has(c.error, "do not agree"));
  }
  SECTION("by all of those that answer, while one is silent") {
    const Conclusion c = s.round_on_trigger({says(1, x, 0), says(2, x, 0), unreachable()});
    CHECK_FALSE(c.primary);
    CHECK(c.leave);
  }
  SECTION("by every sentinel that there is: somebody told them") {
    CHECK(s.round_on_trigger({says(1, x, 0), says(2, x, 0), says(3, x, 0)}).primary == x);
  }
}

TEST_CASE("sentinels that were set up anew are believed when they insist") {
  Search s(3);
  s.settle(y, 6);
  s.search.settled(false, s.now);
  std::optional<Endpoint> primary;
  const auto start = s.now;
  while (!primary && s.now < start + 60s) {
    Conclusion c = s.round({says(1, x, 1), says(2, x, 1), unreachable()});
    primary = c.primary;
    if (primary) CHECK(c.config_epoch == 1);
  }
  CHECK(primary == x);
  CHECK(s.now - start >= 10s);
  CHECK(s.now - start < 11s);
  // From now on that is the epoch that counts.
  s.search.settled(true, s.now);
  CHECK(s.round_on_trigger({says(1, x, 1), says(2, x, 1), says(3, x, 1)}).primary == x);
  CHECK(s.round_on_trigger({says(1, y, 2), says(2, y, 2), says(3, y, 2)}).primary == y);
}

TEST_CASE("insisting is interrupted") {
  Search s(3);
  s.settle(y, 6);
  s.search.settled(false, s.now);
  const auto insist = [&] {
    return s.round({says(1, x, 1), says(2, x, 1), unreachable()}).primary.has_value();
  };
  const auto insist_for = [&](std::chrono::milliseconds time) {
    const auto start = s.now;
    bool believed = false;
    while (s.now - start < time && !believed)
      believed = insist();
    return believed;
  };
  REQUIRE_FALSE(insist_for(9s));
  SECTION("by another server") {
    (void)s.round({says(1, z, 1), says(2, z, 1), unreachable()});
    CHECK_FALSE(insist_for(9s));
    CHECK(insist_for(3s));
  }
  SECTION("by the one believed: it is again") {
    CHECK(s.round({says(1, y, 6), says(2, y, 6), says(3, y, 6)}).primary == y);
    CHECK_FALSE(insist_for(9s));
  }
  SECTION("by most being out of reach") {
    (void)s.round({says(1, x, 1), unreachable(), unreachable()});
    CHECK_FALSE(insist_for(9s));
    CHECK(insist_for(3s));
  }
  SECTION("by disagreement") {
    (void)s.round({says(1, x, 1), says(2, z, 1), unreachable()});
    CHECK_FALSE(insist_for(9s));
    CHECK(insist_for(3s));
  }
}

TEST_CASE("insisting is interrupted by silence") {
  Search s(3);
  s.settle(y, 6);
  s.search.settled(false, s.now);
  REQUIRE_FALSE(s.round({says(1, x, 1), says(2, x, 1), unreachable()}).primary);
  const auto start = s.now;
  while (s.now - start < 12s)
    (void)s.round({unreachable(), unreachable(), unreachable()});
  CHECK_FALSE(s.round({says(1, x, 1), says(2, x, 1), unreachable()}).primary);
}

// --- nobody can be believed -----------------------------------------------------------------

TEST_CASE("no sentinel can be reached: each with its reason") {
  Search s(3);
  const Conclusion c = s.round(
      {unreachable("connection refused"), unreachable("no answer within 500 ms"),
       SentinelReport::failure(Error(ErrorCode::tls_failed, Outcome::not_sent, "no such CA"))});
  REQUIRE(c.error);
  CHECK(c.error->code() == ErrorCode::sentinels_unreachable);
  CHECK(c.error->outcome() == Outcome::not_sent);
  CHECK_FALSE(c.hopeless);
  CHECK_FALSE(c.leave);  // the primary may be well
  for (const char* part :
       {"[10.0.0.1:26379] connection refused", "[10.0.0.2:26379] no answer within 500 ms",
        "[10.0.0.3:26379] no such CA"})
    CHECK(has(c.error, part));
}

TEST_CASE("a name that no sentinel knows") {
  Search s(3);
  SECTION("all say so: of no use to go on") {
    const Conclusion c = s.round({unknown_name(1), unknown_name(2), unknown_name(3)});
    CHECK(c.error->code() == ErrorCode::unknown_primary);
    CHECK(has(c.error, "'mymaster'"));
    CHECK(c.hopeless);
  }
  SECTION("some say so, others are silent: they may know") {
    const Conclusion c = s.round({unknown_name(1), unreachable("cut"), unknown_name(3)});
    CHECK(c.error->code() == ErrorCode::unknown_primary);
    CHECK(has(c.error, "cut"));
    CHECK_FALSE(c.hopeless);
  }
  SECTION("those that know it decide") {
    CHECK(s.round({unknown_name(1), says(2, x, 3), says(3, x, 3)}).primary == x);
  }
  SECTION("one that knows it is enough where the others do not") {
    std::optional<Endpoint> primary;
    for (int i = 0; i < 3 && !primary; ++i)
      primary = s.round({unknown_name(1), says(2, x, 3), unknown_name(3)}).primary;
    CHECK(primary == x);
  }
}

TEST_CASE("credentials that all sentinels refuse") {
  Search s(2);
  SECTION("all: hopeless, and it says what is wrong") {
    const Conclusion c = s.round({refused(), refused()});
    CHECK(c.error->code() == ErrorCode::auth_failed);
    CHECK(c.hopeless);
    CHECK(has(c.error, "sentinel"));
    CHECK(has(c.error, "WRONGPASS"));
  }
  SECTION("one: the other may come") {
    const Conclusion c = s.round({refused(), unreachable()});
    CHECK(c.error->code() == ErrorCode::sentinels_unreachable);
    CHECK_FALSE(c.hopeless);
    CHECK(has(c.error, "WRONGPASS"));
  }
  SECTION("one refuses, the other answers") {
    std::optional<Endpoint> primary;
    for (int i = 0; i < 3 && !primary; ++i) {
      const Conclusion c = s.round({refused(), says(2, x, 1, 2)});
      CHECK_FALSE(c.hopeless);
      primary = c.primary;
    }
    CHECK(primary == x);
  }
}
