// What a TOP-LEVEL error reply of a server means: the one place where its text is read.
//
// Thread rule: pure functions.
//
// Only the first word counts (behaviour: errors inside an array and bulk strings that look like an
// error are data; whoever calls this has made sure that the error stands alone).
#pragma once

#include <cstdint>
#include <string_view>

#include <slotwise/config.hpp>

namespace slotwise::topology {

enum class ErrorKind : std::uint8_t {
  other,             ///< any other error: deliver it
  moved,             ///< MOVED slot host:port
  ask,               ///< ASK slot host:port
  redirect,          ///< REDIRECT host:port (Valkey 8, after CLIENT CAPA redirect)
  malformed,         ///< MOVED, ASK or REDIRECT whose fields make no sense
  try_again,         ///< TRYAGAIN
  cluster_down,      ///< CLUSTERDOWN
  loading,           ///< LOADING
  master_down,       ///< MASTERDOWN
  read_only,         ///< READONLY
  no_script,         ///< NOSCRIPT
  no_auth,           ///< NOAUTH
  wrong_pass,        ///< WRONGPASS, and ERR of servers before 6.2 that mean the same
  no_perm,           ///< NOPERM
  cross_slot,        ///< CROSSSLOT
  no_proto,          ///< NOPROTO
  exec_abort,        ///< EXECABORT
  busy,              ///< BUSY: a script is running
  no_replicas,       ///< NOREPLICAS
  unknown_command,   ///< ERR unknown command, ERR unknown subcommand
  cluster_disabled,  ///< ERR This instance has cluster support disabled
  max_clients,       ///< ERR max number of clients reached; the server closes next
};

struct ServerError {
  ErrorKind kind = ErrorKind::other;
  std::uint16_t slot = 0;  ///< of moved and ask
  /// Of moved, ask and redirect. An empty host means the host of the connection that answered
  /// (the address in use, even if it was reached by name): see redirect_target().
  Endpoint endpoint{{}, 0};
  /// The server wrote "?": it names a node whose name it does not know. Refresh, then look up.
  bool endpoint_unknown = false;

  bool is_redirection() const noexcept {
    return kind == ErrorKind::moved || kind == ErrorKind::ask || kind == ErrorKind::redirect;
  }
};

/// `text` is the error without its '-', as Reply::text() has it. No allocation unless a redirect
/// names a long host.
ServerError parse_server_error(std::string_view text);

/// Where a redirect leads: its endpoint, or `answered_by` with its port if it names no host.
Endpoint redirect_target(const ServerError& error, const Endpoint& answered_by);

std::string_view to_string(ErrorKind kind) noexcept;

}  // namespace slotwise::topology
