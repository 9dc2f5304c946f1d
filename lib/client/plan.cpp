#include "client/plan.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <slotwise/detail/known.hpp>
#include <slotwise/slot.hpp>

#include "commands/blocking.hpp"

namespace slotwise::detail {
namespace {

Error refused(std::string text) {
  return Error(ErrorCode::refused, Outcome::not_sent, std::move(text));
}

Error cross_slot(const commands::Routing& routing, const CallSpec& call) {
  constexpr std::size_t shown = 64;
  const auto name = [&](std::uint32_t i) {
    return '\'' + std::string(call.words[i].substr(0, shown)) + '\'';
  };
  std::string text = "the keys of one command must lie in one slot: " + name(routing.key) +
                     " is in slot " + std::to_string(routing.slot) + ", " +
                     name(routing.other_key) + " in slot " + std::to_string(routing.other_slot) +
                     "; give them a common {hash tag}, or use the split forms mget, mset, del, "
                     "unlink, exists, touch";
  return Error(ErrorCode::cross_slot, Outcome::not_sent, std::move(text));
}

bool is_wait(const commands::CommandInfo& info) noexcept {
  return info.name == "WAIT" || info.name == "WAITAOF";
}

/// A script (EVAL, FCALL) that may write: what its error leaves undone nobody knows.
bool runs_a_script(const commands::CommandInfo& info) noexcept {
  return !info.read_only() && (info.name.starts_with("EVAL") || info.name == "FCALL");
}

}  // namespace

Command::Command(const commands::CommandInfo& table_entry) noexcept
    : info(table_entry),
      simple(info.simple),
      single_key(info.single_key),
      head(resp::make_head(info.name)) {
  kind.read_only = info.read_only();
  kind.retry_safe = info.retry_safe();
}

const Command& command_of(std::string_view name) noexcept {
  const std::size_t space = name.find(' ');
  const commands::CommandInfo* info =
      space == std::string_view::npos
          ? commands::find(name)
          : commands::find(name.substr(0, space), name.substr(space + 1));
  // A typed command that the table does not have is a mistake in this library; a test looks at all
  // of them.
  if (info == nullptr) std::abort();
  // For ever: destructors of static objects may still make calls.
  struct Known {
    std::mutex guard;
    std::map<const commands::CommandInfo*, Command> commands;
  };
  static Known& known = *std::make_unique<Known>().release();
  const std::lock_guard lock(known.guard);
  return known.commands.try_emplace(info, *info).first->second;
}

std::optional<Error> make_plan(Plan& plan, const CallSpec& call, const CallOptions& options,
                               const Config& config, const commands::LearnedCommands& learned) {
  const auto words = call.words;
  if (words.empty() || words[0].empty()) {
    return Error(ErrorCode::invalid_argument, Outcome::not_sent, "a command has no name");
  }
  const commands::CommandInfo* info =
      call.command != nullptr ? &call.command->info : commands::find(words);
  bool known = info != nullptr;
  if (!known) {
    const auto found = learned.find(words);
    info = found.info;
    known = found.asked;
  }
  plan.info = info;
  if (info != nullptr) {
    if (!info->refusal.empty()) return refused(std::string(info->refusal));
    plan.read_only = info->read_only();
    plan.retry_safe = info->retry_safe() || options.idempotent;
    plan.may_run_in_part = runs_a_script(*info);
    if (info->is(commands::Flag::blocking) && commands::blocks(*info, words)) {
      plan.blocking = true;
      plan.wants_ping = is_wait(*info);
      const auto time = commands::server_block_time(*info, words);
      if (time.kind == commands::BlockTime::Kind::limited) plan.block_time = time.time;
    }
  } else {
    plan.retry_safe = options.idempotent;
  }
  if (!options.node.empty()) {
    plan.target = routing::Target::fixed_node;
    return std::nullopt;
  }
  if (config.mode != Mode::cluster) return std::nullopt;
  if (!known) {
    plan.way = Plan::Way::learn;
    return std::nullopt;
  }
  if (info == nullptr) return std::nullopt;  // no server knows it: let one say so
  return apply_routing(plan, commands::route(*info, words), call, options);
}

std::optional<Error> apply_routing(Plan& plan, const commands::Routing& routing,
                                   const CallSpec& call, const CallOptions& options) {
  using To = commands::Target;
  plan.way = Plan::Way::one;
  switch (routing.target) {
    case To::one_slot:
      plan.target = routing::Target::slot;
      plan.slot = routing.slot;
      return std::nullopt;
    case To::any_primary:
      plan.target = routing::Target::any_primary;
      return std::nullopt;
    case To::all_shards:
      plan.way = Plan::Way::all_shards;
      return std::nullopt;
    case To::all_nodes:
      plan.way = Plan::Way::all_nodes;
      return std::nullopt;
    case To::multi_shard:
      if (!call.spread) return cross_slot(routing, call);
      plan.way = Plan::Way::by_slot;
      plan.slot = routing.slot;
      return std::nullopt;
    case To::cross_slot:
      return cross_slot(routing, call);
    case To::special:
      if (!options.node.empty()) return std::nullopt;
      return refused(
          "a SCAN cursor belongs to one node of the cluster: name the node with CallOptions::node, "
          "and go through the primaries of Client::topology() one after the other");
    case To::unknown:
      plan.way = Plan::Way::learn;
      return std::nullopt;
  }
  return std::nullopt;
}

ReadFrom read_elsewhere(const Plan& plan, ReadFrom wanted, const Config& config) noexcept {
  if (config.mode == Mode::single) return ReadFrom::primary;
  if (!plan.read_only || plan.blocking || plan.info == nullptr) return ReadFrom::primary;
  // HSCAN, SSCAN, ZSCAN: a cursor means nothing to another node.
  return plan.info->name.ends_with("SCAN") ? ReadFrom::primary : wanted;
}

routing::TimePoint special_deadline(const Plan& plan, const CallOptions& options,
                                    const Config& config, routing::TimePoint now) noexcept {
  if (options.timeout) {
    // As large as the caller likes; the clock ends somewhere.
    constexpr std::chrono::hours longest(24 * 365 * 10);
    return now + std::min<std::chrono::milliseconds>(*options.timeout, longest);
  }
  if (plan.block_time.count() == 0) return routing::TimePoint::max();
  return now + plan.block_time + config.timeout + config.blocking_margin;
}

}  // namespace slotwise::detail
