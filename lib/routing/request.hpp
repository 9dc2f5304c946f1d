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
#include <span>
#include <string>
#include <string_view>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>
#include <slotwise/result.hpp>

#include "commands/command_info.hpp"
#include "link/call.hpp"
#include "net/loop.hpp"
#include "resp/encoder.hpp"
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

/// What a command asks of whoever sends it. Small, because it is copied for each.
struct Kind {
  Target target = Target::any_primary;
  bool read_only = false;        ///< may be answered by a replica
  bool retry_safe = false;       ///< may run twice: outcome `unknown` is tried again
  bool may_run_in_part = false;  ///< a script: its own error does not mean that nothing happened
  bool blocking = false;         ///< waits on the server: gets a connection of its own
  bool wants_ping = false;       ///< WAIT: see link::Call::Prefix::ping
  std::uint16_t slot = 0;
  ReadFrom read_from = ReadFrom::primary;  ///< other than primary only if a replica may answer
  milliseconds block_time{0};  ///< server-side wait of a blocking command; zero: for ever
};

class Request : public link::Call, public net::Task, public Kind {
 public:
  Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request();

  /// As if it had not been started yet.
  void forget_history() noexcept {
    node = next_node = nullptr;
    attempts = redirects = 0;
    may_have_run = reauthenticated = on_replica = false;
  }

  /// The end: called exactly once, on the loop's thread (or on the caller's, in direct mode). The
  /// request may be gone when it returns.
  virtual void deliver(Result<Reply>&& result) noexcept = 0;
  /// The same for a reply that is no error and lies in a connection's buffer.
  virtual void deliver_view(ReplyView& reply) noexcept;

  /// Makes `bytes` of the words, which begin with those of `head` if that has any.
  void encode(const resp::Head& head, std::span<const std::string_view> words) {
    const std::size_t size = resp::write_if_fits(small_, sizeof small_, head, words);
    if (size == 0) [[unlikely]] {
      return encode_long(words);
    }
    bytes = {small_, size};
  }
  void encode(std::span<const std::string_view> words) { encode(resp::Head(), words); }

  std::string encoded;  ///< what `bytes` refers to, if it is not small or lent by the caller

  // --- what and where: set before the start -------------------------------------------------
  // (and the members of Kind)
  bool single_attempt = false;      ///< whatever happens is the answer: no redirect, no retry
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

 private:
  void encode_long(std::span<const std::string_view> words);

  char small_[144];  // where a short command is written: SET of 64 bytes, say
};

}  // namespace slotwise::routing
