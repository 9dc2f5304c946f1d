// Who the sentinels are: rule 7.
#include "topology/primary_search.hpp"

#include "primary_search_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

TEST_CASE("sentinels that others name are learned, and asked in the same round") {
  Search s(1);
  s.ask();
  CHECK_FALSE(s.tell(1, says(1, x, 1)));
  REQUIRE(s.knows(2));
  REQUIRE(s.knows(3));
  CHECK(s.asked() == 2);
  CHECK_FALSE(s.find(at(2))->seed);
  CHECK(s.find(at(2))->id == id_of(2));
  SECTION("one sentinel that only was known does not speak for all") {
    CHECK_FALSE(s.tell(2, says(2, y, 2)));
    const auto end = s.tell(3, says(3, y, 2));
    REQUIRE(end);
    CHECK(end->primary == y);
  }
  SECTION("they are asked in the next round as well") {
    REQUIRE(s.tell(2, says(2, x, 1)));
    (void)s.tell(3, says(3, x, 1));
    s.ask();
    CHECK(s.asked() == 3);
  }
}

TEST_CASE("whoever answered first comes first") {
  Search s(3);
  s.ask();
  (void)s.tell(3, says(3, x, 1));
  (void)s.tell(1, says(1, x, 1));
  CHECK(s.search.sentinels().front().endpoint == at(3));
}

TEST_CASE("one sentinel under two addresses has one vote") {
  // Seeds by name, the others' words are addresses.
  const std::vector<Endpoint> names{{"s1.test", 26379}, {"s2.test", 26379}, {"s3.test", 26379}};
  Search s(names, Search::with_name());
  s.ask();
  SECTION("its learned address is dropped once the seed tells its id") {
    CHECK_FALSE(s.tell(names[0], says(1, x, 5)));
    (void)s.tell(names[1], says(2, x, 5));
    CHECK(s.find(at(2)) == nullptr);
    (void)s.lose_the_rest();
    s.ask();
    for (int n = 3; n >= 1; --n)
      (void)s.tell(names[static_cast<std::size_t>(n) - 1], says(n, x, 5));
    CHECK(s.search.sentinels().size() == 3);
  }
  SECTION("both answer: an isolated sentinel must not look like two of four") {
    CHECK_FALSE(s.tell(names[1], says(2, y, 4)));  // names at(1), at(3)
    REQUIRE(s.knows(1));
    CHECK_FALSE(s.tell(1, says(1, x, 5)));
    CHECK_FALSE(s.tell(names[0], says(1, x, 5)));
    auto end = s.tell(names[2], says(3, y, 4));
    if (!end) end = s.lose_the_rest();
    REQUIRE(end);
    CHECK_FALSE(end->primary);
  }
  SECTION("a seed whose name is dead is reached by the address that others tell") {
    CHECK_FALSE(s.tell(names[1], unreachable()));
    CHECK_FALSE(s.tell(names[2], unreachable()));
    CHECK_FALSE(s.tell(names[0], says(1, x, 5)));
    REQUIRE(s.knows(2));
    REQUIRE(s.knows(3));
    std::optional<Conclusion> end = s.tell(2, says(2, x, 5));
    if (!end) end = s.tell(3, says(3, x, 5));
    REQUIRE(end);
    CHECK(end->primary == x);
  }
}

TEST_CASE("a seed whose id was never heard does not count twice") {
  const std::vector<Endpoint> names{{"s1.test", 26379}, {"s2.test", 26379}, {"s3.test", 26379}};
  Search s(names, Search::with_name());
  s.ask();
  CHECK_FALSE(s.tell(names[0], says(1, x, 5)));
  // The third is cut off, by its name and by the address that the others tell: two of three.
  REQUIRE(s.tell(names[1], says(2, x, 5)));
}

