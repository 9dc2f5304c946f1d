// A big cluster after much resharding: 1,000 nodes and 16,384 ranges of one slot each.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "topology/slot_map.hpp"
#include "view_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

namespace {

constexpr int primaries = 500;

FakeNode node(int i) {
  const std::string digits = std::to_string(i);
  return {"node-" + digits + ".cluster.example.test", 6379,
          std::string(40 - digits.size(), 'a') + digits, "node-" + digits + ".example.test"};
}

Reply big_slots() {
  std::vector<FakeRange> ranges;
  for (int slot = 0; slot < slot_count; ++slot) {
    const int shard = slot % primaries;
    ranges.push_back({slot, slot, {node(shard), node(shard + primaries)}});
  }
  return slots_reply(ranges);
}

std::string big_nodes() {
  std::vector<FakeLine> lines;
  for (int i = 0; i < primaries; ++i) {
    lines.push_back({node(i), static_cast<std::uint64_t>(i + 1)});
    lines.push_back({node(i + primaries), static_cast<std::uint64_t>(i + 1), "slave", node(i).id});
  }
  return nodes_text(lines);
}

// CPU time of this thread: what the work costs without what else the machine does.
double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double milliseconds_of(const auto& work) {
  const double start = cpu_milliseconds();
  work();
  return cpu_milliseconds() - start;
}

}  // namespace

TEST_CASE("slot map: 1,000 nodes with 16,384 ranges take less than 10 ms") {
  const Reply slots = big_slots();
  const Reply nodes = text(big_nodes());
  SlotMap map;
  map.merge(parse_view(slots, &nodes, asked).view);
  REQUIRE(map.current()->full());
  REQUIRE(map.current()->nodes().size() == 2 * primaries);

  std::vector<double> parse;
  std::vector<double> merge;
  std::vector<double> patch;
  for (int round = 0; round < 15; ++round) {
    ViewResult result;
    parse.push_back(milliseconds_of([&] { result = parse_view(slots, &nodes, asked); }));
    REQUIRE(result.ok());
    merge.push_back(milliseconds_of([&] { map.merge(result.view); }));
    const auto slot = static_cast<std::uint16_t>(round);
    const Endpoint unknown{"new.example.test", static_cast<std::uint16_t>(7000 + round)};
    patch.push_back(milliseconds_of([&] { map.patch(slot, unknown); }));
  }
  // The quickest round: neighbours still cost us caches and memory bandwidth.
  const double quickest_parse = *std::min_element(parse.begin(), parse.end());
  const double quickest_merge = *std::min_element(merge.begin(), merge.end());
  const double quickest_patch = *std::min_element(patch.begin(), patch.end());
  std::printf("slot map, 1,000 nodes, 16,384 ranges: parse %.2f ms, merge %.2f ms, MOVED %.2f ms\n",
              quickest_parse, quickest_merge, quickest_patch);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(quickest_parse + quickest_merge < 10.0);
#endif
}
