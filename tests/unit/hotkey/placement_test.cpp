#include "hotkey/placement.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <set>

#include <slotwise/slot.hpp>

#include "clusters.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::hotkey::test;

namespace {

using Slots = std::vector<std::uint16_t>;

/// As the keeper does it.
Slots carried_out(const Slots& have, const Placement& placement) {
  Slots out;
  for (const std::uint16_t slot : have) {
    if (std::find(placement.remove.begin(), placement.remove.end(), slot) ==
        placement.remove.end()) {
      out.push_back(slot);
    }
  }
  out.insert(out.end(), placement.add.begin(), placement.add.end());
  return out;
}

Slots placed(std::string_view key, const Slots& have, int per_primary,
             const TopologyInfo& topology) {
  const Placement placement = place_copies(key, have, per_primary, topology);
  for (const std::uint16_t slot : placement.remove)
    CHECK(std::find(have.begin(), have.end(), slot) != have.end());
  Slots out = carried_out(have, placement);
  CHECK(std::set<std::uint16_t>(out.begin(), out.end()).size() == out.size());
  CHECK(place_copies(key, out, per_primary, topology).balanced());
  return out;
}

}  // namespace

TEST_CASE("hotkey: a new key gets the same number of copies on each primary") {
  const TopologyInfo topology = three();
  CHECK(spread(topology, placed("hot", {}, 1, topology)) == std::vector{1, 1, 1, 0});
  CHECK(spread(topology, placed("hot", {}, 2, topology)) == std::vector{2, 2, 2, 0});
  CHECK(spread(topology, placed("hot", {}, 16, topology)) == std::vector{16, 16, 16, 0});
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key:" + std::to_string(i);
    CHECK(spread(topology, placed(key, {}, 2, topology)) == std::vector{2, 2, 2, 0});
  }
}

TEST_CASE("hotkey: the same question has the same answer, whatever the order of the nodes") {
  TopologyInfo topology = three();
  const Placement first = place_copies("hot", {}, 3, topology);
  CHECK(first.add == place_copies("hot", {}, 3, topology).add);
  std::reverse(topology.nodes.begin(), topology.nodes.end());
  CHECK(first.add == place_copies("hot", {}, 3, topology).add);
  for (auto& node : topology.nodes)
    node.endpoint = "other:" + node.endpoint;
  CHECK(first.add == place_copies("hot", {}, 3, topology).add);
  // Clients of different versions must agree: a change of these is a change of the protocol.
  CHECK(place_copies("hot:product:1", {}, 1, three()).add == Slots{5041, 8152, 11513});
}

TEST_CASE("hotkey: different keys are in different slots") {
  std::set<std::uint16_t> used;
  for (int i = 0; i < 100; ++i) {
    const auto add = place_copies("key:" + std::to_string(i), {}, 1, three()).add;
    used.insert(add.begin(), add.end());
  }
  CHECK(used.size() > 280);
}

TEST_CASE("hotkey: what is balanced stays as it is, wherever the copies are") {
  const Slots have{17, 6000, 16383};
  CHECK(place_copies("hot", have, 1, three()).balanced());
  CHECK(evenly_placed(have, 1, three()));
  CHECK_FALSE(evenly_placed(have, 2, three()));
  CHECK_FALSE(evenly_placed(Slots{17, 18, 6000}, 1, three()));
}

TEST_CASE("hotkey: a copy's slot that moves leaves one primary with too few, one with too many") {
  TopologyInfo topology = three();
  const Slots have = placed("hot", {}, 1, topology);
  const auto on_first =
      *std::find_if(have.begin(), have.end(), [](std::uint16_t slot) { return slot <= 5460; });
  give(topology, 1, on_first);
  const Placement placement = place_copies("hot", have, 1, topology);
  REQUIRE(placement.add.size() == 1);
  CHECK(owner_of(topology, placement.add[0]) == topology.nodes[0].endpoint);
  REQUIRE(placement.remove.size() == 1);
  CHECK(owner_of(topology, placement.remove[0]) == topology.nodes[1].endpoint);
  CHECK(spread(topology, carried_out(have, placement)) == std::vector{1, 1, 1, 0});
}

TEST_CASE("hotkey: slots that move one by one never cost more copies than moved") {
  for (const int per_primary : {1, 2, 5}) {
    TopologyInfo topology = three();
    std::mt19937 random(static_cast<unsigned>(per_primary));
    Slots have = placed("hot", {}, per_primary, topology);
    for (int i = 0; i < 300; ++i) {
      // Half of the time one with a copy, else any.
      const int slot = random() % 2 == 0 ? have[random() % have.size()]
                                         : static_cast<int>(random() % slot_count);
      give(topology, random() % 3, slot);
      const Placement placement = place_copies("hot", have, per_primary, topology);
      CHECK(placement.add.size() <= 1);
      CHECK(placement.remove.size() <= 1);
      have = placed("hot", have, per_primary, topology);
      CHECK(spread(topology, have) == std::vector{per_primary, per_primary, per_primary, 0});
      CHECK(evenly_placed(have, per_primary, topology));
    }
  }
}

