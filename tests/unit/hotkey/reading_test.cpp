#include "hotkey/reading.hpp"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace std::chrono_literals;
using Move = Reading::Move;
using Do = Reading::Move::Kind;
using State = CopyPlace::State;
using Value = std::optional<std::string>;

namespace {

Error silence() {
  return Error(ErrorCode::timeout, Outcome::unknown, "silence");
}

Copy copy_says(Copy::Status status, std::uint64_t version, Value value = std::nullopt) {
  Copy copy;
  copy.status = status;
  copy.version = version;
  copy.value = std::move(value);
  return copy;
}

Home home_says(std::uint64_t version, Value value, bool lost = false) {
  Home home;
  home.version = version;
  home.value = std::move(value);
  home.lost = lost;
  return home;
}

/// One read of a key with `n` ready copies, a joining one before them and a leaving one behind.
struct Scene {
  explicit Scene(std::size_t n = 3) {
    Manifest m;
    m.number = 1;
    m.copies.push_back({1, State::joining});
    for (std::size_t i = 0; i < n; ++i)
      m.copies.push_back({static_cast<std::uint16_t>(10 + i), State::ready});
    m.copies.push_back({2, State::leaving});
    state.learn(std::move(m), now);
  }
  Reading reading() { return Reading(state, state.copies(), {500ms, 5000ms}, now); }
  Copies::Seen& seen(std::size_t copy) { return *state.copies()->seen[copy]; }

  KeyState state{"k"};
  Clock::time_point now = Clock::now();
};

VersionedValue taken(Reading& reading, const Move& move) {
  REQUIRE(move.kind == Do::done);
  return reading.take().value();
}

}  // namespace

TEST_CASE("hotkey: a read takes a ready copy and cuts its version off") {
  Scene scene;
  Reading reading = scene.reading();
  Move move = reading.begin(scene.now);
  REQUIRE(move.kind == Do::get);
  CHECK(move.limit == 500ms);
  CHECK(move.copy >= 1);
  CHECK(move.copy <= 3);
  CHECK(scene.seen(move.copy).in_flight == 1);
  move = reading.got(Value("17:a:b"), scene.now);
  CHECK(scene.seen(1).in_flight + scene.seen(2).in_flight + scene.seen(3).in_flight == 0);
  const VersionedValue got = taken(reading, move);
  CHECK(got.value == "a:b");
  CHECK(got.version == 17);
  CHECK(scene.state.floor() == 17);
  CHECK_FALSE(reading.repair_wanted());
}

TEST_CASE("hotkey: a read that is given up no longer counts as in flight") {
  Scene scene(1);
  {
    Reading reading = scene.reading();
    reading.begin(scene.now);
    CHECK(scene.seen(1).in_flight == 1);
  }
  CHECK(scene.seen(1).in_flight == 0);
}

TEST_CASE("hotkey: reads go to all ready copies, and rather to those of little load") {
  Scene scene(4);
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 4000; ++i)
    ++counts[scene.reading().begin(scene.now).copy];
  CHECK(counts.size() == 4);
  for (const auto& [copy, count] : counts) {
    CHECK(count > 800);
    CHECK(count < 1200);
  }
  // It is taken only if it meets itself, which does not happen.
  scene.seen(2).in_flight = 10;
  for (int i = 0; i < 200; ++i)
    CHECK(scene.reading().begin(scene.now).copy != 2);
}

