#include "topology/slot_map.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"

namespace slotwise::topology {

namespace {

// Rule 5: so many contradictions in a row are no lagging node any more.
constexpr int believed_after = 3;

using Owners = TopologyMap::Owners;

std::unordered_set<NodeHandle> owners_in(const Owners& owners) {
  std::unordered_set<NodeHandle> set;
  NodeHandle last = no_node;
  for (const NodeHandle owner : owners) {
    if (owner != last && owner != no_node) set.insert(owner);
    last = owner;
  }
  return set;
}

// The highest epoch of those that own slots. Others may have left the cluster for good, and their
// epoch with them.
std::uint64_t owners_max_epoch(const TopologyMap& map) {
  std::uint64_t epoch = 0;
  for (const std::uint16_t shard : map.slots()) {
    if (shard == no_shard) continue;
    epoch = std::max(epoch, map.nodes()[map.shards()[shard].primary].info.config_epoch);
  }
  return epoch;
}

}  // namespace

// One merge, put together aside; nothing of the SlotMap changes before apply().
class SlotMap::Merger {
 public:
  enum class Trust : std::uint8_t {
    by_epoch,   // rules 2 to 4
    fill_only,  // an older view while slots are uncovered: better than nothing, but no more
    whole,      // rule 5
  };

  Merger(const SlotMap& map, const ClusterView& view, ViewMark asked, Trust trust)
      : map_(map), before_(*map.current_), view_(view), asked_(static_cast<std::uint64_t>(asked)),
        trust_(trust), known_max_epoch_(owners_max_epoch(before_)) {}

  void run() {
    match_nodes();
    decide_slots();
    build_table();
  }

  // The end: this Merger is of no use afterwards.
  void apply(SlotMap& map, MergeResult& result);

  int kept_by_epoch() const noexcept { return kept_by_epoch_; }

 private:
  void match_nodes();
  void match_nameless(const MapNode& node);
  void decide_slots();
  NodeHandle decide(std::uint16_t slot, NodeHandle ours, NodeHandle theirs);
  bool believes(std::uint16_t slot, NodeHandle ours, NodeHandle theirs);
  NodeHandle decide_uncovered(NodeHandle ours) const;
  void build_table();
  MapNode from_view(std::uint32_t index) const;
  void carry_over(const NodeInfo& old, NodeHandle handle, NodeInfo& node) const;

  NodeHandle renamed(NodeHandle handle) const {
    const auto known = renamed_.find(handle);
    return known == renamed_.end() ? handle : known->second;
  }
  const NodeInfo* in_view(NodeHandle handle) const {
    const auto known = view_index_.find(handle);
    return known == view_index_.end() ? nullptr : &view_.nodes[known->second];
  }
  bool leads_in_view(NodeHandle handle) const {
    const NodeInfo* node = in_view(handle);
    return node != nullptr && node->role == Role::primary && node->health == Health::ok;
  }
  std::uint64_t epoch_in_view(NodeHandle handle) const {
    const NodeInfo* node = in_view(handle);
    return node == nullptr ? 0 : node->config_epoch;
  }
  std::uint64_t epoch_before(NodeHandle handle) const {
    const MapNode* node = before_.find(handle);
    return node == nullptr ? 0 : node->info.config_epoch;
  }

  const SlotMap& map_;
  const TopologyMap& before_;
  const ClusterView& view_;
  const std::uint64_t asked_;
  const Trust trust_;
  const std::uint64_t known_max_epoch_;