TEST_CASE("hotkey: a new primary gets its copies with its first slots, a removed one's go") {
  TopologyInfo topology = three();
  Slots have = placed("hot", {}, 2, topology);
  const Slots before = have;
  topology.nodes.push_back(primary(4, {}));
  CHECK(place_copies("hot", have, 2, topology).balanced());  // no slots: none
  CHECK(evenly_placed(have, 2, topology));

  give(topology, 3, 100);  // fewer slots than copies: all of them
  CHECK_FALSE(evenly_placed(have, 2, topology));
  Placement placement = place_copies("hot", have, 2, topology);
  CHECK(placement.add.size() == 1);
  have = placed("hot", have, 2, topology);
  CHECK(evenly_placed(have, 2, topology));

  give(topology, 3, 0, 1300);
  give(topology, 3, 6000, 7300);
  have = placed("hot", have, 2, topology);
  CHECK(spread(topology, have) == std::vector{2, 2, 2, 2, 0});

  // Its slots go to the others again, and it is gone.
  give(topology, 0, 0, 1300);
  give(topology, 1, 6000, 7300);
  topology.nodes.pop_back();
  have = placed("hot", have, 2, topology);
  CHECK(spread(topology, have) == std::vector{2, 2, 2, 0});
  CHECK(have.size() == before.size());
}

TEST_CASE("hotkey: nobody's slots are too many, and no slots at all are no reason for anything") {
  const TopologyInfo topology = cluster({{{0, 99}}, {{200, 299}}});
  const Placement placement = place_copies("hot", Slots{5, 150, 16383, 250}, 1, topology);
  CHECK(placement.add.empty());
  CHECK(placement.remove == Slots{150, 16383});
  CHECK_FALSE(evenly_placed(Slots{5, 150, 250}, 1, topology));

  CHECK(place_copies("hot", Slots{5, 150}, 1, TopologyInfo{}).balanced());
  CHECK(place_copies("hot", Slots{5}, 1, cluster({{}, {}})).balanced());
  CHECK_FALSE(evenly_placed(Slots{}, 1, TopologyInfo{}));
}

TEST_CASE("hotkey: a failed primary gets no copies and loses none") {
  TopologyInfo topology = three();
  topology.nodes[1].healthy = false;
  Slots have = placed("hot", {}, 2, topology);
  CHECK(spread(topology, have) == std::vector{2, 0, 2, 0});
  CHECK_FALSE(evenly_placed(have, 2, topology));
  topology.nodes[1].healthy = true;
  have = placed("hot", have, 2, topology);
  CHECK(spread(topology, have) == std::vector{2, 2, 2, 0});
  topology.nodes[1].healthy = false;
  CHECK(place_copies("hot", have, 2, topology).balanced());
  CHECK(evenly_placed(have, 2, topology));
  CHECK(spread(topology, placed("hot", have, 1, topology)) == std::vector{1, 2, 1, 0});
}

TEST_CASE("hotkey: another number per primary moves no copy that may stay") {
  const TopologyInfo topology = three();
  const Slots one = placed("hot", {}, 1, topology);
  const Placement more = place_copies("hot", one, 3, topology);
  CHECK(more.remove.empty());
  CHECK(more.add.size() == 6);
  const Placement fewer = place_copies("hot", carried_out(one, more), 1, topology);
  CHECK(fewer.add.empty());
  CHECK(fewer.remove.size() == 6);
  CHECK(place_copies("hot", one, 0, topology).remove.size() == 3);
}

TEST_CASE("hotkey: slots that are taken get no copy, and a slot has one at most") {
  const TopologyInfo topology = cluster({{{0, 2}}, {{3, 16383}}});
  const Placement placement = place_copies("hot", Slots{1}, 4, topology, Slots{0});
  CHECK(std::count_if(placement.add.begin(), placement.add.end(),
                      [](std::uint16_t s) { return s <= 2; }) == 1);
  CHECK(std::find(placement.add.begin(), placement.add.end(), 2) != placement.add.end());
  CHECK(evenly_placed(Slots{0, 1, 2, 10, 20, 30, 40}, 4, topology));
  // The same slot twice in what is given counts once.
  CHECK(place_copies("hot", Slots{7, 7, 8}, 1, cluster({{{0, 16383}}})).remove.size() == 1);
}

TEST_CASE("hotkey: who owns a slot") {
  const TopologyInfo topology = cluster({{{0, 99}}, {{200, 299}}});
  CHECK(owner_of(topology, 0) == "10.0.0.1:6379");
  CHECK(owner_of(topology, 99) == "10.0.0.1:6379");
  CHECK(owner_of(topology, 299) == "10.0.0.2:6379");
  CHECK(owner_of(topology, 100).empty());
}
