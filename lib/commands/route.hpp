// Where a command goes: `route(args)`.
//
// Thread rule: pure functions of their arguments; usable from any thread. Nothing here allocates.
//
// This is about clusters; with one server every command goes there. The answer is about slots and
// shards, never about nodes: which node owns a slot is the topology's business.
#pragma once

#include <cstdint>
#include <span>

#include "commands/command_info.hpp"
#include "commands/policy.hpp"

namespace slotwise::commands {

enum class Target : std::uint8_t {
  one_slot,     ///< the owner of `slot`
  any_primary,  ///< no key: any primary
  all_shards,   ///< every primary; combine() joins the answers
  all_nodes,    ///< every node, replicas too; combine() joins the answers
  multi_shard,  ///< keys in several slots; split() divides it, join() puts the answers together
  special,      ///< SCAN: each answer belongs to the node that gave it
  cross_slot,   ///< keys in several slots and not divisible: refuse, nothing is sent
  unknown,      ///< not in the table, or only COMMAND GETKEYS can tell: see learned.hpp
};

struct Routing {
  Target target = Target::unknown;
  /// A server will refuse this (arity, number of keys); it is sent all the same, to any primary, so
  /// that the caller gets the server's own words.
  bool malformed = false;
  std::uint16_t slot = 0;             ///< of the first key: one_slot, multi_shard, cross_slot
  std::uint16_t other_slot = 0;       ///< the first slot that differs: multi_shard, cross_slot
  std::uint32_t key = 0;              ///< position of the first key
  std::uint32_t other_key = 0;        ///< position of the first key in `other_slot`
  const CommandInfo* info = nullptr;  ///< null for a command that the table does not know

  bool has_key() const noexcept { return key != 0; }
  ResponsePolicy response_policy() const noexcept {
    return info != nullptr ? info->response_policy : ResponsePolicy::none;
  }
};

Routing route(Args args) noexcept;

/// The same for a command whose entry is known already, as with `of("GET")`.
Routing route(const CommandInfo& info, Args args) noexcept;

/// The same for a command whose keys COMMAND GETKEYS has told. `info` may be null.
Routing route_keys(const CommandInfo* info, Args args,
                   std::span<const std::uint32_t> keys) noexcept;

}  // namespace slotwise::commands