TEST_CASE("hotkey: a copy that fails is passed over for a second, then one read tries it") {
  Scene scene;
  Reading first = scene.reading();
  const std::size_t bad = first.begin(scene.now).copy;
  const Move next = first.got(silence(), scene.now);
  REQUIRE(next.kind == Do::get);
  CHECK(next.copy != bad);
  CHECK(taken(first, first.got(Value("1:v"), scene.now)).value == "v");
  CHECK_FALSE(first.repair_wanted());  // a dead primary is not repaired by it

  for (int i = 0; i < 100; ++i)
    CHECK(scene.reading().begin(scene.now + 999ms).copy != bad);
  int tries = 0;
  for (int i = 0; i < 100; ++i)
    tries += scene.reading().begin(scene.now + 1001ms).copy == bad ? 1 : 0;
  CHECK(tries == 1);

  // It is well again.
  for (;;) {
    Reading reading = scene.reading();
    if (reading.begin(scene.now + 3s).copy != bad) continue;
    reading.got(Value("1:v"), scene.now + 3s);
    break;
  }
  CHECK(scene.seen(bad).passed_over_until == 0);
}

TEST_CASE("hotkey: if all copies are in trouble they are tried all the same") {
  Scene scene;
  for (std::size_t copy = 1; copy <= 3; ++copy)
    scene.seen(copy).passed_over_until = (scene.now + 1s).time_since_epoch().count();
  CHECK(scene.reading().begin(scene.now).kind == Do::get);
}

TEST_CASE("hotkey: what is below the floor is not given, whoever has raised it meanwhile") {
  Scene scene;
  Reading reading = scene.reading();
  const Move move = reading.begin(scene.now);
  scene.state.raise_floor(20);  // another read of this client
  Move next = reading.got(Value("19:old"), scene.now);
  REQUIRE(next.kind == Do::get);
  CHECK(next.copy != move.copy);
  next = reading.got(Value("20:new"), scene.now);
  CHECK(taken(reading, next).value == "new");
  // A write is on its way: no harm done.
  CHECK_FALSE(reading.repair_wanted());
  CHECK(scene.seen(move.copy).passed_over_until == 0);
}

TEST_CASE("hotkey: a copy that has missed a write for a while is repaired") {
  Scene scene;
  scene.state.heard(20, scene.now + 1h);
  scene.state.heard(20, scene.now + 2h);
  REQUIRE(scene.state.settled() == 20);
  Reading reading = scene.reading();
  const Move move = reading.begin(scene.now);
  Move next = reading.got(Value("19:old"), scene.now);
  REQUIRE(next.kind == Do::get);
  CHECK(reading.repair_wanted());
  CHECK(scene.seen(move.copy).passed_over_until != 0);

  SECTION("its value is given if there is no better one") {
    CHECK(reading.got(silence(), scene.now).kind == Do::get);
    CHECK(reading.got(silence(), scene.now).kind == Do::home);
    next = reading.home_said(silence(), scene.now);
    CHECK(taken(reading, next).value == "old");
  }
  SECTION("but not below the floor") {
    scene.state.raise_floor(20);
    CHECK(reading.got(silence(), scene.now).kind == Do::get);
    CHECK(reading.got(silence(), scene.now).kind == Do::home);
    REQUIRE(reading.home_said(silence(), scene.now).kind == Do::done);
    CHECK(reading.take().error().code() == ErrorCode::timeout);
  }
}

TEST_CASE("hotkey: a value that is not there may be so, or be lost") {
  Scene scene;
  Reading reading = scene.reading();
  const Move move = reading.begin(scene.now);
  Move next = reading.got(Value(), scene.now);
  REQUIRE(next.kind == Do::look);
  CHECK(next.copy == move.copy);
  SECTION("deleted") {
    next = reading.looked(copy_says(Copy::Status::deleted, 5), scene.now);
    const VersionedValue got = taken(reading, next);
    CHECK_FALSE(got.value);
    CHECK(got.version == 5);
    CHECK_FALSE(reading.repair_wanted());
  }
  SECTION("expired") {
    next = reading.looked(copy_says(Copy::Status::expired, 5), scene.now);
    CHECK_FALSE(taken(reading, next).value);
  }
  SECTION("deleted, but there was a later write") {
    scene.state.heard(6, scene.now + 1h);
    next = reading.looked(copy_says(Copy::Status::deleted, 5), scene.now);
    REQUIRE(next.kind == Do::get);
    next = reading.got(Value("6:v"), scene.now);
    CHECK(taken(reading, next).value == "v");
  }
  SECTION("it came in between") {
    next = reading.looked(copy_says(Copy::Status::value, 5, "v"), scene.now);
    CHECK(taken(reading, next).value == "v");
  }
  SECTION("lost") {
    next = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    REQUIRE(next.kind == Do::get);
    CHECK(next.copy != move.copy);
    CHECK(reading.repair_wanted());
  }
  SECTION("removed") {
    next = reading.looked(copy_says(Copy::Status::gone, 0), scene.now);
    REQUIRE(next.kind == Do::get);
    CHECK_FALSE(reading.repair_wanted());
  }
}

