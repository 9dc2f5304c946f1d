#include "topology/map_merger.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.hpp"

namespace slotwise::topology {

MapMerger::MapMerger(const Beliefs& beliefs, const ClusterView& view, ViewMark asked, Trust trust)
    : beliefs_(beliefs),
      before_(*beliefs.current),
      view_(view),
      asked_(static_cast<std::uint64_t>(asked)),
      trust_(trust),
      known_max_epoch_(owners_max_epoch(before_)) {}

void MapMerger::run() {
  match_nodes();
  decide_slots();
  build_table();
}

bool MapMerger::leads_in_view(NodeHandle handle) const {
  const NodeInfo* node = in_view(handle);
  return node != nullptr && node->role == Role::primary && node->health == Health::ok;
}

// A node known by its address only is the one in the view that answers to this address.
void MapMerger::match_nameless(const MapNode& node) {
  for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
    if (!view_.nodes[i].answers_to(node.info.endpoint)) continue;
    if (handles_[i] == no_node) {
      handles_[i] = node.handle;
    } else {
      renamed_.emplace(node.handle, handles_[i]);
    }
    return;
  }
}

// By id; where one side has none, by endpoint. No two nodes of the view get the same handle.
void MapMerger::match_nodes() {
  handles_.assign(view_.nodes.size(), no_node);
  std::unordered_set<NodeHandle> taken;
  std::unordered_map<std::string_view, NodeHandle> by_id;
  for (const MapNode& node : before_.nodes()) {
    if (!node.info.id.empty()) by_id.emplace(node.info.id, node.handle);
  }
  for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
    const auto known = by_id.find(view_.nodes[i].id);
    if (known == by_id.end()) continue;
    handles_[i] = known->second;
    taken.insert(known->second);
  }
  for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
    if (!view_.nodes[i].id.empty()) continue;
    const MapNode* known = before_.find_by_endpoint(view_.nodes[i].endpoint);
    if (known != nullptr && taken.insert(known->handle).second) handles_[i] = known->handle;
  }
  for (const MapNode& node : before_.nodes()) {
    if (node.info.id.empty() && !taken.contains(node.handle)) match_nameless(node);
  }
  next_handle_ = beliefs_.next_handle;
  for (NodeHandle& handle : handles_) {
    if (handle == no_node) handle = next_handle_++;
  }
  for (std::uint32_t i = 0; i < handles_.size(); ++i)
    view_index_.emplace(handles_[i], i);
}

// True if the view's owner replaces ours.
bool MapMerger::believes(std::uint16_t slot, NodeHandle ours, NodeHandle theirs) {
  if (trust_ == Trust::fill_only) return false;
  const bool shows_ours_gone = !leads_in_view(ours);
  const auto patch = beliefs_.patches.find(slot);
  if (patch != beliefs_.patches.end()) {
    const Patch& taught = patch->second;
    bool wins = false;
    if (taught.sequence <= asked_) {
      wins = beliefs_.failed.contains(ours) || epoch_in_view(theirs) > taught.max_epoch ||
             (taught.confirmed && shows_ours_gone && view_.max_epoch >= taught.max_epoch);
    }
    kept_by_patch_ += wins ? 0 : 1;
    return wins;
  }
  if (trust_ == Trust::whole || beliefs_.failed.contains(ours) || !view_.has_nodes) return true;
  const bool wins = epoch_in_view(theirs) >= epoch_before(ours) ||
                    (shows_ours_gone && view_.max_epoch >= known_max_epoch_);
  kept_by_epoch_ += wins ? 0 : 1;
  return wins;
}

// Rule 1; but not for an owner that neither we nor the cluster can find any more.
NodeHandle MapMerger::decide_uncovered(NodeHandle ours) const {
  const bool gone = beliefs_.failed.contains(ours) && in_view(ours) == nullptr;
  return gone && trust_ != Trust::fill_only ? no_node : ours;
}