TEST_CASE("two names of one sentinel are one vote") {
  const std::vector<Endpoint> names{{"a.test", 1}, {"b.test", 1}, {"c.test", 1}, {"d.test", 1}};
  Search s(names, Search::with_name());
  s.ask();
  // a and b are the same isolated sentinel: it must not look like two of four.
  CHECK_FALSE(s.tell(names[0], says(1, x, 5)));
  CHECK_FALSE(s.tell(names[1], says(1, x, 5)));
  CHECK_FALSE(s.tell(names[2], says(2, y, 4)));
  auto c = s.tell(names[3], says(3, y, 4));
  if (!c) c = s.lose_the_rest();
  REQUIRE(c);
  CHECK_FALSE(c->primary);
  CHECK(s.find(names[0]) != nullptr);
  CHECK(s.find(names[1]) != nullptr);
}

TEST_CASE("a sentinel that moved is asked at its new address") {
  Search s(1);
  (void)s.round({says(1, x, 1)});
  s.ask();
  (void)s.tell(1, says(1, x, 1));
  (void)s.tell(2, says(2, x, 1));
  (void)s.tell(3, unreachable());
  const Endpoint moved{"10.0.9.9", 26379};
  s.ask();
  auto report = says(1, x, 1);
  report.others[1].endpoint = moved;
  (void)s.tell(1, report);
  REQUIRE(s.find(moved) != nullptr);
  CHECK(s.find(moved)->asked);
  CHECK_FALSE(s.knows(3));
}

TEST_CASE("one that answers is not moved by what others say") {
  Search s(1);
  (void)s.round({says(1, x, 1)});
  s.ask();
  (void)s.tell(2, says(2, x, 1));
  (void)s.tell(3, says(3, x, 1));
  s.ask();
  auto report = says(1, x, 1);
  report.others[1].endpoint = {"10.0.9.9", 26379};
  (void)s.tell(1, report);
  CHECK(s.knows(3));
}

TEST_CASE("a seed that moved to another address is asked there") {
  Search s(3);
  s.settle(x, 1);
  const Endpoint moved{"10.0.9.9", 26379};
  for (int i = 0; i < 3; ++i) {
    s.search.trigger();
    s.ask();
    (void)s.tell(3, unreachable());
    for (int n = 1; n <= 2; ++n) {
      auto report = says(n, x, 1);
      for (auto& other : report.others) {
        if (other.id == id_of(3)) other.endpoint = moved;
      }
      (void)s.tell(n, report);
    }
    if (s.find(moved) != nullptr && s.find(moved)->asked) (void)s.tell(moved, says(3, x, 1));
    if (s.search.round_open()) (void)s.lose_the_rest();
  }
  CHECK(s.find(moved) != nullptr);
  CHECK(s.knows(3));  // seeds are kept
}

TEST_CASE("the gone are dropped, seeds never") {
  Search s(2);
  (void)s.round({says(1, x, 1, 3), says(2, x, 1, 3)});
  REQUIRE(s.knows(3));
  const auto lose = [&](int total) {
    s.ask();
    (void)s.tell(3, unreachable());
    (void)s.tell(2, unreachable());
    (void)s.tell(1, says(1, x, 1, total));
  };
  for (int i = 0; i < 10; ++i)
    lose(3);
  CHECK(s.knows(3));  // it is still named
  for (int i = 0; i < 3 && s.knows(3); ++i)
    lose(2);
  CHECK_FALSE(s.knows(3));
  CHECK(s.knows(2));
}

TEST_CASE("a cut of the client's own network makes it forget nobody") {
  Search s(1);
  (void)s.round({says(1, x, 1)});
  for (int i = 0; i < 5; ++i) {
    s.ask();
    for (int n = 1; n <= 3; ++n) {
      if (s.knows(n)) (void)s.tell(n, unreachable());
    }
  }
  CHECK(s.knows(2));
  CHECK(s.knows(3));
}

TEST_CASE("who is not known any more is not heard") {
  Search s(1);
  (void)s.round({says(1, x, 1)});
  CHECK_FALSE(s.search.reported(9999, says(2, y, 99), s.now));
  s.ask();
  CHECK_FALSE(s.search.reported(9999, says(2, y, 99), s.now));
  CHECK(s.search.round_open());
}
