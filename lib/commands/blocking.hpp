// How long a command may wait on the server.
//
// Thread rule: pure functions of their arguments; usable from any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "commands/command_info.hpp"

namespace slotwise::commands {

/// The time that a server may hold a command back before it answers.
struct BlockTime {
  enum class Kind : std::uint8_t {
    none,     ///< it answers at once
    limited,  ///< it answers at the latest after `time`
    forever,  ///< nobody knows when it answers (time argument 0, or not readable by us)
  };
  Kind kind = Kind::none;
  std::chrono::milliseconds time{0};  ///< only for `limited`; rounded up

  friend constexpr bool operator==(const BlockTime&, const BlockTime&) = default;
};

/// The command may make its connection wait, so it must not travel on a shared one. XREAD and
/// XREADGROUP do so only with BLOCK.
bool blocks(const CommandInfo& info, Args args) noexcept;

/// The time argument of a blocking command, whatever its unit and place. To be added to the call's
/// deadline: a client that gives up before the server does may lose the element that the server
/// hands over at the last moment.
BlockTime server_block_time(const CommandInfo& info, Args args) noexcept;

}  // namespace slotwise::commands
