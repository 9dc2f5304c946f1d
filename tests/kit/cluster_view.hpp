// One node's view of the cluster: CLUSTER NODES, parsed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slotwise::kit {

inline constexpr int slot_count = 16384;

struct SlotRange {
  int first = 0;
  int last = 0;  ///< inclusive

  int size() const noexcept { return last - first + 1; }
  std::string to_string() const;
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

/// Sorted ranges of a sorted list of slots.
std::vector<SlotRange> to_ranges(const std::vector<int>& slots);

/// One line of CLUSTER NODES.
struct NodeLine {
  std::string id{};
  std::string host{};  ///< ip; may be empty
  std::uint16_t port = 0;
  std::uint16_t bus_port = 0;
  std::string hostname{};
  std::vector<std::string> flags{};
  std::string primary_id{};  ///< empty for a primary
  std::uint64_t config_epoch = 0;
  bool connected = false;
  std::vector<SlotRange> slots{};
  std::map<int, std::string> migrating{};  ///< slot -> node id, "[93->-id]"
  std::map<int, std::string> importing{};  ///< slot -> node id, "[93-<-id]"

  bool has_flag(std::string_view flag) const;
  bool is_primary() const { return has_flag("master"); }
  bool myself() const { return has_flag("myself"); }
  /// fail, fail?, handshake or noaddr
  bool in_trouble() const;
};

/// Thread rule: a plain value.
struct ClusterView {
  std::vector<NodeLine> nodes{};

  static ClusterView parse(std::string_view text);
  const NodeLine* find(std::string_view id) const;
  /// The owner of each of the 16384 slots; null where there is none.
  std::vector<const NodeLine*> owners() const;
};

}  // namespace slotwise::kit
