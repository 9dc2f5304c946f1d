#include "topology/slot_map.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace slotwise::topology {

namespace {

// Rule 5: so many contradictions in a row are no lagging node any more.
constexpr int believed_after = 3;

}  // namespace

SlotMap::SlotMap() {
  beliefs_.current = std::make_shared<TopologyMap>();
}

MergeResult SlotMap::merge(const ClusterView& view, ViewMark asked, std::string_view told_id) {
  MergeResult result;
  result.view_partial = !view.full();
  if (view.covered == 0) return result;
  if (is_foreign(view, told_id)) {
    result.kind = MergeKind::foreign;
    return result;
  }

  const bool older = view.has_nodes && view.max_epoch < owners_max_epoch(*beliefs_.current);
  if (older && view.full()) ++contradictions_;
  if (older && contradictions_ < believed_after && beliefs_.current->full()) {
    result.kind = MergeKind::older;
    return result;
  }
  MapMerger merger(beliefs_, view, asked, older ? Trust::fill_only : Trust::by_epoch);
  merger.run();
  if (!older && view.full()) {
    contradictions_ = merger.kept_by_epoch() > 0 ? contradictions_ + 1 : 0;
  }
  if (contradictions_ < believed_after) return apply(merger, view);

  contradictions_ = 0;
  MapMerger believing(beliefs_, view, asked, Trust::whole);
  believing.run();
  return apply(believing, view);
}

bool SlotMap::is_foreign(const ClusterView& view, std::string_view told_id) const noexcept {
  if (!told_id.empty() && beliefs_.current->find_by_id(told_id) != nullptr) return false;
  bool knows_ids = false;
  for (const MapNode& known : beliefs_.current->nodes()) {
    const bool named_by_moved = known.info.id.empty();
    knows_ids = knows_ids || !named_by_moved;
    for (const NodeInfo& node : view.nodes) {
      if (node.id.empty()) return false;  // a server that does not tell: believed
      if (named_by_moved ? node.answers_to(known.info.endpoint) : node.id == known.info.id) {
        return false;
      }
    }
  }
  return knows_ids;
}

MergeResult SlotMap::apply(const MapMerger& merger, const ClusterView& view) {
  const bool anew = merger.trust() == Trust::whole;
  beliefs_.next_handle = merger.next_handle();
  beliefs_.seen_max_epoch =
      anew ? view.max_epoch : std::max(beliefs_.seen_max_epoch, view.max_epoch);
  for (const std::uint16_t slot : merger.settled())
    beliefs_.patches.erase(slot);
  for (auto& [slot, patch] : beliefs_.patches) {
    patch.confirmed = patch.confirmed || merger.leads_in_view(merger.owners()[slot]);
    if (anew) patch.max_epoch = std::min(patch.max_epoch, view.max_epoch);
  }
  MergeResult result = publish(merger.table(), merger.owners());
  result.kept_by_patch = merger.kept_by_patch();
  result.kept_by_epoch = merger.kept_by_epoch();
  result.view_partial = !view.full();
  return result;
}

void SlotMap::remember_patch(std::uint16_t slot, bool confirmed) {
  Patch patch;
  patch.max_epoch = std::max(beliefs_.seen_max_epoch, owners_max_epoch(*beliefs_.current));
  patch.sequence = ++beliefs_.patch_sequence;
  patch.confirmed = confirmed;
  beliefs_.patches[slot] = patch;
}

MergeResult SlotMap::publish(std::shared_ptr<const NodeTable> table,
                             const TopologyMap::Owners& owners) {
  auto next = std::make_shared<TopologyMap>(beliefs_.current->version() + 1, table, owners);
  MergeResult result;
  result.changes = compare(*beliefs_.current, *next);
  if (result.changes.empty()) {
    // Epochs may be known better now, but nobody needs to hear of it.
    beliefs_.current =
        std::make_shared<TopologyMap>(beliefs_.current->version(), std::move(table), owners);
    return result;
  }
  result.kind = MergeKind::updated;
  for (const NodeHandle gone : result.changes.removed)
    beliefs_.failed.erase(gone);
  beliefs_.current = std::move(next);
  return result;
}

MergeResult SlotMap::patch(std::uint16_t slot, const Endpoint& endpoint) {
  const MapNode* known = beliefs_.current->find_by_endpoint(endpoint);
  if (known != nullptr) return patch(slot, known->handle);
  if (slot >= slot_count) return {};

  MapNode node;
  node.handle = beliefs_.next_handle++;
  node.provisional = true;
  node.info.endpoint = endpoint;
  TopologyMap::Owners owners = beliefs_.current->owners();
  owners[slot] = node.handle;
  std::vector<MapNode> nodes;
  const auto owning = owners_in(owners);
  for (const MapNode& old : beliefs_.current->nodes()) {
    // Guesses that lost their slots again must not pile up until the next view.
    if (!old.provisional || owning.contains(old.handle)) nodes.push_back(old);
  }
  nodes.push_back(std::move(node));
  remember_patch(slot, false);
  return publish(NodeTable::make(std::move(nodes)), owners);
}

MergeResult SlotMap::patch(std::uint16_t slot, NodeHandle handle) {
  const MapNode* node = beliefs_.current->find(handle);
  if (node == nullptr || slot >= slot_count) return {};
  const bool leads = node->info.role == Role::primary;
  remember_patch(slot, leads && !node->provisional && node->info.health == Health::ok);
  if (beliefs_.current->owner_handle(slot) == handle) return {};

  TopologyMap::Owners owners = beliefs_.current->owners();
  owners[slot] = handle;
  std::shared_ptr<const NodeTable> table = beliefs_.current->table();
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
  if (beliefs_.current->find(node) != nullptr) beliefs_.failed.insert(node);
}

void SlotMap::node_ok(NodeHandle node) {
  beliefs_.failed.erase(node);
}

}  // namespace slotwise::topology
