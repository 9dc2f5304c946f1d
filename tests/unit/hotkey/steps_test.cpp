#include "hotkey/steps.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <set>

#include <slotwise/slot.hpp>

#include "clusters.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::hotkey::test;
using State = CopyPlace::State;

namespace {

using Slots = std::vector<std::uint16_t>;
constexpr std::int64_t start = 1'700'000'000'000;

/// What the scripts do to the manifest, with a clock.
struct World {
  Manifest manifest{.number = 1, .per_primary = 1, .copies = {}, .changed_at = start};
  TopologyInfo topology = three();
  std::int64_t now = start + grace.count();  // a split that was announced

  Step next() const { return next_step("hot", manifest, topology, now); }
  void apply(const Step& step) {
    manifest.copies = step.copies;
    ++manifest.number;
    manifest.changed_at = now;
  }
  Slots in(State state) const {
    Slots out;
    for (const CopyPlace& copy : manifest.copies) {
      if (copy.state == state) out.push_back(copy.slot);
    }
    return out;
  }
  /// To the end, as one keeper after the other would do it; the kinds that were seen.
  std::vector<Step::Kind> run() {
    std::vector<Step::Kind> kinds;
    for (int i = 0; i < 50; ++i) {
      const Step step = next();
      kinds.push_back(step.kind);
      if (step.kind == Step::Kind::none || step.kind == Step::Kind::finish) return kinds;
      if (step.kind == Step::Kind::wait) {
        now += 100;
        kinds.pop_back();
        i -= now < start + 1'000'000 ? 1 : 0;
      } else {
        apply(step);
      }
    }
    FAIL("it never ends");
    return kinds;
  }
};

using Do = Step::Kind;
using Kinds = std::vector<Do>;

}  // namespace

TEST_CASE("hotkey: a split is announced, begun, filled") {
  World world;
  world.now = start;
  CHECK(unfinished(world.manifest));
  CHECK(world.next().kind == Do::wait);
  world.now = start + grace.count() - 1;
  CHECK(world.next().kind == Do::wait);
  world.now = start + grace.count();
  Step step = world.next();
  CHECK(step.kind == Do::begin);
  CHECK(step.slots.size() == 3);
  CHECK(spread(world.topology, step.slots) == std::vector{1, 1, 1, 0});
  CHECK(std::all_of(step.copies.begin(), step.copies.end(),
                    [](const CopyPlace& c) { return c.state == State::joining; }));
  world.apply(step);

  step = world.next();  // at once, all know
  CHECK(step.kind == Do::fill);
  CHECK(step.slots.size() == 3);
  CHECK(std::all_of(step.copies.begin(), step.copies.end(),
                    [](const CopyPlace& c) { return c.state == State::ready; }));
  world.apply(step);
  CHECK(world.next().kind == Do::none);
  CHECK_FALSE(unfinished(world.manifest));
}

TEST_CASE("hotkey: new copies first, then the switch, then the old ones") {
  World world;
  world.run();
  const Slots before = world.in(State::ready);
  give(world.topology, 1, before[0]);

  Step step = world.next();
  REQUIRE(step.kind == Do::begin);
  REQUIRE(step.slots.size() == 1);
  CHECK(step.copies.size() == 4);
  world.apply(step);
  CHECK(world.in(State::ready) == before);  // all are still read

  step = world.next();
  REQUIRE(step.kind == Do::fill);
  CHECK(step.slots == world.in(State::joining));
  world.apply(step);
  CHECK(world.in(State::ready).size() == 3);
  REQUIRE(world.in(State::leaving).size() == 1);
  CHECK(spread(world.topology, world.in(State::ready)) == std::vector{1, 1, 1, 0});
  CHECK(unfinished(world.manifest));

  CHECK(world.next().kind == Do::wait);
  world.now += grace.count();
  const Slots leaving = world.in(State::leaving);
  step = world.next();
  REQUIRE(step.kind == Do::remove);
  CHECK(step.slots == leaving);
  CHECK(step.copies.size() == 3);
  world.apply(step);
  CHECK(world.next().kind == Do::none);
}

