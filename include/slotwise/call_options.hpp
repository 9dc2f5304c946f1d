// Settings of one call.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <slotwise/config.hpp>

namespace slotwise {

/// What one call may set differently from Config. Absent values fall back to Config.
struct CallOptions {
  std::optional<std::chrono::milliseconds> timeout;  ///< deadline of the whole call
  /// The caller knows that running the command twice is harmless: an attempt with outcome `unknown`
  /// is then tried again within the deadline, as read-only commands always are.
  bool idempotent = false;
  std::optional<ReadFrom> read_from;
  /// Send to this very node ("host:port" as in TopologyInfo), whatever its slot; redirects are then
  /// errors. For commands about a node (INFO, CLUSTER ..., CONFIG ...).
  std::string node;
};

}  // namespace slotwise
