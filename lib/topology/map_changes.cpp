// What changed from one map to the next, and how a person reads it.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "topology/topology_map.hpp"

namespace slotwise::topology {

namespace {

void compare_node(const MapNode& before, const MapNode& after, MapChanges& changes) {
  const NodeInfo& a = before.info;
  const NodeInfo& b = after.info;
  if (a.role != b.role || before.primary != after.primary) {
    changes.role_changed.push_back(after.handle);
  }
  if (a.endpoint != b.endpoint || a.announced_ip != b.announced_ip || a.hostname != b.hostname ||
      a.availability_zone != b.availability_zone || a.id != b.id) {
    changes.address_changed.push_back(after.handle);
  }
  if (a.health != b.health) changes.health_changed.push_back(after.handle);
}

void compare_nodes(const TopologyMap& before, const TopologyMap& after, MapChanges& changes) {
  auto a = before.nodes().begin();
  auto b = after.nodes().begin();
  while (a != before.nodes().end() || b != after.nodes().end()) {
    if (b == after.nodes().end() || (a != before.nodes().end() && a->handle < b->handle)) {
      changes.removed.push_back((a++)->handle);
    } else if (a == before.nodes().end() || b->handle < a->handle) {
      changes.added.push_back((b++)->handle);
    } else {
      compare_node(*a++, *b++, changes);
    }
  }
}

void compare_slots(const TopologyMap& before, const TopologyMap& after, MapChanges& changes) {
  std::map<std::pair<NodeHandle, NodeHandle>, std::size_t> known;
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
    const NodeHandle from = before.owner_handle(slot);
    const NodeHandle to = after.owner_handle(slot);
    if (from == to) continue;
    const auto [at, is_new] = known.try_emplace({from, to}, changes.moves.size());
    if (is_new) changes.moves.push_back({from, to, 0, slot});
    ++changes.moves[at->second].slots;
  }
}

// Names of nodes, of which a long list is cut.
class Line {
 public:
  Line(const TopologyMap& before, const TopologyMap& after) : before_(before), after_(after) {}

  std::string name(NodeHandle handle) const {
    const MapNode* node = after_.find(handle);
    if (node == nullptr) node = before_.find(handle);
    return node == nullptr ? std::string("nobody") : node->info.endpoint.to_string();
  }

  void start_part() {
    if (!text_.empty()) text_ += "; ";
  }

  void list(std::string_view title, const std::vector<NodeHandle>& handles) {
    if (handles.empty()) return;
    start_part();
    text_ += title;
    for (std::size_t i = 0; i < std::min(handles.size(), longest_list); ++i) {
      text_ += i == 0 ? " " : ", ";
      text_ += name(handles[i]);
    }
    more(handles.size());
  }

  void more(std::size_t count) {
    if (count > longest_list) text_ += " and " + std::to_string(count - longest_list) + " more";
  }

  void roles(const std::vector<NodeHandle>& handles) {
    std::vector<NodeHandle> promoted;
    std::vector<NodeHandle> demoted;
    for (const NodeHandle handle : handles) {
      const MapNode* node = after_.find(handle);
      const bool leads = node != nullptr && node->info.role == Role::primary;
      (leads ? promoted : demoted).push_back(handle);
    }
    list("now primary", promoted);
    list("now replica", demoted);
  }

  void moves(const std::vector<MapChanges::Move>& moves) {
    for (std::size_t i = 0; i < std::min(moves.size(), longest_list); ++i) {
      const MapChanges::Move& move = moves[i];
      start_part();
      text_ += std::to_string(move.slots) + (move.slots == 1 ? " slot " : " slots ");
      text_ += name(move.from) + " -> " + name(move.to);
    }
    more(moves.size());
  }

  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t longest_list = 6;
  const TopologyMap& before_;
  const TopologyMap& after_;
  std::string text_;
};

}  // namespace

bool MapChanges::empty() const noexcept {
  return moves.empty() && added.empty() && removed.empty() && role_changed.empty() &&
         address_changed.empty() && health_changed.empty();
}

MapChanges compare(const TopologyMap& before, const TopologyMap& after) {
  MapChanges changes;
  compare_nodes(before, after, changes);
  compare_slots(before, after, changes);
  return changes;
}

std::string describe(const MapChanges& changes, const TopologyMap& before,
                     const TopologyMap& after) {
  Line line(before, after);
  line.moves(changes.moves);
  line.list("added", changes.added);
  line.list("removed", changes.removed);
  line.roles(changes.role_changed);
  line.list("new address", changes.address_changed);
  line.list("health of", changes.health_changed);
  return line.take();
}

}  // namespace slotwise::topology
