// ONE connection to ONE node, driven by the loop: connect, handshake, in-flight FIFO, write
// batching, pushes, health check, reconnect.
//
// Thread rule: everything on the loop's thread.
//
// Invariants
//  1. A submitted call is handed back exactly once: on_reply, on_call_failed, on_call_expired,
//     take_unsent() or forget().
//  2. Replies are matched to calls in the order of sending. A reply that nobody is owed closes the
//     connection: after it no match could be trusted.
//  3. A call is reported `not_sent` exactly if no byte of it was taken by the socket.
//  4. While a reply is owed, the node may be silent for `silence_limit` at most; then the
//     connection is closed. A connection on which nothing is owed is asked by PING.
//  5. After a failed connect the next one waits (backoff with jitter); calls submitted meanwhile
//     wait with it, and fail together if it fails too.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "link/call.hpp"
#include "link/handshake.hpp"
#include "link/in_flight.hpp"
#include "link/out_buffer.hpp"
#include "net/connector.hpp"
#include "net/loop.hpp"
#include "net/resolver.hpp"
#include "net/stream.hpp"
#include "resp/parser.hpp"

namespace slotwise::link {

using std::chrono::milliseconds;

/// Asked for at every connect, so that addresses, credentials and certificates are the newest.
struct LinkSettings {
  net::endpoint endpoint;
  net::connect_settings connect;
  HandshakeSettings handshake;
  resp::Limits limits;
  milliseconds connect_timeout{2000};
  milliseconds silence_limit{1000};
  milliseconds health_check_interval{10'000};  ///< 0: no PING
  milliseconds reconnect_pause_min{50};
  milliseconds reconnect_pause_max{1000};
};

class Link;

class LinkSettingsSource {
 public:
  virtual LinkSettings link_settings(const Link& link) = 0;

 protected:
  ~LinkSettingsSource() = default;
};

/// A connection that has finished its handshake, taken out of its link.
struct Established {
  net::Stream stream;
  std::unique_ptr<resp::Parser> parser;
};

class Link final : private net::Watcher, private net::ConnectHandler {
 public:
  Link(net::Loop& loop, net::Resolver& resolver, LinkSettingsSource& source, LinkOwner& owner);
  ~Link();

  /// How often the owner is told of calls that wait for a connection.
  static constexpr milliseconds stall_interval{500};

  /// Sends the call as soon as the connection is ready; connects if there is none.
  void submit(Call& call) {
    push_unsent(call);
    if (state_ != State::ready || !flush_scheduled_ || call.deadline < earliest_deadline_)
        [[unlikely]] {
      prepare_for(call);
    }
  }
  /// Connects although there is nothing to send.
  void connect();
  /// Hands back all calls (sent ones as unknown) and closes. The link can be used again. A planned
  /// close does not delay the next connect.
  void close(const Error& why);
  /// Takes the calls of which no byte has left, as a list through Call::next_unsent.
  Call* take_unsent() noexcept;
  /// The caller is not interested any more. The reply, if one comes, is thrown away.
  void forget(Call& call) noexcept;
  /// The next connect need not wait: the node has a new address or was seen alive.
  void reset_backoff() noexcept;
  /// Takes the connection away from the link; only when ready and nothing is owed.
  Established release();

  /// For blocking commands: how long the node may be silent; zero: for ever.
  void set_silence_limit(milliseconds limit) noexcept { silence_override_ = limit; }
  /// A call that expires closes the connection, so that the server drops it too.
  void close_when_expired(bool on) noexcept { close_when_expired_ = on; }

