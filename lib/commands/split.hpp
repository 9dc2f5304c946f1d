// A multi-key command whose keys lie in several slots, divided into one command for each slot.
//
// Thread rule: pure functions; a Part is a plain value.
//
// Only for Target::multi_shard. The parts run on their own: together they are NOT atomic, and one
// may fail while others succeed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <slotwise/reply.hpp>

#include "commands/command_info.hpp"

namespace slotwise::commands {

/// The command for one slot.
struct Part {
  std::uint16_t slot = 0;
  /// A whole command. Views into the original's arguments, and into `number`: it lives as long as
  /// both.
  std::vector<std::string_view> args;
  /// Which keys of the original these are: 0 is its first key. In ascending order.
  std::vector<std::uint32_t> keys;
  std::unique_ptr<char[]> number;  ///< the text of a number of keys (MSETEX)
};

/// One part for each slot, in the order in which the slots appear; duplicates stay. Everything
/// before the first key and after the last value goes into each part. Empty if the command cannot
/// be divided (then its route is not multi_shard).
std::vector<Part> split(const CommandInfo& info, Args args);

/// The reply of the whole command. `replies[i]` belongs to `parts[i]`. An error among them is the
/// answer: a value that could not be read is never given out as nil. Values keep the places of
/// their keys (MGET); counts are added (DEL).
Reply join(const CommandInfo& info, const std::vector<Part>& parts, std::vector<Reply> replies);

}  // namespace slotwise::commands
