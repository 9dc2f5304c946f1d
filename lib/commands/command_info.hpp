// What is known about a command before it is sent: `find("OBJECT", "ENCODING")`.
//
// Thread rule: the table is constant; everything here may be used from any thread.
//
// Invariants:
//  1. Facts that the server states are generated (command_table.inc); facts that it does not state
//     are decided in hand_rules.hpp, each with its reason.
//  2. A pointer from find() stays valid for ever and is the same for the same command, so entries
//     may be compared by address.
//  3. Nothing here allocates or throws.
//
// Arguments are always the whole command, its name first: positions are the server's own
// (`argv[0]` is the name, so the key of GET is at 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "commands/policy.hpp"

namespace slotwise::commands {

/// A whole command, its name first.
using Args = std::span<const std::string_view>;

/// The flags of COMMAND's reply; the last three are the tips that are no policy, and "has
/// subcommands".
enum class Flag : std::uint32_t {
  write = 1U << 0,
  readonly = 1U << 1,
  denyoom = 1U << 2,
  admin = 1U << 3,
  pubsub = 1U << 4,
  noscript = 1U << 5,
  blocking = 1U << 6,
  loading = 1U << 7,
  stale = 1U << 8,
  no_auth = 1U << 9,
  no_async_loading = 1U << 10,
  no_mandatory_keys = 1U << 11,
  movablekeys = 1U << 12,
  fast = 1U << 13,
  asking = 1U << 14,
  allow_busy = 1U << 15,
  no_multi = 1U << 16,
  skip_monitor = 1U << 17,
  skip_commandlog = 1U << 18,
  module = 1U << 19,
  nondeterministic_output = 1U << 29,
  nondeterministic_output_order = 1U << 30,
  container = 1U << 31,
};

/// What a command does with a key ("Command key specifications", section "flags").
enum class KeyFlag : std::uint16_t {
  ro = 1U << 0,
  rw = 1U << 1,
  ow = 1U << 2,
  rm = 1U << 3,
  access = 1U << 4,
  update = 1U << 5,
  insert = 1U << 6,
  remove = 1U << 7,   ///< "delete" in the documentation
  not_key = 1U << 8,  ///< decides the slot like a key but is none (channel of SPUBLISH)
  incomplete = 1U << 9,
  variable_flags = 1U << 10,
};

/// One rule of where keys stand; the server's own form of it.
struct KeySpec {
  enum class Begin : std::uint8_t { index, keyword, unknown };
  enum class Find : std::uint8_t { range, keynum, unknown };

  Begin begin;
  std::int16_t start;        ///< index: position of the first key or count; keyword: where to look
  std::string_view keyword;  ///< only for keyword
  Find find;
  std::int16_t last;   ///< range: last key (negative: from the end); keynum: position of the count
  std::int16_t step;   ///< distance of two keys
  std::int16_t limit;  ///< range: 2 = the first half of the rest ...; keynum: first key
  std::uint16_t flags;

  constexpr bool is(KeyFlag flag) const noexcept {
    return (flags & static_cast<std::uint16_t>(flag)) != 0;
  }
};

/// How keys are found where the specifications of the server are missing, incomplete or wrong.
enum class KeyRule : std::uint8_t {
  specs,           ///< the specifications say it
  single,          ///< the specifications say: one key at CommandInfo::single_key
  stream_read,     ///< XREAD, XREADGROUP
  sort,            ///< SORT, SORT_RO
  migrate,         ///< MIGRATE
  geo_store,       ///< GEORADIUS, GEORADIUSBYMEMBER
  slot_argument,   ///< no key, but a slot number (CLUSTER COUNTKEYSINSLOT)
  ask_the_server,  ///< only COMMAND GETKEYS knows (a learned command)
};

/// Where a blocking command keeps the time that it may wait on the server.
enum class BlockRule : std::uint8_t {
  never,
  first_seconds,  ///< the first argument, in seconds (BLMPOP)
  last_seconds,   ///< the last argument, in seconds (BLPOP)
  last_millis,    ///< the last argument, in milliseconds (WAIT)
  stream_read,    ///< the argument of BLOCK, in milliseconds; without BLOCK it never blocks
  unknown_time,   ///< it may block and nobody says for how long (a learned command)
};

struct CommandInfo {
  std::string_view name;   ///< "GET", "OBJECT ENCODING": upper case, one space
  std::int16_t arity = 0;  ///< name included; negative: at least that many
  std::uint8_t single_key = 0;
  std::uint8_t name_words = 1;  ///< 2 for a subcommand
  std::uint32_t flags = 0;
  RequestPolicy request_policy = RequestPolicy::none;
  ResponsePolicy response_policy = ResponsePolicy::none;
  KeyRule key_rule = KeyRule::specs;
  BlockRule block_rule = BlockRule::never;
  bool harmless = false;        ///< changes nothing although not flagged readonly (PING)
  bool simple = false;          ///< one key at single_key, never blocks, no script, not refused
  bool slot_unchecked = false;  ///< see hand_rules.hpp: a wrong node would run it
  std::span<const KeySpec> key_specs = {};  ///< in the order of the server
  std::string_view refusal = {};            ///< see refused_because()

  constexpr bool is(Flag flag) const noexcept {
    return (flags & static_cast<std::uint32_t>(flag)) != 0;
  }
  /// "OBJECT" of "OBJECT ENCODING"; empty for a command that is none's subcommand.
  constexpr std::string_view container() const noexcept {
    return name_words == 2 ? name.substr(0, name.find(' ')) : std::string_view();
  }
  constexpr bool read_only() const noexcept { return is(Flag::readonly); }
  /// True if the command may be sent again after it was sent and no reply came. Only what the
  /// server itself flags as a pure read, and the few commands of `harmless`. A script without _RO
  /// may write, so EVAL, EVALSHA and FCALL are not; nothing is guessed about idempotent writes.
  constexpr bool retry_safe() const noexcept { return read_only() || harmless; }
  /// The server would accept this number of arguments.
  constexpr bool arity_fits(std::size_t count) const noexcept {
    return arity >= 0 ? count == static_cast<std::size_t>(arity)
                      : count >= static_cast<std::size_t>(-arity);
  }
};

/// The entry of a command, in any case of letters; null if the table does not know it.
///
/// `subcommand` may be any first argument: it is looked at only if the command has subcommands. A
/// subcommand that the table does not know gives null (a newer server may know it), a container
/// without one gives the container itself.
const CommandInfo* find(std::string_view name, std::string_view subcommand = {}) noexcept;

/// The entry of a whole command.
inline const CommandInfo* find(Args args) noexcept {
  if (args.empty()) return nullptr;
  return find(args[0], args.size() > 1 ? args[1] : std::string_view());
}

/// All entries, sorted by name.
std::span<const CommandInfo> all() noexcept;

/// Why a shared connection must not carry this command, and what to use instead, as one sentence;
/// empty if it may be sent. These commands change the state of the connection that they travel on,
/// which is other callers' connection as well.
inline std::string_view refused_because(const CommandInfo& info) noexcept {
  return info.refusal;
}
std::string_view refused_because(Args args) noexcept;

/// Equal without regard to the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b) noexcept;

}  // namespace slotwise::commands
