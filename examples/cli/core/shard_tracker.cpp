#include "cli/core/shard_tracker.hpp"

#include <algorithm>

namespace slotwise::cli {

namespace {

const std::string& key_of(const TopologyInfo::Node& node) {
  return node.id.empty() ? node.endpoint : node.id;
}

}  // namespace

void ShardTracker::update(const TopologyInfo& topology) {
  const bool cluster = topology.mode == Mode::cluster;
  for (const auto& node : topology.nodes) {
    if (!node.primary || (cluster && node.slots.empty())) continue;
    const std::size_t shard = shard_of_primary(node);
    for (const auto& range : node.slots) {
      for (int s = std::max(range.first, 0); s <= std::min(range.last, slot_count - 1); ++s) {
        shards_of_slots_[static_cast<std::size_t>(s)].store(static_cast<std::uint16_t>(shard),
                                                            std::memory_order_relaxed);
      }
    }
  }
  for (const auto& node : topology.nodes) {
    const auto primary = members_.find(node.primary_id);
    if (!node.primary && primary != members_.end()) members_[key_of(node)] = primary->second;
  }
}

std::size_t ShardTracker::shard_of_primary(const TopologyInfo::Node& node) {
  const auto known = members_.find(key_of(node));
  std::size_t shard = known != members_.end() ? known->second : shards_.size();
  // Without node ids (Sentinel, single server) there is one shard, whoever rules it.
  if (node.id.empty() && !shards_.empty()) shard = 0;
  shard = std::min(shard, max_shards - 1);
  if (shard == shards_.size()) shards_.emplace_back();
  members_[key_of(node)] = shard;
  auto& primaries = shards_[shard].primaries;
  if (primaries.empty() || primaries.back() != node.endpoint) primaries.push_back(node.endpoint);
  return shard;
}

std::string ShardTracker::Shard::name() const {
  if (primaries.empty()) return "?";
  if (primaries.size() == 1) return primaries.front();
  const std::string way = primaries.size() > 2 ? " -> ... -> " : " -> ";
  return primaries.front() + way + primaries.back();
}

}  // namespace slotwise::cli
