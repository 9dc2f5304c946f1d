// From the replies to CLUSTER SLOTS and CLUSTER NODES to a ClusterView.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include <slotwise/reply.hpp>

#include "topology/view.hpp"

namespace slotwise::topology {

/// Why a reply is not a view. All but `none` mean: not an answer, ask another node.
enum class ViewProblem : std::uint8_t {
  none,
  no_slots,          ///< an empty reply: a fresh or reset node, or one outside of any cluster
  cluster_disabled,  ///< a server without cluster mode
  refused,           ///< another error reply (LOADING, NOPERM ...); the text has it
  foreign,           ///< of another cluster than the one that is known
  malformed,         ///< not what CLUSTER SLOTS may answer; the text says where
};

struct ViewResult {
  ViewProblem problem = ViewProblem::none;
  std::string text;  ///< what was wrong, or the server's error
  ClusterView view;  ///< meaningful if ok()

  bool ok() const noexcept { return problem == ViewProblem::none; }
};

/// `slots` is the map; `nodes` (may be null, an error, or nonsense: then epochs are 0 and flags
/// unknown) adds epochs, flags and the nodes without slots, joined by id. RESP2 and RESP3.
/// `answered_by` is the endpoint of the connection: it stands for every host that is null or
/// empty, and its port for every port 0. One bad range rejects the whole reply.
ViewResult parse_view(const Reply& slots, const Reply* nodes, const Endpoint& answered_by);

}  // namespace slotwise::topology
