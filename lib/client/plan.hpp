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
#include "resp/encoder.hpp"
#include "routing/request.hpp"

namespace slotwise::detail {

struct Plan : routing::Kind {
  const commands::CommandInfo* info = nullptr;
  enum class Way : std::uint8_t { one, by_slot, all_shards, all_nodes, learn } way = Way::one;
};

/// What is known of a typed command before it is called: what a CallSpec::command points to. Made
/// once per process.
class Command {
 public:
  explicit Command(const commands::CommandInfo& table_entry) noexcept;

  const commands::CommandInfo& info;
  const bool simple;
  const std::uint8_t single_key;
  const resp::Head head;
  routing::Kind kind;  ///< only if it is simple; without the slot
};

/// The beginning of the call as bytes, if that is known.
inline const resp::Head& head_of(const CallSpec& call) noexcept {
  static constexpr resp::Head none;
  return call.command != nullptr ? call.command->head : none;
}

/// Nearly every call: a typed command with one key at a fixed place, sent where that key is.
inline bool is_simple(const CallSpec& call, const CallOptions& options) noexcept {
  return call.command != nullptr && call.command->simple &&
         call.command->single_key < call.words.size() && options.node.empty();
}

/// What a simple call asks of whoever sends it; read_from is left for later.
inline void set_simple_kind(routing::Kind& kind, const CallSpec& call, const CallOptions& options,
                            const Config& config) noexcept {
  kind = call.command->kind;
  if (options.idempotent) kind.retry_safe = true;
  if (config.mode == Mode::cluster) {
    kind.target = routing::Target::slot;
    kind.slot = slot(call.words[call.command->single_key]);
  }  // else it is any primary, which is the default
}

/// The plan of a simple call. False: it is another one, see make_plan().
inline bool plan_simple(Plan& plan, const CallSpec& call, const CallOptions& options,
                        const Config& config) noexcept {
  if (!is_simple(call, options)) return false;
  set_simple_kind(plan, call, options, config);
  plan.info = &call.command->info;
  return true;
}

/// The plan, or the Error of a command that must not be sent.
std::optional<Error> make_plan(Plan& plan, const CallSpec& call, const CallOptions& options,
                               const Config& config, const commands::LearnedCommands& learned);

/// The second half, when the routing is known: also after COMMAND GETKEYS told it.
std::optional<Error> apply_routing(Plan& plan, const commands::Routing& routing,
                                   const CallSpec& call, const CallOptions& options);

/// For whoever wants to read elsewhere than from the primary.
ReadFrom read_elsewhere(const Plan& plan, ReadFrom wanted, const Config& config) noexcept;
/// For a call with a timeout of its own, and a blocking one.
routing::TimePoint special_deadline(const Plan& plan, const CallOptions& options,
                                    const Config& config, routing::TimePoint now) noexcept;

/// Who may answer it: other than the primary only what a replica can answer as well.
inline ReadFrom read_from_of(const Plan& plan, const CallOptions& options,
                             const Config& config) noexcept {
  const ReadFrom wanted = options.read_from.value_or(config.read_from);
  return wanted == ReadFrom::primary ? wanted : read_elsewhere(plan, wanted, config);
}

/// The call's deadline, the server-side time of a blocking command included.
inline routing::TimePoint deadline_of(const Plan& plan, const CallOptions& options,
                                      const Config& config, routing::TimePoint now) noexcept {
  if (options.timeout || plan.blocking) [[unlikely]] {
    return special_deadline(plan, options, config, now);
  }
  return now + config.timeout;
}

}  // namespace slotwise::detail
