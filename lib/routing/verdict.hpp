// What to do after an attempt that did not bring a plain reply: the only place where a redirect or
// a retry is decided.
//
// Thread rule: pure functions.
//
// Rows of the table that this implements: lib/README.md, "What a reply means".
#pragma once

#include <cstdint>
#include <string_view>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include "routing/request.hpp"
#include "topology/redirect.hpp"

namespace slotwise::routing {

/// What the decision depends on, apart from the event itself.
struct Facts {
  Target target = Target::any_primary;
  std::uint16_t slot = 0;
  Mode mode = Mode::cluster;
  bool single_attempt = false;  ///< whatever happens is the answer
  bool retry_safe = false;
  bool may_run_in_part = false;
  bool may_have_run = false;  ///< an earlier attempt ended unknown
  bool on_replica = false;
  bool has_script_body = false;
  bool fresh_credentials = false;  ///< there are others than those that the node refused
  bool answered_by_named = false;  ///< a redirect named the very address that answered
  int redirects = 0;
  int max_redirects = 16;
};

enum class Action : std::uint8_t {
  deliver,     ///< the error is the caller's
  follow,      ///< the same bytes to the node that the redirect names
  retry,       ///< look up again and send again
  run_script,  ///< EVAL with the body instead of EVALSHA, to the same node
};

struct Verdict {
  Action action = Action::deliver;
  bool asking = false;          ///< with follow: ASKING directly before it
  bool patch_map = false;       ///< the slot belongs to the named node
  bool refresh = false;         ///< ask for a fresh map
  bool close_node = false;      ///< close ALL connections to the node that answered
  bool node_failed = false;     ///< the node counts as failed when it is asked for its view
  bool pass_over = false;       ///< the replica is not read from for a while
  bool reauthenticate = false;  ///< the node's connections take over the fresh credentials
  bool same_node = false;       ///< with retry: not a question of who owns the slot
  bool pause = false;           ///< backoff before the next attempt
  /// What the caller is told if this was the last word (deliver, or the deadline comes first).
  ErrorCode code = ErrorCode::server;
  Outcome outcome = Outcome::rejected;
};

/// After this many redirects one after the other each further one waits: two nodes that point at
/// each other must not be asked in a hot loop.
inline constexpr int unpaused_redirects = 5;

/// A top-level error reply.
Verdict judge_reply(const topology::ServerError& error, std::string_view text, const Facts& facts);

/// No reply: the connection could not be made or broke. `error.outcome()` is not_sent or unknown.
Verdict judge_failure(const Error& error, const Facts& facts);

/// The outcome to tell the caller after the last attempt ended with `last`.
constexpr Outcome overall_outcome(Outcome last, bool may_have_run) noexcept {
  return may_have_run ? Outcome::unknown : last;
}

}  // namespace slotwise::routing
