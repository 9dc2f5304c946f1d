#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include <slotwise/slot.hpp>

#include "cli/probe/keys.hpp"

using namespace slotwise;
using slotwise::cli::ProbeKeys;

TEST_CASE("keys of a block share a slot, and so does its counter") {
  const ProbeKeys keys("probe", "run");
  const std::string head = keys.head(3, 12);
  CHECK(head == "probe:{3:12}:");
  CHECK(ProbeKeys::single(head, 12345) == "probe:{3:12}:12345");
  CHECK(keys.counter(head) == "probe:{3:12}:count:run");
  CHECK(slot(keys.counter(head)) == slot(ProbeKeys::single(head, 12000)));
}

TEST_CASE("a pinned worker writes to its shard only, to many slots of it") {
  // Shards of unequal size, one of a single slot; and numbers with a hole, as after a scale-in.
  const auto shards = std::make_unique<ProbeKeys::ShardOfSlot>();
  for (int s = 0; s < slot_count; ++s) {
    (*shards)[static_cast<std::size_t>(s)] = s == 7000 ? 3 : s < 5000 ? 0 : 1;
  }
  ProbeKeys keys("probe", "run");
  keys.pin(*shards);
  const std::uint16_t expected[] = {0, 1, 3, 0, 1};
  for (int worker = 0; worker < 5; ++worker) {
    std::set<std::uint16_t> slots;
    for (std::uint64_t block = 0; block < 20; ++block) {
      const std::string key = ProbeKeys::single(keys.head(worker, block), block * 1000);
      CHECK(keys.head(worker, block) == keys.head(worker, block));
      CHECK((*shards)[slot(key)] == expected[worker]);
      slots.insert(slot(key));
    }
    CHECK((slots.size() > 15 || worker == 2));
  }
}

TEST_CASE("with one shard there is nothing to pin to") {
  ProbeKeys keys("probe", "run");
  keys.pin(ProbeKeys::ShardOfSlot{});
  CHECK(keys.head(1, 2) == "probe:{1:2}:");
}