TEST_CASE("hotkey: a copy without a version is repaired") {
  Scene scene(1);
  Reading reading = scene.reading();
  reading.begin(scene.now);
  CHECK(reading.got(Value("rubbish"), scene.now).kind == Do::home);
  CHECK(reading.repair_wanted());
}

TEST_CASE("hotkey: every copy is asked once, then the original with all the time that is left") {
  Scene scene;
  Reading reading = scene.reading();
  std::set<std::size_t> asked;
  Move move = reading.begin(scene.now);
  while (move.kind == Do::get) {
    CHECK(asked.insert(move.copy).second);
    scene.now += 500ms;
    move = reading.got(silence(), scene.now);
  }
  CHECK(asked == std::set<std::size_t>{1, 2, 3});
  REQUIRE(move.kind == Do::home);
  CHECK(move.limit == 3500ms);
  move = reading.home_said(home_says(9, "v"), scene.now);
  const VersionedValue got = taken(reading, move);
  CHECK(got.value == "v");
  CHECK(got.version == 9);
  CHECK(scene.state.floor() == 9);
}

TEST_CASE("hotkey: copies leave the original a third of the time") {
  Scene scene(16);
  Reading reading = scene.reading();
  Move move = reading.begin(scene.now);
  int asked = 0;
  while (move.kind == Do::get) {
    ++asked;
    scene.now += 500ms;
    move = reading.got(silence(), scene.now);
  }
  CHECK(asked == 7);
  REQUIRE(move.kind == Do::home);
  // It says no at once: the copies that are left.
  move = reading.home_said(Error(ErrorCode::server, Outcome::rejected, "no"), scene.now);
  REQUIRE(move.kind == Do::get);
  CHECK(taken(reading, reading.got(Value("1:v"), scene.now)).value == "v");
}

TEST_CASE("hotkey: without ready copies the original is asked") {
  Scene scene(0);
  Reading reading = scene.reading();
  REQUIRE(reading.begin(scene.now).kind == Do::home);
  CHECK_FALSE(taken(reading, reading.home_said(home_says(3, std::nullopt), scene.now)).value);
}

TEST_CASE("hotkey: the original counts by the floor as it was when the read began") {
  Scene scene(0);
  scene.state.raise_floor(5);
  Reading reading = scene.reading();
  REQUIRE(reading.begin(scene.now).kind == Do::home);
  scene.state.raise_floor(6);  // another read at the same time; else nobody would ever be done
  CHECK(taken(reading, reading.home_said(home_says(5, "v"), scene.now)).version == 5);
  CHECK(scene.state.floor() == 6);
}

