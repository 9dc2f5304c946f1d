// Which node of a shard answers a read: the meaning of Config::read_from.
//
// Thread rule: pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include <slotwise/config.hpp>

namespace slotwise::routing {

struct ReadCandidate {
  /// Likely to answer soon: connected or never tried; not syncing, not failing.
  bool usable = false;
  bool same_zone = false;
  std::chrono::microseconds round_trip{0};  ///< zero: not known
};

/// `shard[0]` is the primary, the rest are its replicas that the map calls healthy. `turn` counts
/// up with every read of the shard. Gives an index; the primary if nobody else will do.
std::size_t choose_reader(ReadFrom how, std::span<const ReadCandidate> shard,
                          std::uint32_t turn) noexcept;

}  // namespace slotwise::routing
