// The link's bytes: replies from the socket to whom they are owed, calls into one write.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "link/link.hpp"
#include "resp/encoder.hpp"

namespace slotwise::link {
namespace {

// Enough for hundreds of small commands in one system call, small enough that a call which waits
// behind a full buffer is still known not to have been sent.
constexpr std::size_t output_limit = 64 * 1024;
constexpr std::size_t read_chunk = 32 * 1024;
constexpr int reads_per_event = 4;  // then other links get their turn

constexpr std::string_view asking_bytes = "*1\r\n$6\r\nASKING\r\n";
constexpr std::string_view ping_bytes = "*1\r\n$4\r\nPING\r\n";

}  // namespace

// --- reading ---------------------------------------------------------------------------------

void Link::on_events(std::uint32_t events) {
  const std::uint64_t generation = generation_;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
    read_some();
    if (generation != generation_) return;
  }
  if ((events & EPOLLOUT) != 0) flush();
}

void Link::read_some() {
  for (int round = 0; round < reads_per_event || stream_.has_pending(); ++round) {
    const std::span<char> space = parser_->prepare(read_chunk);
    const net::io_result got = stream_.read(space, net::io_mode::nonblocking);
    parser_->commit(got.bytes);
    if (got.bytes > 0) {
      last_progress_ = last_received_ = loop_.now();
      if (!deliver_replies()) return;
    }
    switch (got.status) {
      case net::io_status::ok:
        break;
      case net::io_status::want_read:
      case net::io_status::timed_out:
        return;
      case net::io_status::want_write:  // TLS wants to say something first
        loop_.modify(*this, EPOLLIN | EPOLLOUT);
        return;
      case net::io_status::eof:
        return fail(
            Error(ErrorCode::connection_lost, Outcome::unknown, "the node closed the connection"));
      case net::io_status::failed:
        return fail(Error(ErrorCode::connection_lost, Outcome::unknown,
                          "the connection broke: " + stream_.last_error().text));
    }
    if (got.bytes < space.size() && !stream_.has_pending()) return;
  }
}

/// A reply, to whom it is owed.
[[gnu::always_inline]] inline void Link::hand_over(ReplyView& reply) {
  if (state_ != State::ready || in_flight_.empty()) [[unlikely]] {
    return hand_over_early(reply);
  }
  const InFlight::Entry entry = in_flight_.pop();
  if (entry.call == nullptr) [[unlikely]] {
    return hand_over_own(entry.kind, reply);
  }
  owner_.on_reply(*this, *entry.call, reply);
}

/// False: the connection that the bytes came from is gone.
bool Link::deliver_replies() {
  const std::uint64_t generation = generation_;
  const bool nested = std::exchange(delivering_, true);
  bool more = true;
  while (more && generation == generation_) {
    ReplyView reply;
    if (parser_->next_scalar(reply)) [[likely]] {
      hand_over(reply);
    } else {
      more = deliver_other();
    }
  }
  delivering_ = nested;
  if (!nested) left_parser_.reset();
  return generation == generation_;
}

/// What is no plain scalar. False: nothing whole is left.
bool Link::deliver_other() {
  Reply whole;
  switch (parser_->next(whole)) {
    case resp::Status::need_more:
      return false;
    case resp::Status::error:
      fail(Error(ErrorCode::protocol, Outcome::unknown,
                 "not a RESP reply: " + std::string(parser_->protocol_error())));
      return false;
    case resp::Status::push:
      owner_.on_push(*this, std::move(whole));
      return true;
    case resp::Status::reply: {
      ReplyView reply(whole);
      hand_over(reply);
      return true;
    }
  }
  return false;
}

void Link::hand_over_early(ReplyView& reply) {
  if (state_ == State::handshake) return step_handshake(reply.take());
  fail(Error(ErrorCode::protocol, Outcome::unknown, "a reply that nobody asked for"));
}

/// To what the link said for itself, or for a call that nobody waits for.
void Link::hand_over_own(InFlight::Kind kind, ReplyView& reply) {
  if (kind == InFlight::Kind::own) {
    time_answer();
  } else if (kind == InFlight::Kind::auth) {
    if (reply.is_error()) owner_.on_auth_refused(*this, reply.take());
  }
}

