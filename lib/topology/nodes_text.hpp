// The text of CLUSTER NODES, line by line.
//
// Thread rule: pure functions. The lines point into the text that was parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topology/view.hpp"

namespace slotwise::topology {

/// One line: `id ip:port@bus[,hostname[,aux=val...]] flags primary ping pong epoch link slot...`
struct NodeLine {
  std::string_view id;
  std::string_view ip;  ///< may be empty: the node does not know its own
  std::uint16_t port = 0;
  std::string_view hostname;
  bool myself = false;
  bool primary = false;
  bool replica = false;
  bool failed = false;     ///< `fail`
  bool suspected = false;  ///< `fail?`: opinion of the node that answered
  bool handshake = false;
  bool no_address = false;
  std::string_view primary_id;  ///< of a replica; empty if unknown
  std::uint64_t config_epoch = 0;
  bool link_up = false;  ///< seen from the node that answered
  int slots = 0;         ///< owned slots
  /// Slots under way, `[5061->-id]` and `[5061-<-id]`; only the node itself tells them.
  int migrating = 0;
  int importing = 0;
};

/// All lines, or nothing if one of them is not of this form.
std::optional<std::vector<NodeLine>> parse_nodes_text(std::string_view text);

}  // namespace slotwise::topology
