#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <slotwise/slot.hpp>

#include "cli/core/range_list.hpp"
#include "cli/core/shard_tracker.hpp"
#include "cli/probe/gap_meter.hpp"
#include "cli/probe/shard_meter.hpp"

using namespace slotwise;
using namespace slotwise::cli;
using namespace std::chrono_literals;

namespace {

using std::chrono::milliseconds;

GapMeter::time_point at(std::chrono::microseconds t) {
  return GapMeter::time_point{} + 1h + t;
}

TopologyInfo::Node primary(std::string id, std::string endpoint, int first, int last) {
  TopologyInfo::Node node;
  node.id = std::move(id);
  node.endpoint = std::move(endpoint);
  node.slots = {{first, last}};
  return node;
}

TopologyInfo::Node replica(std::string id, std::string endpoint, std::string of) {
  TopologyInfo::Node node;
  node.id = std::move(id);
  node.endpoint = std::move(endpoint);
  node.primary = false;
  node.primary_id = std::move(of);
  return node;
}

}  // namespace

TEST_CASE("a range list knows its members") {
  RangeList list;
  CHECK_FALSE(list.contains(0));
  for (const std::uint64_t n : {3U, 4U, 5U, 9U, 11U, 12U})
    list.add(n);
  CHECK(list.runs() == 3);
  for (const std::uint64_t n : {3U, 4U, 5U, 9U, 11U, 12U})
    CHECK(list.contains(n));
  for (const std::uint64_t n : {0U, 2U, 6U, 8U, 10U, 13U, 1000U})
    CHECK_FALSE(list.contains(n));
}

TEST_CASE("a range list counts its members in a range") {
  RangeList list;
  CHECK(list.count(0, 100) == 0);
  for (const std::uint64_t n : {3U, 4U, 5U, 9U, 11U, 12U})
    list.add(n);
  CHECK(list.count(0, 100) == 6);
  CHECK(list.count(0, 3) == 0);
  CHECK(list.count(3, 4) == 1);
  CHECK(list.count(4, 10) == 3);
  CHECK(list.count(5, 12) == 3);
  CHECK(list.count(12, 13) == 1);
  CHECK(list.count(13, 1000) == 0);
  CHECK(list.count(5, 5) == 0);
}

TEST_CASE("a gap is time in which an answer was owed") {
  GapMeter meter;
  meter.sent(at(0ms));
  meter.answered(at(2ms));
  CHECK(meter.longest() == 2ms);
  // Nobody asked between 2 and 500.
  meter.sent(at(500ms));
  meter.answered(at(503ms));
  CHECK(meter.longest() == 3ms);
}

TEST_CASE("an answer to one write ends the gap of all") {
  GapMeter meter;
  meter.sent(at(0ms));
  for (int i = 1; i <= 100; ++i) {
    meter.sent(at(milliseconds(i)));
    meter.answered(at(milliseconds(i) + 500us));
  }
  CHECK(meter.longest() < 2ms);
  meter.answered(at(110ms));
  CHECK(meter.longest() == 110ms - 100ms - 500us);
}

TEST_CASE("the gap is that of the write that waited longest, whoever is answered first") {
  GapMeter meter;
  meter.sent(at(0ms));
  meter.sent(at(900ms));
  meter.answered(at(1000ms));
  meter.answered(at(1001ms));
  CHECK(meter.longest() == 1000ms);
}

TEST_CASE("failed writes leave the gap open") {
  GapMeter meter;
  meter.sent(at(0ms));
  meter.failed(at(100ms));
  CHECK(meter.longest() == 100ms);
  meter.sent(at(110ms));
  meter.failed(at(200ms));
  CHECK(meter.longest() == 200ms);
  meter.sent(at(210ms));
  meter.answered(at(250ms));
  CHECK(meter.longest() == 250ms);
  meter.sent(at(260ms));
  meter.answered(at(261ms));
  CHECK(meter.longest() == 250ms);
}

TEST_CASE("the gap since one looked last") {
  GapMeter meter;
  meter.sent(at(0ms));
  meter.answered(at(50ms));
  CHECK(meter.take_longest() == 50ms);
  CHECK(meter.take_longest() == 0ms);
  meter.sent(at(100ms));
  meter.answered(at(120ms));
  CHECK(meter.take_longest() == 20ms);
  CHECK(meter.longest() == 50ms);
}