/// PING leaves only when nothing else is owed, so what is answered first after it is the PING.
void Link::time_answer() {
  if (asked_at_ == TimePoint()) return;
  note_round_trip(loop_.now() - std::exchange(asked_at_, TimePoint()));
}

void Link::note_round_trip(Clock::duration time) noexcept {
  const auto us = std::max(std::chrono::microseconds(1),
                           std::chrono::duration_cast<std::chrono::microseconds>(time));
  round_trip_ = round_trip_.count() == 0 ? us : (round_trip_ * 7 + us) / 8;
}

// --- writing ---------------------------------------------------------------------------------

void Link::schedule_flush() {
  if (flush_scheduled_) return;
  flush_scheduled_ = true;
  loop_.defer(&flush_task_);
}

void Link::flush() {
  if (state_ != State::ready) {
    if (state_ == State::handshake) (void)write_output();
    return;
  }
  do {
    fill_output();
    if (!write_output()) return;
  } while (unsent_head_ != nullptr);
}

void Link::reauthenticate(const Credentials& fresh) {
  settings_.handshake.credentials = fresh;
  if (state_ != State::ready) return;  // the next handshake brings its own
  std::string bytes;
  if (fresh.username.empty()) {
    resp::append_command(bytes, std::array<std::string_view, 2>{"AUTH", fresh.password});
  } else {
    resp::append_command(bytes,
                         std::array<std::string_view, 3>{"AUTH", fresh.username, fresh.password});
  }
  if (in_flight_.empty()) last_progress_ = loop_.refresh_now();
  in_flight_.push(InFlight::Kind::auth);
  out_.append(bytes);
  stream_position_ += bytes.size();
  schedule(loop_.now() + silence_limit());
  schedule_flush();
}

/// Something of the link's own; its reply, error or not, is thrown away. (After a refused ASKING
/// the server answers the command with MOVED, and the ordinary rule applies.)
void Link::say(std::string_view bytes) {
  in_flight_.push(InFlight::Kind::own);
  out_.append(bytes);
  stream_position_ += bytes.size();
}

void Link::say_ping() {
  say(ping_bytes);
  asked_at_ = loop_.now();
}

void Link::fill_output() {
  if (unsent_head_ == nullptr) return;
  if (in_flight_.empty()) {
    last_progress_ = loop_.refresh_now();  // a callback may have taken its time before this
    schedule(last_progress_ + silence_limit());
  }
  const TimePoint now = loop_.now();
  Call* call = unsent_head_;
  for (; call != nullptr && out_.size() < output_limit; call = call->next_unsent) {
    if (call->prefix != Call::Prefix::none) [[unlikely]] {
      say(call->prefix == Call::Prefix::asking ? asking_bytes : ping_bytes);
    }
    in_flight_.push(*call, stream_position_);
    call->sent_at = now;
    out_.append(call->bytes);
    stream_position_ += call->bytes.size();
    --unsent_count_;
  }
  unsent_head_ = call;
  if (call == nullptr) unsent_tail_ = nullptr;
}

/// True: everything is written, and the connection still stands.
bool Link::write_output() {
  if (!out_.empty()) {
    const net::io_result put = stream_.write(out_.rest(), net::io_mode::nonblocking);
    out_.taken(put.bytes);
    if (put.bytes > 0) last_progress_ = loop_.now();
    switch (put.status) {
      case net::io_status::ok:
        break;
      case net::io_status::want_read:
        return false;  // TLS: the next EPOLLIN comes back here through flush()
      case net::io_status::want_write:
      case net::io_status::timed_out:
        loop_.modify(*this, EPOLLIN | EPOLLOUT);
        return false;
      case net::io_status::eof:
      case net::io_status::failed:
        // What the node said before it closed (an error line, replies) is still worth reading, and
        // EPOLLHUP or EPOLLIN brings it; closing here would throw it away.
        if (put.status == net::io_status::failed && !in_flight_.empty()) {
          const std::uint64_t generation = generation_;
          read_some();
          if (generation != generation_) return false;
        }
        fail(Error(ErrorCode::connection_lost, Outcome::unknown,
                   "the connection broke while writing: " + stream_.last_error().text));
        return false;
    }
  }
  if ((interest() & EPOLLOUT) != 0) loop_.modify(*this, EPOLLIN);
  return true;
}

}  // namespace slotwise::link
