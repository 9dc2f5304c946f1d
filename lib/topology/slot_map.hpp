// Which view of the cluster is believed: the current map and the rules by which it changes.
//
// Thread rule: one control thread. current() gives an immutable value that any thread may keep.
//
// Rules (each has its test in slot_map_test.cpp)
//  1. An empty or partial view never replaces a full one: it may fill slots that nobody owns, no
//     more. Before anything is known a partial view is better than none.
//  2. Per slot the owner with the higher config epoch wins; with unknown epochs the newer view.
//     A view whose highest epoch is below that of an owner we know is older as a whole.
//  3. MOVED beats views. A patched slot remembers the highest epoch known anywhere at that time,
//     and gives way only to a view that agrees, to an owner with an epoch above it, to a view that
//     shows the patched owner failed, demoted or gone after a view had confirmed it, or to a later
//     MOVED. Views that were asked for before the MOVED came never undo it.
//  4. A node that cannot be reached, or answers with another id (node_failed), loses the
//     protection of 2 and 3: the next view decides.
//  5. Safety valve: full views that are called older three times in a row are believed. A cluster
//     whose nodes were reset counts its epochs from 1.
//  6. An equal view changes nothing: no new version, nothing to publish.
//  7. A view from an unknown node that shares no node id with what is known, nor a node that a
//     MOVED named, is of another cluster (the address was given away, or the cluster was made
//     anew) and is refused: one client never talks to two clusters.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "topology/map_merger.hpp"
#include "topology/topology_map.hpp"
#include "topology/view.hpp"

namespace slotwise::topology {

enum class MergeKind : std::uint8_t {
  unchanged,  ///< nothing to publish
  updated,    ///< current() is a new map
  older,      ///< the view was set aside as a whole
  foreign,    ///< of another cluster: refused
};

struct MergeResult {
  MergeKind kind = MergeKind::unchanged;
  MapChanges changes;
  int kept_by_patch = 0;  ///< slots where a MOVED was believed rather than the view
  int kept_by_epoch = 0;  ///< slots where the view's owner had the lower epoch
  /// The view had gaps: not a full answer, another node should be asked.
  bool view_partial = false;
};

class SlotMap {
 public:
  SlotMap();

  /// Never null. Version 0 with no node and no slot before the first view.
  std::shared_ptr<const TopologyMap> current() const noexcept { return beliefs_.current; }

  ViewMark mark() const noexcept { return ViewMark{beliefs_.patch_sequence}; }

  /// Takes a view in. `asked` is mark() of the moment when the question was sent; `told_id` is the
  /// id of the node that answered, if it told one.
  MergeResult merge(const ClusterView& view, ViewMark asked, std::string_view told_id = {});
  MergeResult merge(const ClusterView& view) { return merge(view, mark()); }

  /// A MOVED taught that `slot` belongs to `endpoint` (known or not; its host is not empty).
  MergeResult patch(std::uint16_t slot, const Endpoint& endpoint);
  /// The same for a node that is known.
  MergeResult patch(std::uint16_t slot, NodeHandle node);

  /// The node cannot be reached, or somebody else answers at its address: rule 4.
  void node_failed(NodeHandle node);
  /// It answers again, under the id that it should have.
  void node_ok(NodeHandle node);

  /// Slots whose owner is known from a MOVED that no view has confirmed or overruled.
  std::size_t patches() const noexcept { return beliefs_.patches.size(); }

 private:
  bool is_foreign(const ClusterView& view, std::string_view told_id) const noexcept;
  MergeResult apply(const MapMerger& merger, const ClusterView& view);
  MergeResult publish(std::shared_ptr<const NodeTable> table, const TopologyMap::Owners& owners);
  void remember_patch(std::uint16_t slot, bool confirmed);

  Beliefs beliefs_;
  int contradictions_ = 0;  // full views in a row that rule 2 overruled
};

}  // namespace slotwise::topology
