// How much a server may make us hold for one reply.
#pragma once

#include <cstddef>

namespace slotwise::resp {

/// Passing one is a protocol error whose text names the limit.
struct Limits {
  /// Levels of nesting. A reply is destroyed, copied and printed by recursion, so the parser takes
  /// at most `depth_ceiling` whatever is asked for.
  int max_depth = 512;
  /// Bytes that the header of one bulk string may claim; checked before they come.
  std::size_t max_bulk_bytes = std::size_t{1} << 30;
  /// Memory of one reply: its text, and sizeof(Reply) for each element that a header claims.
  std::size_t max_reply_bytes = std::size_t{1} << 30;

  static constexpr int depth_ceiling = 1024;
};

}  // namespace slotwise::resp
