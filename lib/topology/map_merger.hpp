// One merge of a view into what is believed, worked out aside. SlotMap's rules 1 to 5, slot by
// slot.
//
// Thread rule: as SlotMap, whose part this is. A MapMerger lives for one merge.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "topology/topology_map.hpp"
#include "topology/view.hpp"

namespace slotwise::topology {

/// A moment in the life of the SlotMap: take it when the question leaves, give it to merge().
enum class ViewMark : std::uint64_t {};

/// What a MOVED taught about a slot.
struct Patch {
  std::uint64_t max_epoch = 0;  ///< the highest known anywhere when it came
  std::uint64_t sequence = 0;   ///< counts all patches; against ViewMark
  bool confirmed = false;       ///< a view has shown its owner as a primary
};

struct Beliefs {
  std::shared_ptr<const TopologyMap> current;  ///< never null
  std::unordered_map<std::uint16_t, Patch> patches;
  std::unordered_set<NodeHandle> failed;  ///< not to be reached, or somebody else answers there
  std::uint64_t patch_sequence = 0;
  std::uint64_t seen_max_epoch = 0;  ///< of any view, believed or not
  NodeHandle next_handle = 1;
};

enum class Trust : std::uint8_t {
  by_epoch,   ///< rules 2 to 4
  fill_only,  ///< an older view while slots are uncovered: better than nothing, but no more
  whole,      ///< rule 5
};

class MapMerger {
 public:
  MapMerger(const Beliefs& beliefs, const ClusterView& view, ViewMark asked, Trust trust);

  /// The result: everything below may be read after it.
  void run();

  Trust trust() const noexcept { return trust_; }
  const TopologyMap::Owners& owners() const noexcept { return owners_; }
  const std::shared_ptr<const NodeTable>& table() const noexcept { return table_; }
  NodeHandle next_handle() const noexcept { return next_handle_; }
  /// Slots whose patch is confirmed or overruled.
  const std::vector<std::uint16_t>& settled() const noexcept { return settled_; }
  int kept_by_patch() const noexcept { return kept_by_patch_; }
  int kept_by_epoch() const noexcept { return kept_by_epoch_; }
  /// True if the view shows this node as a primary that is well.
  bool leads_in_view(NodeHandle handle) const;

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
  std::uint64_t epoch_in_view(NodeHandle handle) const {
    const NodeInfo* node = in_view(handle);
    return node == nullptr ? 0 : node->config_epoch;
  }
  std::uint64_t epoch_before(NodeHandle handle) const {
    const MapNode* node = before_.find(handle);
    return node == nullptr ? 0 : node->info.config_epoch;
  }

  const Beliefs& beliefs_;
  const TopologyMap& before_;
  const ClusterView& view_;
  const std::uint64_t asked_;
  const Trust trust_;
  const std::uint64_t known_max_epoch_;

  std::vector<NodeHandle> handles_;                           // by index in the view
  std::unordered_map<NodeHandle, std::uint32_t> view_index_;  // the other way round
  std::unordered_map<NodeHandle, NodeHandle> renamed_;        // a guess -> who it really is
  NodeHandle next_handle_ = no_node;
  TopologyMap::Owners owners_{};
  std::shared_ptr<const NodeTable> table_;
  std::vector<std::uint16_t> settled_;
  int kept_by_patch_ = 0;
  int kept_by_epoch_ = 0;
};

/// The highest epoch of those that own slots. Others may have left the cluster for good, and their
/// epoch with them.
std::uint64_t owners_max_epoch(const TopologyMap& map);

std::unordered_set<NodeHandle> owners_in(const TopologyMap::Owners& owners);

}  // namespace slotwise::topology
