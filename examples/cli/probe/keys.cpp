#include "cli/probe/keys.hpp"

#include <fmt/format.h>

#include <set>

namespace slotwise::cli {

void ProbeKeys::pin(const ShardOfSlot& shard_of_slot) {
  shard_of_slot_ = shard_of_slot;
  const std::set<std::uint16_t> shards(shard_of_slot.begin(), shard_of_slot.end());
  pinned_to_.assign(shards.begin(), shards.end());
}

std::string ProbeKeys::tag(int worker, std::uint64_t block) const {
  std::string tag = fmt::format("{}:{}", worker, block);
  if (pinned_to_.size() < 2) return tag;
  const auto shard = pinned_to_[static_cast<std::size_t>(worker) % pinned_to_.size()];
  const std::size_t length = tag.size();
  for (unsigned attempt = 0; shard_of_slot_[slot(tag)] != shard; ++attempt) {
    tag.resize(length);
    tag += fmt::format(":{}", attempt);
  }
  return tag;
}

std::string ProbeKeys::head(int worker, std::uint64_t block) const {
  return fmt::format("{}:{{{}}}:", prefix_, tag(worker, block));
}

}  // namespace slotwise::cli