TEST_CASE("hotkey: what a keeper left is gone on with") {
  World world;
  world.apply(world.next());  // begun, and the keeper dies
  World other = world;
  other.now += 60'000;
  CHECK(other.next().kind == Do::fill);  // it is not begun again

  // A joining one of a keeper that died, and by now another primary has none.
  world.topology.nodes.push_back(primary(4, {}));
  give(world.topology, 3, 0, 2000);
  const std::size_t joining = world.in(State::joining).size();
  Step step = world.next();
  REQUIRE(step.kind == Do::begin);
  world.apply(step);
  CHECK(world.in(State::joining).size() >= joining);
  step = world.next();
  REQUIRE(step.kind == Do::fill);
  world.apply(step);
  CHECK(spread(world.topology, world.in(State::ready)) == std::vector{1, 1, 1, 1, 0});
}

TEST_CASE("hotkey: a joining copy that is one too many leaves unread") {
  World world;
  world.run();
  const Slots ready = world.in(State::ready);
  const std::uint16_t extra = ready[0] == 0 ? 1 : 0;  // on the first primary
  world.manifest.copies.push_back({.slot = extra, .state = State::joining});
  // Which of the two stays is a matter of the key's order; the end is the same.
  const Kinds kinds = world.run();
  CHECK(kinds == Kinds{Do::fill, Do::remove, Do::none});
  CHECK(spread(world.topology, world.in(State::ready)) == std::vector{1, 1, 1, 0});
}

TEST_CASE("hotkey: leaving copies inside and past the grace") {
  World world;
  world.run();
  world.manifest.copies.push_back({.slot = 3, .state = State::leaving});
  world.manifest.changed_at = world.now;
  CHECK(world.next().kind == Do::wait);
  world.now += grace.count() - 1;
  CHECK(world.next().kind == Do::wait);
  world.now += 1;
  CHECK(world.next().kind == Do::remove);
  CHECK(world.next().slots == Slots{3});
}

TEST_CASE("hotkey: a leaving copy is not taken back") {
  World world;
  world.topology = cluster({{{0, 0}}, {{1, 16383}}});
  world.run();
  REQUIRE(world.in(State::ready).front() == 0);
  world.manifest.copies.front().state = State::leaving;
  world.manifest.changed_at = world.now;
  // The primary's only slot: it has to be gone before it may come again.
  CHECK(world.next().kind == Do::wait);
  CHECK(world.run() == Kinds{Do::remove, Do::begin, Do::fill, Do::none});
  CHECK(world.in(State::ready).size() == 2);

  World wide;
  wide.run();
  const std::uint16_t gone = wide.in(State::ready).front();
  wide.manifest.copies.front().state = State::leaving;
  const Step step = wide.next();
  REQUIRE(step.kind == Do::begin);
  CHECK(step.slots.size() == 1);
  CHECK(step.slots[0] != gone);
}

TEST_CASE("hotkey: the home slot's clock went back") {
  World world;
  world.run();
  world.manifest.copies.push_back({.slot = 3, .state = State::leaving});
  world.manifest.changed_at = world.now + 3'600'000;
  const Step step = world.next();
  REQUIRE(step.kind == Do::fill);  // the same copies, so that the time is that of the new clock
  CHECK(step.slots.empty());
  CHECK(step.copies == world.manifest.copies);
  world.apply(step);
  CHECK(world.next().kind == Do::wait);
  world.now += grace.count();
  CHECK(world.next().kind == Do::remove);
}

TEST_CASE("hotkey: a failed primary holds nobody up") {
  World world;
  world.manifest.per_primary = 2;
  world.apply(world.next());
  world.topology.nodes[2].healthy = false;
  Step step = world.next();  // its two would never be filled
  REQUIRE(step.kind == Do::fill);
  CHECK(spread(world.topology, step.slots) == std::vector{2, 2, 0, 0});
  world.apply(step);
  CHECK(spread(world.topology, world.in(State::leaving)) == std::vector{0, 0, 2, 0});
  CHECK(world.run() == Kinds{Do::remove, Do::none});
  world.topology.nodes[2].healthy = true;
  CHECK(world.run() == Kinds{Do::begin, Do::fill, Do::none});
  world.topology.nodes[2].healthy = false;  // ready ones stay
  CHECK(world.next().kind == Do::none);
}

