#include "topology/topology_map.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

#include "topology/slot_map.hpp"
#include "view_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

namespace {

const FakeNode a{"10.0.0.1", 7000, id('a'), ""};
const FakeNode b{"10.0.0.2", 7000, id('b'), ""};
const FakeNode c{"10.0.0.3", 7000, id('c'), ""};

}  // namespace

TEST_CASE("topology map: as the CLI shows it") {
  SlotMap map;
  map.merge(view_of({{0, 99, {a, c}}, {100, 199, {b}}, {300, 399, {a, c}}},
                    {{a, 4}, {b, 5}, {c, 4, "slave", id('a')}}));
  const TopologyInfo info = map.current()->info();
  CHECK(info.mode == Mode::cluster);
  CHECK(info.covered_slots == 300);
  REQUIRE(info.nodes.size() == 3);
  for (const auto& node : info.nodes) {
    CAPTURE(node.endpoint);
    if (node.id == id('a')) {
      REQUIRE(node.slots.size() == 2);
      CHECK(node.slots[0].first == 0);
      CHECK(node.slots[0].last == 99);
      CHECK(node.slots[1].first == 300);
      CHECK(node.slots[1].last == 399);
      CHECK(node.primary);
      CHECK(node.config_epoch == 4);
      CHECK(node.endpoint == "10.0.0.1:7000");
      CHECK(node.announced_ip == "10.0.0.1");
    }
    if (node.id == id('c')) {
      CHECK_FALSE(node.primary);
      CHECK(node.primary_id == id('a'));
      CHECK(node.slots.empty());
      CHECK(node.healthy);
    }
  }
}

TEST_CASE("topology map: look-ups") {
  SlotMap map;
  map.merge(view_of({{0, 16383, {a, b}}}));
  const auto current = map.current();
  CHECK(current->find(no_node) == nullptr);
  CHECK(current->find(999) == nullptr);
  CHECK(current->find_by_id("") == nullptr);
  CHECK(current->find_by_id(id('f')) == nullptr);
  CHECK(current->find_by_endpoint({"10.0.0.2", 7000})->info.id == id('b'));
  CHECK(current->find_by_endpoint({"10.0.0.2", 7001}) == nullptr);
}

TEST_CASE("topology map: a node that is there is preferred to a failed one with its address") {
  SlotMap map;
  FakeNode ghost = a;
  ghost.id = id('f');
  map.merge(view_of({{0, 16383, {a}}}, {{ghost, 0, "slave,fail", id('a')}, {a, 1}}));
  REQUIRE(map.current()->nodes().size() == 2);
  CHECK(map.current()->find_by_endpoint({"10.0.0.1", 7000})->info.id == id('a'));
}

TEST_CASE("topology map: changes in one readable line") {
  SlotMap map;
  map.merge(
      view_of({{0, 8191, {a, c}}, {8192, 16383, {b}}}, {{a, 1}, {b, 2}, {c, 1, "slave", id('a')}}));
  auto before = map.current();
  SECTION("slots moved") {
    const auto result = map.merge(view_of({{0, 8190, {a, c}}, {8191, 16383, {b}}},
                                          {{a, 1}, {b, 3}, {c, 1, "slave", id('a')}}));
    CHECK(describe(result.changes, *before, *map.current()) ==
          "1 slot 10.0.0.1:7000 -> 10.0.0.2:7000");
  }
  SECTION("failover") {
    const auto result = map.merge(
        view_of({{0, 8191, {c}}, {8192, 16383, {b}}}, {{a, 1, "master,fail"}, {b, 2}, {c, 3}}));
    CHECK(describe(result.changes, *before, *map.current()) ==
          "8192 slots 10.0.0.1:7000 -> 10.0.0.3:7000; now primary 10.0.0.3:7000; health of "
          "10.0.0.1:7000");
  }
  SECTION("nodes came and went") {
    const FakeNode d{"10.0.0.4", 7000, id('d'), ""};
    const auto result = map.merge(view_of({{0, 8191, {a, d}}, {8192, 16383, {b}}},
                                          {{a, 1}, {b, 2}, {d, 1, "slave", id('a')}}));
    CHECK(describe(result.changes, *before, *map.current()) ==
          "added 10.0.0.4:7000; removed 10.0.0.3:7000");
  }
  SECTION("nothing") {
    CHECK(describe({}, *before, *before).empty());
  }
}

TEST_CASE("topology map: a long list is cut") {
  SlotMap map;
  std::vector<FakeRange> ranges;
  for (int i = 0; i < 20; ++i) {
    const std::string host = "h" + std::to_string(i);
    ranges.push_back({i, i, {{host, 7000, id('a').substr(2) + std::to_string(10 + i), ""}}});
  }
  const auto before = map.current();
  const auto result = map.merge(view_of(ranges));
  const std::string line = describe(result.changes, *before, *map.current());
  CHECK(line.find("1 slot nobody -> h0:7000; ") == 0);
  CHECK(line.find("and 14 more") != std::string::npos);
  CHECK(line.size() < 400);
}