TEST_CASE("hotkey: a home slot that has forgotten: the newest of all copies") {
  Scene scene(2);
  scene.state.raise_floor(10);
  Reading reading = scene.reading();
  REQUIRE(reading.begin(scene.now).kind == Do::get);
  REQUIRE(reading.got(silence(), scene.now).kind == Do::get);
  REQUIRE(reading.got(silence(), scene.now).kind == Do::home);
  Move move = reading.home_said(home_says(7, "forgetful"), scene.now);
  CHECK(reading.repair_wanted());
  // All of them, joining and leaving ones too.
  for (std::size_t copy = 0; copy < 2; ++copy) {
    REQUIRE(move.kind == Do::look);
    CHECK(move.copy == copy);
    move = reading.looked(copy_says(Copy::Status::value, 8, "older"), scene.now);
  }
  REQUIRE(move.kind == Do::look);
  SECTION("one has it") {
    move = reading.looked(copy_says(Copy::Status::value, 10, "newest"), scene.now);
    CHECK(taken(reading, move).value == "newest");
  }
  SECTION("one is silent, so it may have it") {
    move = reading.looked(silence(), scene.now);
    REQUIRE(move.kind == Do::look);
    move = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    REQUIRE(move.kind == Do::done);
    CHECK(reading.take().error().code() == ErrorCode::timeout);
    CHECK(scene.state.floor() == 10);
  }
  SECTION("nobody has it: the servers have lost it") {
    move = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    move = reading.looked(copy_says(Copy::Status::gone, 0), scene.now);
    const VersionedValue got = taken(reading, move);
    CHECK(got.value == "older");
    CHECK(got.version == 8);
    CHECK(scene.state.floor() == 8);
  }
  SECTION("there is no time left") {
    scene.now += 6s;
    move = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    REQUIRE(move.kind == Do::done);
    CHECK(reading.take().error().code() == ErrorCode::timeout);
  }
}

TEST_CASE("hotkey: an original without its value is no miss while a copy has it") {
  Scene scene(1);
  Reading reading = scene.reading();
  REQUIRE(reading.begin(scene.now).kind == Do::get);
  REQUIRE(reading.got(silence(), scene.now).kind == Do::home);
  Move move = reading.home_said(home_says(7, std::nullopt, true), scene.now);
  REQUIRE(move.kind == Do::look);
  SECTION("a joining one") {
    move = reading.looked(copy_says(Copy::Status::value, 7, "v"), scene.now);
    CHECK(taken(reading, move).value == "v");
  }
  SECTION("nobody") {
    for (int i = 0; i < 3; ++i)
      move = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    CHECK_FALSE(taken(reading, move).value);
  }
  SECTION("perhaps one that is silent") {
    move = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    move = reading.looked(silence(), scene.now);
    move = reading.looked(copy_says(Copy::Status::lost, 0), scene.now);
    REQUIRE(move.kind == Do::done);
    CHECK_FALSE(reading.take());
  }
}

TEST_CASE("hotkey: a key that was joined is read as a plain one") {
  Scene scene(0);
  Reading reading = scene.reading();
  reading.begin(scene.now);
  Home home;
  SECTION("a moment ago") {
    home.status = Home::Status::joined;
  }
  SECTION("long ago, and no copy is left") {
    home.status = Home::Status::absent;
  }
  Move move = reading.home_said(std::move(home), scene.now);
  while (move.kind == Do::look)
    move = reading.looked(copy_says(Copy::Status::gone, 0), scene.now);
  REQUIRE(move.kind == Do::plain);
  CHECK(taken(reading, reading.plain_got(Value("v"))).value == "v");
}

TEST_CASE("hotkey: a manifest that is lost is no miss while a copy has the value") {
  Scene scene(0);
  Reading reading = scene.reading();
  reading.begin(scene.now);
  Home home;
  home.status = Home::Status::absent;
  Move move = reading.home_said(std::move(home), scene.now);
  REQUIRE(move.kind == Do::look);
  move = reading.looked(copy_says(Copy::Status::value, 7, "v"), scene.now);
  CHECK(taken(reading, move).value == "v");
  CHECK(reading.repair_wanted());
}

TEST_CASE("hotkey: a client that was closed ends a read at once") {
  Scene scene;
  Reading reading = scene.reading();
  reading.begin(scene.now);
  const Move move =
      reading.got(Error(ErrorCode::cancelled, Outcome::not_sent, "closed"), scene.now);
  REQUIRE(move.kind == Do::done);
  CHECK(reading.take().error().code() == ErrorCode::cancelled);
}
