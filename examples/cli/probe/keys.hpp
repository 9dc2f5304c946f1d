// Which keys the workers of a probe write.
//
// Thread rule: pin() before all else; the rest from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <slotwise/slot.hpp>

namespace slotwise::cli {

/// A worker's writes are numbered, and `block_size` of them in a row share a hash tag, so a slot:
/// `{worker:block}`. So every worker meets every shard. A pinned worker has tags of one shard only:
/// `{worker:block:attempt}`, the first attempt whose slot belongs to it.
class ProbeKeys {
 public:
  /// `run` sets the keys of one run apart from those of others, where that matters.
  ProbeKeys(std::string prefix, std::string run)
      : prefix_(std::move(prefix)), run_(std::move(run)) {}

  static constexpr std::uint64_t block_size = 1000;
  using ShardOfSlot = std::array<std::uint16_t, slot_count>;

  /// Worker i writes to the i-th of these shards only (and so on from the first again), whoever
  /// owns its slots later.
  void pin(const ShardOfSlot& shard_of_slot);

  /// What all keys of a block begin with: "probe:{3:12}:". A pinned one takes some microseconds
  /// per shard to find.
  std::string head(int worker, std::uint64_t block) const;
  /// The whole key of one SET: "probe:{3:12}:12345".
  static std::string single(const std::string& head, std::uint64_t n) {
    return head + std::to_string(n);
  }
  /// The whole key of a block's counter: "probe:{3:12}:count:RUN".
  std::string counter(const std::string& head) const { return head + "count:" + run_; }
  const std::string& run() const noexcept { return run_; }

 private:
  std::string tag(int worker, std::uint64_t block) const;

  const std::string prefix_;
  const std::string run_;
  std::vector<std::uint16_t> pinned_to_;  // shards that own slots; empty: not pinned
  ShardOfSlot shard_of_slot_{};
};

}  // namespace slotwise::cli
