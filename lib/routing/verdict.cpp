#include "routing/verdict.hpp"

namespace slotwise::routing {
namespace {

using topology::ErrorKind;
using topology::ServerError;

Verdict deliver(ErrorCode code, Outcome outcome = Outcome::rejected) {
  Verdict v;
  v.code = code;
  v.outcome = outcome;
  return v;
}

/// The server did not run it and may do so in a moment.
Verdict wait_and_retry(ErrorCode code) {
  Verdict v;
  v.action = Action::retry;
  v.pause = true;
  v.code = code;
  return v;
}

/// A replica answers to what only a primary may do.
Verdict judge_demoted() {
  Verdict v = wait_and_retry(ErrorCode::read_only);
  v.refresh = v.close_node = true;
  return v;
}

Verdict judge_moved(const ServerError& error, const Facts& facts) {
  // A redirect about another slot is not about this command: data for the caller.
  if (facts.target != Target::slot || error.slot != facts.slot) return deliver(ErrorCode::server);
  Verdict v;
  v.code = ErrorCode::too_many_redirects;
  v.refresh = true;
  if (facts.redirects >= facts.max_redirects) return v;
  if (error.endpoint_unknown) {
    v.action = Action::retry;
    v.pause = true;
    return v;
  }
  v.pause = facts.redirects >= unpaused_redirects;
  if (facts.answered_by_named) {
    // The name leads somewhere else now, or the node is changing roles: connect anew.
    v.action = Action::retry;
    v.close_node = true;
    v.pause = true;
    return v;
  }
  v.action = Action::follow;
  v.patch_map = true;
  return v;
}

Verdict judge_ask(const ServerError& error, const Facts& facts) {
  if (facts.target != Target::slot || error.slot != facts.slot) return deliver(ErrorCode::server);
  Verdict v;
  v.code = ErrorCode::too_many_redirects;
  if (facts.redirects >= facts.max_redirects) return v;
  if (error.endpoint_unknown) {
    v.action = Action::retry;
    v.refresh = v.pause = true;
    return v;
  }
  v.action = Action::follow;
  v.asking = true;
  v.pause = facts.redirects >= unpaused_redirects;
  return v;
}

/// A script that fails may have written before. Only errors from before its first command are sure.
Outcome script_outcome(std::string_view text) {
  const bool before_it_ran =
      text.starts_with("NOSCRIPT") || text.starts_with("BUSY") ||
      text.starts_with("ERR wrong number of arguments") || text.starts_with("ERR Number of keys") ||
      text.starts_with("ERR Error compiling script") || text.starts_with("ERR Function not found");
  return before_it_ran ? Outcome::rejected : Outcome::unknown;
}

}  // namespace

Verdict judge_reply(const ServerError& error, std::string_view text, const Facts& facts) {
  // Whoever names a node wants to hear that node.
  const bool anywhere = facts.target != Target::fixed_node;
  switch (error.kind) {
    case ErrorKind::moved:
      return anywhere ? judge_moved(error, facts) : deliver(ErrorCode::server);
    case ErrorKind::ask:
      return anywhere ? judge_ask(error, facts) : deliver(ErrorCode::server);
    case ErrorKind::redirect: {
      if (!anywhere || facts.mode == Mode::cluster) return deliver(ErrorCode::server);
      // Who the primary is only the sentinels say.
      if (facts.mode == Mode::sentinel) return judge_demoted();
      Verdict v;
      v.code = ErrorCode::too_many_redirects;
      if (facts.redirects >= facts.max_redirects) return v;
      v.action = Action::follow;
      v.patch_map = true;
      v.pause = facts.redirects >= unpaused_redirects;
      return v;
    }
    case ErrorKind::try_again: {
      if (!anywhere) return deliver(ErrorCode::try_again);
      Verdict v = wait_and_retry(ErrorCode::try_again);
      v.same_node = true;
      return v;
    }
    case ErrorKind::cluster_down: {
      if (!anywhere) return deliver(ErrorCode::cluster_down);
      Verdict v = wait_and_retry(ErrorCode::cluster_down);
      v.refresh = true;
      v.pause = !facts.on_replica;
      v.pass_over = facts.on_replica;
      return v;
    }
    case ErrorKind::loading:
    case ErrorKind::master_down: {
      if (!anywhere) return deliver(ErrorCode::loading);
      Verdict v = wait_and_retry(ErrorCode::loading);
      // A replica read goes to the primary at once.
      v.pause = !facts.on_replica;
      v.pass_over = facts.on_replica;
      return v;
    }
    case ErrorKind::read_only: {
      if (!anywhere) return deliver(ErrorCode::read_only);
      return judge_demoted();
    }
    case ErrorKind::no_script: {
      Verdict v = deliver(ErrorCode::server);
      if (facts.has_script_body) v.action = Action::run_script;
      return v;
    }
    case ErrorKind::no_auth:
    case ErrorKind::wrong_pass:
    case ErrorKind::no_perm: {
      Verdict v = deliver(ErrorCode::auth_failed);
      if (!facts.fresh_credentials) return v;
      v.action = Action::retry;
      v.reauthenticate = v.same_node = true;
      return v;
    }
    case ErrorKind::cross_slot:
      return deliver(ErrorCode::cross_slot);
    case ErrorKind::malformed:
    case ErrorKind::no_proto:
    case ErrorKind::exec_abort:
    case ErrorKind::busy:
    case ErrorKind::no_replicas:
    case ErrorKind::unknown_command:
    case ErrorKind::cluster_disabled:
    case ErrorKind::max_clients:
      return deliver(ErrorCode::server);
    case ErrorKind::other:
      break;
  }
  return deliver(ErrorCode::server,
                 facts.may_run_in_part ? script_outcome(text) : Outcome::rejected);
}

Verdict judge_failure(const Error& error, const Facts& facts) {
  Verdict v;
  v.code = error.code();
  v.outcome = error.outcome();
  switch (error.code()) {
    case ErrorCode::cancelled:
      return v;
    case ErrorCode::auth_failed:
    case ErrorCode::invalid_argument:
      // Trying again cannot help, and a loop of refused passwords locks accounts.
      return v;
    default:
      break;
  }
  v.node_failed = v.refresh = true;
  if (error.code() == ErrorCode::protocol) v.refresh = false;
  if (facts.single_attempt) return v;
  if (error.outcome() == Outcome::unknown && !facts.retry_safe) return v;
  v.action = Action::retry;
  v.pause = !facts.on_replica;  // the primary can answer it
  return v;
}

}  // namespace slotwise::routing