TEST_CASE("hotkey: another number per primary") {
  World world;
  world.run();
  world.manifest.per_primary = 3;
  CHECK(world.run() == Kinds{Do::begin, Do::fill, Do::none});
  CHECK(world.in(State::ready).size() == 9);
  world.manifest.per_primary = 1;
  CHECK(world.run() == Kinds{Do::fill, Do::remove, Do::none});
  CHECK(world.in(State::ready).size() == 3);
}

TEST_CASE("hotkey: undo, from wherever it is begun") {
  World split;
  split.run();
  World half;
  half.apply(half.next());
  World moving = split;
  give(moving.topology, 1, moving.in(State::ready)[0]);
  moving.apply(moving.next());
  World leaving = moving;
  leaving.apply(leaving.next());
  World dead = split;
  dead.topology.nodes[0].healthy = false;
  World unknown = split;
  unknown.topology = {};
  for (World world : {split, half, moving, leaving, dead, unknown}) {
    world.manifest.per_primary = 0;
    CHECK(unfinished(world.manifest));
    const Step step = world.next();
    REQUIRE(step.kind == Do::fill);
    CHECK(step.slots.empty());  // none is filled any more
    CHECK(step.copies.size() == world.manifest.copies.size());
    world.apply(step);
    CHECK(world.in(State::leaving).size() == world.manifest.copies.size());
    CHECK(world.next().kind == Do::wait);
    CHECK(world.run() == Kinds{Do::remove, Do::finish});
    CHECK(world.manifest.copies.empty());
  }
  World announced;
  announced.manifest.per_primary = 0;
  CHECK(announced.next().kind == Do::finish);

  // Split again before the end of it.
  split.manifest.per_primary = 0;
  split.apply(split.next());
  split.manifest.per_primary = 1;
  CHECK(split.run() == Kinds{Do::begin, Do::fill, Do::remove, Do::none});
  CHECK(spread(split.topology, split.in(State::ready)) == std::vector{1, 1, 1, 0});
}

TEST_CASE("hotkey: nothing is done to a key that was joined") {
  World world;
  world.manifest.joined = true;
  CHECK(world.next().kind == Do::none);
  CHECK_FALSE(unfinished(world.manifest));
}

TEST_CASE(
    "hotkey: whatever happens while it is kept, it comes to an even end and always has copies") {
  std::mt19937 random(20);
  for (int round = 0; round < 60; ++round) {
    World world;
    world.manifest.per_primary = 1 + static_cast<int>(random() % 3);
    world.run();
    for (int i = 0; i < 40; ++i) {
      switch (random() % 5) {
        case 0:
          give(world.topology, random() % world.topology.nodes.size(),
               static_cast<int>(random() % slot_count));
          break;
        case 1: {
          const auto& copies = world.manifest.copies;
          give(world.topology, random() % world.topology.nodes.size(),
               copies[random() % copies.size()].slot);
          break;
        }
        case 2:
          if (world.topology.nodes.size() < 6) {
            world.topology.nodes.push_back(
                primary(static_cast<int>(world.topology.nodes.size()) + 1, {}));
          }
          break;
        default:
          world.now += random() % 1500;
          const Step step = world.next();
          if (step.kind != Do::wait && step.kind != Do::none) world.apply(step);
      }
      CHECK_FALSE(world.in(State::ready).empty());
      std::set<std::uint16_t> slots;
      for (const CopyPlace& copy : world.manifest.copies)
        CHECK(slots.insert(copy.slot).second);
    }
    world.run();
    CHECK(evenly_placed(world.in(State::ready), world.manifest.per_primary, world.topology));
    CHECK(world.in(State::ready).size() == world.manifest.copies.size());
  }
}
