// What went wrong, and whether the command ran.
//
// Thread rule: Error is a cheap value to copy; copies may be used from any thread.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include <slotwise/export.hpp>

namespace slotwise {

/// Whether a failed command was executed. This is the promise that every error keeps.
enum class Outcome : std::uint8_t {
  not_sent,  ///< no byte of it left this process: it did not run
  rejected,  ///< the server answered that it did not run it
  unknown,   ///< bytes left and no reply came: it may or may not have run
  executed,  ///< it ran and was answered; only the answer could not be used (see type_mismatch)
};

/// The kinds of failure. Stable: new ones are added at the end.
enum class ErrorCode : std::uint8_t {
  invalid_argument,    ///< URI, config or arguments of the call are wrong; text names the mend
  refused,             ///< a command that this client must not send; text names what to use
  cross_slot,          ///< keys of one command lie in different slots; text names two of them
  queue_full,          ///< Config::max_pending calls are waiting already
  cancelled,           ///< the client was closed, or the call was cancelled
  timeout,             ///< the call's deadline passed
  connect_failed,      ///< no connection: each address that was tried with its reason
  auth_failed,         ///< credentials missing, wrong, or not allowed (NOAUTH, WRONGPASS, NOPERM)
  tls_failed,          ///< TLS handshake or certificate; text names expected and presented names
  connection_lost,     ///< the connection broke while the call was in flight
  protocol,            ///< bytes that are not RESP, or more than a configured limit
  wrong_node,          ///< the address answers with another node id than the topology says
  not_a_cluster,       ///< cluster mode was asked for and the server has none, or knows no slots
  slot_not_covered,    ///< nobody owns the slot
  cluster_down,        ///< -CLUSTERDOWN until the deadline
  try_again,           ///< -TRYAGAIN until the deadline
  loading,             ///< -LOADING, -MASTERDOWN until the deadline
  read_only,           ///< -READONLY until the deadline
  too_many_redirects,  ///< Config::max_redirects passed; text has the path taken
  no_primary,          ///< Sentinel: nobody names a server that is a primary
  server,              ///< any other error reply; server_text() has it whole
  type_mismatch,       ///< the reply is not of the type asked for
  overtaken,           ///< pipeline: a later command on the same slot ran already, so this one,
                       ///< which the server had rejected, was not tried again
  sentinels_unreachable,  ///< no sentinel answers: each that was tried with its reason
  unknown_primary,        ///< sentinels answer, and none of them knows Config::sentinel_name
  not_split,              ///< hot keys: the key is not split, or is split as the other kind
  damaged,     ///< hot keys: the manifest or a copy is not what the library writes; text names it
  incomplete,  ///< hot keys: a part of a counter cannot be read, so there is no sum
};

SLOTWISE_API std::string_view to_string(Outcome outcome) noexcept;
SLOTWISE_API std::string_view to_string(ErrorCode code) noexcept;

/// The one root of all errors of this library: thrown by the synchronous face, carried by
/// `Result<T>` elsewhere.
class SLOTWISE_API Error : public std::exception {
 public:
  Error(ErrorCode code, Outcome outcome, std::string message);

  ErrorCode code() const noexcept { return code_; }
  Outcome outcome() const noexcept { return outcome_; }
  /// True when the command certainly did not run.
  bool did_not_run() const noexcept {
    return outcome_ == Outcome::not_sent || outcome_ == Outcome::rejected;
  }

  /// One readable sentence with the cause. Never holds a password or a value.
  const char* what() const noexcept override;
  std::string_view message() const noexcept;
  /// "host:port" of the last node tried; empty if none was.
  std::string_view node() const noexcept;
  /// How often the command was given to a node, redirects included.
  int attempts() const noexcept;
  /// The server's error line as it came, without the leading '-'; empty if no server spoke.
  std::string_view server_text() const noexcept;

  /// Copies of this error with more known about it.
  Error with_node(std::string node) const;
  Error with_attempts(int attempts) const;
  Error with_server_text(std::string text) const;
  Error with_outcome(Outcome outcome) const;
  Error with_message(std::string message) const;

 private:
  struct Detail;
  Error with(Detail detail) const;

  ErrorCode code_;
  Outcome outcome_;
  std::shared_ptr<const Detail> detail_;
};

}  // namespace slotwise
