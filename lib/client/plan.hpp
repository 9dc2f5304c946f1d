// From the words of a command to what must be known to send it.
//
// Thread rule: pure, but for the learned commands, which have a lock of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <slotwise/call_options.hpp>
#include <slotwise/config.hpp>
#include <slotwise/detail/call_spec.hpp>
#include <slotwise/error.hpp>
#include <slotwise/slot.hpp>

#include "commands/command_info.hpp"
#include "commands/learned.hpp"
#include "commands/route.hpp"
#include "routing/request.hpp"

namespace slotwise::detail {

struct Plan : routing::Kind {
  const commands::CommandInfo* info = nullptr;
  enum class Way : std::uint8_t { one, by_slot, all_shards, all_nodes, learn } way = Way::one;
};

inline const Command* handle_of(const commands::CommandInfo* info) noexcept {
  return reinterpret_cast<const Command*>(info);
}
inline const commands::CommandInfo* info_of(const Command* command) noexcept {
  return reinterpret_cast<const commands::CommandInfo*>(command);
}

/// The plan of nearly every call: a typed command with one key at a fixed place. False: it is
/// another one, see make_plan().
inline bool plan_simple(Plan& plan, const CallSpec& call, const CallOptions& options,
                        const Config& config) noexcept {
  const commands::CommandInfo* info = info_of(call.command);
  if (info == nullptr || !info->simple || info->single_key >= call.words.size() ||
      !options.node.empty()) {
    return false;
  }
  plan.info = info;
  plan.read_only = info->read_only();
  plan.retry_safe = info->retry_safe() || options.idempotent;
  if (config.mode == Mode::cluster) {
    plan.target = routing::Target::slot;
    plan.slot = slot(call.words[info->single_key]);
  }  // else it is any primary, which is the default
  return true;
}

/// The plan, or the Error of a command that must not be sent.
std::optional<Error> make_plan(Plan& plan, const CallSpec& call, const CallOptions& options,
                               const Config& config, const commands::LearnedCommands& learned);

/// The second half, when the routing is known: also after COMMAND GETKEYS told it.
std::optional<Error> apply_routing(Plan& plan, const commands::Routing& routing,
                                   const CallSpec& call, const CallOptions& options);

/// Who may answer it: other than the primary only what a replica can answer as well.
ReadFrom read_from_of(const Plan& plan, const CallOptions& options, const Config& config) noexcept;

/// The call's deadline, the server-side time of a blocking command included.
routing::TimePoint deadline_of(const Plan& plan, const CallOptions& options, const Config& config,
                               routing::TimePoint now);

}  // namespace slotwise::detail