  bool ready() const noexcept { return state_ == State::ready; }
  bool connected_or_trying() const noexcept { return state_ != State::idle; }
  std::size_t calls() const noexcept { return unsent_count_ + in_flight_.size(); }
  const std::string& node_id() const noexcept { return node_id_; }
  const std::string& availability_zone() const noexcept { return zone_; }
  /// Of RESP, as the handshake of the last connection settled it.
  int protocol() const noexcept { return protocol_; }
  /// The last connects failed, and none has succeeded since.
  bool failing() const noexcept { return failures_ > 0; }
  /// Smoothed time from question to answer, from the handshake and from PING on a silent
  /// connection; zero: not known. note_round_trip() adds what the owner measures on a busy one.
  std::chrono::microseconds round_trip() const noexcept { return round_trip_; }
  void note_round_trip(Clock::duration time) noexcept;
  /// Says AUTH with these, ahead of whatever is submitted later. A refusal is reported by
  /// LinkOwner::on_auth_refused; the connection then keeps the identity that it had.
  void reauthenticate(const Credentials& credentials);
  /// The credentials of the connection, or of the last attempt to make one.
  const Credentials& credentials() const noexcept { return settings_.handshake.credentials; }
  /// "ip:port" in use; empty when not connected.
  std::string peer() const;

 private:
  enum class State : std::uint8_t { idle, paused, connecting, handshake, ready };
  struct FlushTask : net::Task {
    Link* link = nullptr;
  };

  void on_events(std::uint32_t events) override;
  void on_connect(net::connect_result result) override;

  void dial();
  void read_some();
  bool deliver_replies();
  bool deliver_other();
  void hand_over(ReplyView& reply);
  void hand_over_early(ReplyView& reply);
  void hand_over_own(InFlight::Kind kind, ReplyView& reply);
  void step_handshake(const Reply& reply);
  bool dial_with_fresh_credentials();
  void become_ready();
  void time_answer();
  void schedule_flush();
  void flush();
  void say(std::string_view bytes);
  void say_ping();
  void fill_output();
  bool write_output();
  void fail(const Error& why);
  void hand_back_all(const Error& why);
  void disconnect() noexcept;
  void on_timer();
  void expire_calls(TimePoint now);
  void schedule(TimePoint at);
  void rearm(TimePoint now);
  milliseconds silence_limit() const noexcept;
  void push_unsent(Call& call) noexcept {
    call.next_unsent = nullptr;
    call.where = Call::Where::unsent;
    if (unsent_tail_ != nullptr) {
      unsent_tail_->next_unsent = &call;
    } else {
      unsent_head_ = &call;
    }
    unsent_tail_ = &call;
    ++unsent_count_;
  }
  void prepare_for(const Call& call);

  net::Loop& loop_;
  LinkSettingsSource& source_;
  LinkOwner& owner_;
  net::Connector connector_;
  net::Timer timer_ = net::Timer::calling<&Link::on_timer>(this);
  FlushTask flush_task_;
  bool flush_scheduled_ = false;
  bool close_when_expired_ = false;
  bool wanted_ = false;  // connect() was called: dial after the pause although nothing waits
  State state_ = State::idle;
  std::uint64_t generation_ = 0;  // grows at every disconnect: callbacks may close the link

  LinkSettings settings_;
  net::Stream stream_;
  std::unique_ptr<resp::Parser> parser_;
  std::unique_ptr<resp::Parser> left_parser_;  // of a connection that ended amid a delivery
  bool delivering_ = false;
  std::unique_ptr<Handshake> handshake_;
  InFlight in_flight_;

  Call* unsent_head_ = nullptr;
  Call* unsent_tail_ = nullptr;
  std::size_t unsent_count_ = 0;

  OutBuffer out_;
  std::uint64_t stream_position_ = 0;  // of out_'s end, since the connection began

  TimePoint last_progress_{};                       // a byte came or went, or something became owed
  TimePoint last_received_{};                       // a byte came
  TimePoint earliest_deadline_ = TimePoint::max();  // of all calls; may be too early, never late
  TimePoint connect_deadline_{};                    // DNS, TCP, TLS and handshake together
  TimePoint pause_until_{};
  TimePoint stall_told_{};  // when the owner was last told that calls wait for the connection
  milliseconds silence_override_{-1};
  int failures_ = 0;                     // connects in a row that failed
  std::vector<net::address> strangers_;  // answered as another node since the last one that did not
  bool credentials_refreshed_ = false;   // since the last connection that became ready
  TimePoint asked_at_{};                 // of the handshake or PING whose answer is to be timed
  std::chrono::microseconds round_trip_{0};
  std::string node_id_;
  std::string zone_;
  int protocol_ = 0;
};

}  // namespace slotwise::link
