// One call on its way through the client: what to send, where, until when, and what has happened
// to it so far.
//
// Thread rule: built by the caller's thread; from the moment it is handed to the dispatcher until
// deliver() it belongs to the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/result.hpp>

#include "commands/command_info.hpp"
#include "link/call.hpp"
#include "net/loop.hpp"
#include "topology/redirect.hpp"

namespace slotwise::routing {

using link::Clock;
using link::TimePoint;
using std::chrono::milliseconds;

class Node;
class Batch;
class FanOut;
struct Trouble;

/// Who may answer.
enum class Target : std::uint8_t {
  slot,         ///< a node of the slot's shard
  any_primary,  ///< any primary: no key decides
  fixed_node,   ///< this very node, whatever it answers: redirects are data
};

class Request : public link::Call, public net::Task {
 public:
  Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request();

  /// As if it were new, but for the memory of `encoded`.
  void reset() noexcept;

  /// The end: called exactly once, on the loop's thread (or on the caller's, in direct mode). The
  /// request may be gone when it returns.
  virtual void deliver(Result<Reply>&& result) noexcept = 0;

  std::string encoded;  ///< what `bytes` refers to, unless the caller lends its own memory

  // --- what and where: set before the start -------------------------------------------------
  Target target = Target::any_primary;
  std::uint16_t slot = 0;
  bool read_only = false;        ///< may be answered by a replica
  bool retry_safe = false;       ///< may run twice: outcome `unknown` is tried again
  bool may_run_in_part = false;  ///< a script: its own error does not mean that nothing happened
  bool single_attempt = false;   ///< whatever happens is the answer: no redirect, no retry
  bool wants_ping = false;       ///< WAIT: see link::Call::Prefix::ping
  bool blocking = false;         ///< waits on the server: gets a connection of its own
  ReadFrom read_from = ReadFrom::primary;  ///< other than primary only if a replica may answer
  milliseconds block_time{0};       ///< server-side wait of a blocking command; zero: for ever
  Node* fixed_node = nullptr;       ///< only for Target::fixed_node
  std::unique_ptr<FanOut> fan_out;  ///< it is sent as several
  std::shared_ptr<const std::string> script_body;  ///< EVALSHA: what to EVAL after -NOSCRIPT

  // --- what has happened: the dispatcher's --------------------------------------------------
  Node* node = nullptr;       ///< of the attempt under way, or of the last one
  Node* next_node = nullptr;  ///< the next attempt goes there (MOVED, ASK)
  Batch* batch = nullptr;     ///< the pipeline it is part of
  std::uint16_t attempts = 0;
  std::uint16_t redirects = 0;
  bool may_have_run = false;         ///< an attempt ended unknown
  bool reauthenticated = false;      ///< tried again with fresh credentials already
  bool on_replica = false;           ///< the attempt under way goes to a replica
  std::unique_ptr<Trouble> trouble;  ///< only once something went wrong
};

}  // namespace slotwise::routing
