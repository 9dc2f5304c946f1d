// Which shard a slot belongs to, over failovers and resharding.
//
// Thread rule: update() and shards() from one thread at a time; shard_of() from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <slotwise/events.hpp>
#include <slotwise/slot.hpp>

namespace slotwise::cli {

/// A shard stays the same when a replica of it takes over. A primary that was never seen as a
/// replica of a known shard begins a new one. What is no cluster is one shard.
class ShardTracker {
 public:
  void update(const TopologyInfo& topology);

  std::size_t shard_of(std::uint16_t slot) const noexcept {
    return shards_of_slots_[slot].load(std::memory_order_relaxed);
  }

  struct Shard {
    std::vector<std::string> primaries;  ///< endpoints, in the order in which they ruled
    /// "127.0.0.1:7000", "127.0.0.1:7000 -> 127.0.0.1:7003"
    std::string name() const;
  };
  const std::vector<Shard>& shards() const noexcept { return shards_; }

  static constexpr std::size_t max_shards = 1024;  ///< what comes later counts as the last one

 private:
  std::size_t shard_of_primary(const TopologyInfo::Node& node);

  std::vector<Shard> shards_;
  std::map<std::string, std::size_t> members_;  // node id (or endpoint) -> shard
  std::array<std::atomic<std::uint16_t>, slot_count> shards_of_slots_{};
};

}  // namespace slotwise::cli