TEST_CASE("a shard's meter: totals, and what came since the last look") {
  ShardMeter meter;
  CHECK(meter.total().acked == 0);
  CHECK(meter.take().p99_ms == 0);
  for (int i = 1; i <= 100; ++i) {
    meter.sent(at(milliseconds(1000 * i)));
    meter.answered(at(milliseconds(1000 * i)), at(milliseconds(1000 * i + i)));
  }
  meter.sent(at(200s));
  meter.failed(at(201s), true);
  meter.sent(at(201s));
  meter.failed(at(202s), false);
  const ProbeShard first = meter.take();
  CHECK(first.acked == 100);
  CHECK(first.failed == 1);
  CHECK(first.p50_ms > 49);
  CHECK(first.p50_ms < 51);
  CHECK(first.p99_ms > 98);
  CHECK(first.p99_ms < 100);
  CHECK(first.slowest_ms == 100);
  CHECK(first.max_gap_ms == 2000);

  meter.sent(at(203s));
  meter.answered(at(203s), at(203s + 7ms));
  const ProbeShard second = meter.take();
  CHECK(second.acked == 1);
  CHECK(second.failed == 0);
  CHECK(second.slowest_ms == 7);
  CHECK(meter.total().acked == 101);
  CHECK(meter.total().slowest_ms == 100);
}

TEST_CASE("a shard stays the same through a failover") {
  ShardTracker tracker;
  TopologyInfo topology;
  topology.mode = Mode::cluster;
  topology.nodes = {primary("A", "h:1", 0, 8000), primary("B", "h:2", 8001, 16383),
                    replica("a", "h:3", "A"), replica("b", "h:4", "B")};
  tracker.update(topology);
  CHECK(tracker.shards().size() == 2);
  CHECK(tracker.shard_of(0) == 0);
  CHECK(tracker.shard_of(16383) == 1);

  topology.nodes = {primary("a", "h:3", 0, 8000), primary("B", "h:2", 8001, 16383),
                    replica("b", "h:4", "B")};
  tracker.update(topology);
  CHECK(tracker.shards().size() == 2);
  CHECK(tracker.shard_of(0) == 0);
  CHECK(tracker.shards()[0].name() == "h:1 -> h:3");

  // The old primary comes back as a replica and takes over again.
  topology.nodes.push_back(replica("A", "h:1", "a"));
  tracker.update(topology);
  topology.nodes[0] = primary("A", "h:1", 0, 8000);
  tracker.update(topology);
  CHECK(tracker.shard_of(100) == 0);
  CHECK(tracker.shards()[0].name() == "h:1 -> ... -> h:1");
}

TEST_CASE("a new primary is a new shard") {
  ShardTracker tracker;
  TopologyInfo topology;
  topology.mode = Mode::cluster;
  topology.nodes = {primary("A", "h:1", 0, 16383)};
  tracker.update(topology);
  topology.nodes = {primary("A", "h:1", 0, 8000), primary("N", "h:9", 8001, 16383)};
  tracker.update(topology);
  CHECK(tracker.shards().size() == 2);
  CHECK(tracker.shard_of(9000) == 1);
  // A node without slots is no shard, and nonsense in the topology is survived.
  topology.nodes.push_back(primary("E", "h:5", 0, -1));
  topology.nodes.back().slots.clear();
  topology.nodes.push_back(primary("F", "h:6", -5, 99999));
  tracker.update(topology);
  CHECK(tracker.shards().size() == 3);
}

TEST_CASE("what is no cluster is one shard") {
  ShardTracker tracker;
  TopologyInfo topology;
  topology.mode = Mode::sentinel;
  topology.nodes = {primary("", "h:1", 0, -1)};
  topology.nodes[0].slots.clear();
  tracker.update(topology);
  CHECK(tracker.shard_of(slot("any")) == 0);
  topology.nodes[0].endpoint = "h:2";
  tracker.update(topology);
  CHECK(tracker.shards().size() == 1);
  CHECK(tracker.shards()[0].name() == "h:1 -> h:2");
}
