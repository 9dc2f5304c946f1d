// One command on its way through a link.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>

namespace slotwise::link {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// What a link needs to know of a call. The call is owned by whoever submitted it and must live
/// until the link has handed it back by LinkOwner::on_reply, on_call_failed or on_call_expired, or
/// until forget() took it away.
struct Call {
  std::string_view bytes;  ///< one encoded command; valid as long as the call
  TimePoint deadline = TimePoint::max();
  /// Said directly before it on the same connection; its reply is thrown away. ASKING: see the
  /// cluster specification. PING before WAIT: a server waits for the writes up to the connection's
  /// previous command, whoever made them.
  enum class Prefix : std::uint8_t { none, asking, ping } prefix = Prefix::none;

  // The link's own book-keeping.
  Call* next_unsent = nullptr;
  std::uint64_t ticket = 0;  ///< place in the in-flight FIFO while `where` is in_flight
  std::uint64_t start = 0;   ///< where it begins in the connection's byte stream, likewise
  TimePoint sent_at{};
  enum class Where : std::uint8_t { outside, unsent, in_flight } where = Where::outside;
};

class Link;

/// Receives everything that happens on a link. All functions are called on the link's loop thread;
/// each may submit new calls to any link, but must not destroy the link that calls.
class LinkOwner {
 public:
  /// The reply to `call`, which the link has let go of. The hot path. `reply` is valid until this
  /// returns, whatever becomes of the link meanwhile.
  virtual void on_reply(Link& link, Call& call, ReplyView& reply) = 0;
  /// `call` cannot be answered any more. Error::outcome() is not_sent or unknown.
  virtual void on_call_failed(Link& link, Call& call, const Error& error) = 0;
  /// The call's own deadline passed; `sent` tells whether bytes of it may have left.
  virtual void on_call_expired(Link& link, Call& call, bool sent) = 0;
  virtual void on_push(Link& link, Reply&& push) = 0;
  /// Calls have been waiting for a connection for a while, and still are: perhaps they had better
  /// go elsewhere. Told again and again.
  virtual void on_stalled(Link& link) = 0;
  /// Link::reauthenticate() was answered with this error.
  virtual void on_auth_refused(Link& link, const Reply& error) = 0;
  virtual void on_ready(Link& link) = 0;
  /// The connection ended or could not be made. Its calls were handed back before.
  virtual void on_down(Link& link, const Error& error, bool was_ready) = 0;

 protected:
  ~LinkOwner() = default;
};

}  // namespace slotwise::link