  std::vector<NodeHandle> handles_;                                // by index in the view
  std::unordered_map<NodeHandle, std::uint32_t> view_index_;       // the other way round
  std::unordered_map<NodeHandle, NodeHandle> renamed_;             // a guess -> who it really is
  NodeHandle next_handle_ = no_node;
  Owners owners_{};
  std::shared_ptr<const NodeTable> table_;
  std::vector<std::uint16_t> settled_;  // patches that are no longer needed
  int kept_by_patch_ = 0;
  int kept_by_epoch_ = 0;
};

// A node known by its address only is the one in the view that answers to this address.
void SlotMap::Merger::match_nameless(const MapNode& node) {
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
void SlotMap::Merger::match_nodes() {
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
  next_handle_ = map_.next_handle_;
  for (NodeHandle& handle : handles_) {
    if (handle == no_node) handle = next_handle_++;
  }
  for (std::uint32_t i = 0; i < handles_.size(); ++i) view_index_.emplace(handles_[i], i);
}

// True if the view's owner replaces ours.
bool SlotMap::Merger::believes(std::uint16_t slot, NodeHandle ours, NodeHandle theirs) {
  if (trust_ == Trust::fill_only) return false;
  const bool shows_ours_gone = !leads_in_view(ours);
  const auto patch = map_.patches_.find(slot);
  if (patch != map_.patches_.end()) {
    const Patch& taught = patch->second;
    bool wins = false;
    if (taught.sequence <= asked_) {
      wins = map_.failed_.contains(ours) || epoch_in_view(theirs) > taught.max_epoch ||
             (taught.confirmed && shows_ours_gone && view_.max_epoch >= taught.max_epoch);
    }
    kept_by_patch_ += wins ? 0 : 1;
    return wins;
  }
  if (trust_ == Trust::whole || map_.failed_.contains(ours) || !view_.has_nodes) return true;
  const bool wins = epoch_in_view(theirs) >= epoch_before(ours) ||
                    (shows_ours_gone && view_.max_epoch >= known_max_epoch_);
  kept_by_epoch_ += wins ? 0 : 1;
  return wins;
}

// Rule 1; but not for an owner that neither we nor the cluster can find any more.
NodeHandle SlotMap::Merger::decide_uncovered(NodeHandle ours) const {
  const bool gone = map_.failed_.contains(ours) && in_view(ours) == nullptr;
  return gone && trust_ != Trust::fill_only ? no_node : ours;
}

NodeHandle SlotMap::Merger::decide(std::uint16_t slot, NodeHandle ours, NodeHandle theirs) {
  if (theirs == no_node) return ours == no_node ? no_node : decide_uncovered(ours);
  if (ours == no_node) return theirs;
  if (ours == theirs) {
    const auto patch = map_.patches_.find(slot);
    if (patch != map_.patches_.end() && patch->second.sequence <= asked_) settled_.push_back(slot);
    return ours;
  }
  if (!believes(slot, ours, theirs)) return ours;
  settled_.push_back(slot);
  return theirs;
}

void SlotMap::Merger::decide_slots() {
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
    const std::uint16_t shard = view_.slots[slot];
    const NodeHandle theirs = shard == no_shard ? no_node : handles_[view_.shards[shard].primary];
    owners_[slot] = decide(slot, renamed(before_.owner_handle(slot)), theirs);
  }
}

// What the view leaves out or only guesses is kept from before.
void SlotMap::Merger::carry_over(const NodeInfo& old, NodeHandle handle, NodeInfo& node) const {
  const bool other_spelling = base::same_endpoint(old.endpoint, node.endpoint);
  // "The host that you asked" is another one with every node that is asked, for the same node.
  const bool guess = node.endpoint_implied && old.endpoint.port == node.endpoint.port &&
                     !map_.failed_.contains(handle);
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

MapNode SlotMap::Merger::from_view(std::uint32_t index) const {
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

void SlotMap::Merger::build_table() {
  const auto owning = owners_in(owners_);
  const bool replaces = view_.full() && trust_ != Trust::fill_only;
  std::vector<MapNode> nodes;
  for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) nodes.push_back(from_view(i));
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

void SlotMap::Merger::apply(SlotMap& map, MergeResult& result) {
  map.next_handle_ = next_handle_;
  for (const std::uint16_t slot : settled_) map.patches_.erase(slot);
  map.seen_max_epoch_ = trust_ == Trust::whole
                            ? view_.max_epoch
                            : std::max(map.seen_max_epoch_, view_.max_epoch);
  for (auto& [slot, patch] : map.patches_) {
    patch.confirmed = patch.confirmed || leads_in_view(owners_[slot]);
    if (trust_ == Trust::whole) patch.max_epoch = std::min(patch.max_epoch, view_.max_epoch);
  }
  result = map.publish(table_, owners_);
  result.kept_by_patch = kept_by_patch_;
  result.kept_by_epoch = kept_by_epoch_;
}

SlotMap::SlotMap() : current_(std::make_shared<TopologyMap>()) {}

MergeResult SlotMap::merge(const ClusterView& view, ViewMark asked) {
  using Trust = Merger::Trust;
  MergeResult result;
  result.view_partial = !view.full();
  if (view.covered == 0) return result;

  const bool older = view.has_nodes && view.max_epoch < owners_max_epoch(*current_);
  Trust trust = older ? Trust::fill_only : Trust::by_epoch;
  if (older && view.full() && ++contradictions_ >= believed_after) trust = Trust::whole;
  if (trust == Trust::fill_only && current_->full()) {
    result.kind = MergeKind::older;
    return result;
  }
  Merger merger(*this, view, asked, trust);
  merger.run();
  if (trust == Trust::by_epoch && view.full()) {
    contradictions_ = merger.kept_by_epoch() > 0 ? contradictions_ + 1 : 0;
    if (contradictions_ >= believed_after) trust = Trust::whole;
  }
  if (trust == Trust::whole) contradictions_ = 0;
  const bool partial = result.view_partial;
  if (trust == Trust::whole && merger.kept_by_epoch() > 0) {
    Merger again(*this, view, asked, trust);
    again.run();
    again.apply(*this, result);
  } else {
    merger.apply(*this, result);
  }
  result.view_partial = partial;
  return result;
}

MergeResult SlotMap::publish(std::shared_ptr<const NodeTable> table, const Owners& owners) {
  auto next = std::make_shared<TopologyMap>(current_->version() + 1, table, owners);
  MergeResult result;
  result.changes = compare(*current_, *next);
  if (result.changes.empty()) {
    // Epochs may be known better now, but nobody needs to hear of it.
    current_ = std::make_shared<TopologyMap>(current_->version(), std::move(table), owners);
    return result;
  }
  result.kind = MergeKind::updated;
  for (const NodeHandle gone : result.changes.removed) failed_.erase(gone);
  current_ = std::move(next);
  return result;
}

MergeResult SlotMap::patch(std::uint16_t slot, const Endpoint& endpoint) {
  const MapNode* known = current_->find_by_endpoint(endpoint);
  if (known != nullptr) return patch(slot, known->handle);
  if (slot >= slot_count) return {};

  MapNode node;
  node.handle = next_handle_++;
  node.provisional = true;
  node.info.endpoint = endpoint;
  Owners owners = current_->owners();
  owners[slot] = node.handle;
  std::vector<MapNode> nodes;
  const auto owning = owners_in(owners);
  for (const MapNode& old : current_->nodes()) {
    // Guesses that lost their slots again must not pile up until the next view.
    if (!old.provisional || owning.contains(old.handle)) nodes.push_back(old);
  }
  nodes.push_back(std::move(node));
  patches_[slot] = Patch{std::max(seen_max_epoch_, owners_max_epoch(*current_)),
                         ++patch_sequence_, false};
  return publish(NodeTable::make(std::move(nodes)), owners);
}

MergeResult SlotMap::patch(std::uint16_t slot, NodeHandle handle) {
  const MapNode* node = current_->find(handle);
  if (node == nullptr || slot >= slot_count) return {};
  const bool leads = node->info.role == Role::primary;
  patches_[slot] = Patch{std::max(seen_max_epoch_, owners_max_epoch(*current_)),
                         ++patch_sequence_,
                         leads && !node->provisional && node->info.health == Health::ok};
  if (current_->owner_handle(slot) == handle) return {};

  Owners owners = current_->owners();
  owners[slot] = handle;
  std::shared_ptr<const NodeTable> table = current_->table();
  if (!leads) {
    std::vector<MapNode> nodes = table->nodes;
    for (MapNode& other : nodes) {
      if (other.handle != handle) continue;
      other.info.role = Role::primary;
      other.info.health = Health::ok;
    }
    table = NodeTable::make(std::move(nodes));
  }
  return publish(std::move(table), owners);
}

void SlotMap::node_failed(NodeHandle node) {
  if (current_->find(node) != nullptr) failed_.insert(node);
}

void SlotMap::node_ok(NodeHandle node) { failed_.erase(node); }

}  // namespace slotwise::topology
