#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <slotwise/slot.hpp>

#include "cli/core/range_list.hpp"
#include "cli/core/shard_tracker.hpp"
#include "cli/probe/gap_meter.hpp"

using namespace slotwise;
using namespace slotwise::cli;
using namespace std::chrono_literals;

namespace {

GapMeter::time_point at(std::chrono::milliseconds t) {
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

TEST_CASE("a gap is time in which an answer was owed") {
  GapMeter meter;
  meter.answered(at(0ms), at(2ms));
  CHECK(meter.longest() == 2ms);
  // Nobody asked between 2 and 500.
  meter.answered(at(500ms), at(503ms));
  CHECK(meter.longest() == 3ms);
  // Sent before the last answer: the shard owed nothing more than since that answer.
  meter.answered(at(499ms), at(507ms));
  CHECK(meter.longest() == 4ms);
}

TEST_CASE("failed writes leave the gap open") {
  GapMeter meter;
  meter.answered(at(0ms), at(1ms));
  meter.failed(at(1ms), at(101ms));
  CHECK(meter.longest() == 100ms);
  meter.failed(at(110ms), at(200ms));
  CHECK(meter.longest() == 199ms);
  meter.answered(at(210ms), at(251ms));
  CHECK(meter.longest() == 250ms);
  meter.answered(at(260ms), at(261ms));
  CHECK(meter.longest() == 250ms);
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