NodeHandle MapMerger::decide(std::uint16_t slot, NodeHandle ours, NodeHandle theirs) {
  if (theirs == no_node) return ours == no_node ? no_node : decide_uncovered(ours);
  if (ours == no_node) return theirs;
  if (ours == theirs) {
    const auto patch = beliefs_.patches.find(slot);
    if (patch != beliefs_.patches.end() && patch->second.sequence <= asked_)
      settled_.push_back(slot);
    return ours;
  }
  if (!believes(slot, ours, theirs)) return ours;
  settled_.push_back(slot);
  return theirs;
}

void MapMerger::decide_slots() {
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
    const std::uint16_t shard = view_.slots[slot];
    const NodeHandle theirs = shard == no_shard ? no_node : handles_[view_.shards[shard].primary];
    owners_[slot] = decide(slot, renamed(before_.owner_handle(slot)), theirs);
  }
}

// What the view leaves out or only guesses is kept from before.
void MapMerger::carry_over(const NodeInfo& old, NodeHandle handle, NodeInfo& node) const {
  const bool other_spelling = base::same_endpoint(old.endpoint, node.endpoint);
  // "The host that you asked" is another one with every node that is asked, for the same node.
  const bool guess = node.endpoint_implied && old.endpoint.port == node.endpoint.port &&
                     !beliefs_.failed.contains(handle);
  if (other_spelling || guess) {
    node.endpoint = old.endpoint;
    node.endpoint_implied = old.endpoint_implied;
  }
  if (node.id.empty()) node.id = old.id;
  const auto keep_name = [](std::string& name, const std::string& before) {
    if (name.empty() || base::same_host(name, before)) name = before;
  };
  keep_name(node.hostname, old.hostname);
  keep_name(node.announced_ip, old.announced_ip);
  if (node.availability_zone.empty()) node.availability_zone = old.availability_zone;
  if (trust_ != Trust::whole) node.config_epoch = std::max(node.config_epoch, old.config_epoch);
}

MapNode MapMerger::from_view(std::uint32_t index) const {
  MapNode node;
  node.handle = handles_[index];
  const MapNode* old = before_.find(node.handle);
  if (old != nullptr && trust_ == Trust::fill_only) return *old;
  node.info = view_.nodes[index];
  if (node.info.primary != no_index) node.primary = handles_[node.info.primary];
  node.info.primary = no_index;
  if (old != nullptr) carry_over(old->info, node.handle, node.info);
  return node;
}

void MapMerger::build_table() {
  const auto owning = owners_in(owners_);
  const bool replaces = view_.full() && trust_ != Trust::fill_only;
  std::vector<MapNode> nodes;
  for (std::uint32_t i = 0; i < view_.nodes.size(); ++i)
    nodes.push_back(from_view(i));
  for (const MapNode& node : before_.nodes()) {
    if (view_index_.contains(node.handle) || renamed_.contains(node.handle)) continue;
    if (!replaces || owning.contains(node.handle)) nodes.push_back(node);
  }
  for (MapNode& node : nodes) {
    // An owner that the view still calls a replica took over without this node knowing.
    if (owning.contains(node.handle)) node.info.role = Role::primary;
  }
  table_ = NodeTable::make(std::move(nodes));
}

std::unordered_set<NodeHandle> owners_in(const TopologyMap::Owners& owners) {
  std::unordered_set<NodeHandle> set;
  NodeHandle last = no_node;
  for (const NodeHandle owner : owners) {
    if (owner != last && owner != no_node) set.insert(owner);
    last = owner;
  }
  return set;
}

std::uint64_t owners_max_epoch(const TopologyMap& map) {
  std::uint64_t epoch = 0;
  for (const std::uint16_t shard : map.slots()) {
    if (shard == no_shard) continue;
    epoch = std::max(epoch, map.nodes()[map.shards()[shard].primary].info.config_epoch);
  }
  return epoch;
}

}  // namespace slotwise::topology
