#include "routing/replica_choice.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace slotwise;
using routing::choose_reader;
using routing::ReadCandidate;
using std::chrono::microseconds;

namespace {

/// Primary and two replicas, all well.
std::vector<ReadCandidate> shard() {
  ReadCandidate well;
  well.usable = true;
  return {well, well, well};
}

std::vector<std::size_t> turns(ReadFrom how, const std::vector<ReadCandidate>& nodes) {
  std::vector<std::size_t> chosen;
  for (std::uint32_t turn = 0; turn < 6; ++turn)
    chosen.push_back(choose_reader(how, nodes, turn));
  return chosen;
}

}  // namespace

TEST_CASE("read_from=primary is the primary, whatever its state") {
  auto nodes = shard();
  nodes[0].usable = false;
  CHECK(choose_reader(ReadFrom::primary, nodes, 7) == 0);
}

TEST_CASE("replicas take turns, and the primary stands in for them") {
  auto nodes = shard();
  CHECK(turns(ReadFrom::replica_preferred, nodes) == std::vector<std::size_t>{1, 2, 1, 2, 1, 2});
  nodes[1].usable = false;
  CHECK(turns(ReadFrom::replica_preferred, nodes) == std::vector<std::size_t>(6, 2));
  nodes[2].usable = false;
  CHECK(turns(ReadFrom::replica_preferred, nodes) == std::vector<std::size_t>(6, 0));
}

TEST_CASE("any: all that are usable take turns") {
  auto nodes = shard();
  CHECK(turns(ReadFrom::any, nodes) == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
  nodes[0].usable = false;
  CHECK(turns(ReadFrom::any, nodes) == std::vector<std::size_t>{1, 2, 1, 2, 1, 2});
  for (auto& node : nodes)
    node.usable = false;
  CHECK(choose_reader(ReadFrom::any, nodes, 1) == 0);
}

TEST_CASE("lowest_latency: the nearest that was measured") {
  auto nodes = shard();
  CHECK(choose_reader(ReadFrom::lowest_latency, nodes, 1) == 0);  // nothing is known yet
  nodes[0].round_trip = microseconds(300);
  nodes[2].round_trip = microseconds(200);
  CHECK(choose_reader(ReadFrom::lowest_latency, nodes, 1) == 2);
  nodes[2].usable = false;
  CHECK(choose_reader(ReadFrom::lowest_latency, nodes, 1) == 0);
}

TEST_CASE("same_zone: replicas of the zone, then its primary, then any replica") {
  auto nodes = shard();
  nodes[0].same_zone = nodes[2].same_zone = true;
  CHECK(turns(ReadFrom::same_zone, nodes) == std::vector<std::size_t>(6, 2));
  nodes[2].usable = false;
  CHECK(turns(ReadFrom::same_zone, nodes) == std::vector<std::size_t>(6, 0));
  nodes[0].same_zone = false;
  CHECK(turns(ReadFrom::same_zone, nodes) == std::vector<std::size_t>(6, 1));
}

TEST_CASE("a shard without replicas has no choice") {
  const std::vector<ReadCandidate> lonely(1);
  for (const auto how : {ReadFrom::replica_preferred, ReadFrom::any, ReadFrom::lowest_latency,
                         ReadFrom::same_zone}) {
    CHECK(choose_reader(how, lonely, 3) == 0);
    CHECK(choose_reader(how, {}, 3) == 0);
  }
}
