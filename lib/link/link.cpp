#include "link/link.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "resp/encoder.hpp"

namespace slotwise::link {
namespace {

// Enough for hundreds of small commands in one system call, small enough that a call which waits
// behind a full buffer is still known not to have been sent.
constexpr std::size_t output_limit = 64 * 1024;
constexpr std::size_t output_keep = 256 * 1024;  // a larger buffer is given back when it is empty
constexpr std::size_t read_chunk = 32 * 1024;
constexpr int reads_per_event = 4;  // then other links get their turn

constexpr std::string_view asking_bytes = "*1\r\n$6\r\nASKING\r\n";
constexpr std::string_view ping_bytes = "*1\r\n$4\r\nPING\r\n";

Error connect_error(const net::error& e) {
  const ErrorCode code =
      e.code == net::errc::tls ? ErrorCode::tls_failed : ErrorCode::connect_failed;
  return Error(code, Outcome::not_sent, e.text);
}

}  // namespace

Link::Link(net::Loop& loop, net::Resolver& resolver, LinkSettingsSource& source, LinkOwner& owner)
    : loop_(loop), source_(source), owner_(owner), connector_(loop, resolver, *this) {
  flush_task_.link = this;
  flush_task_.run = [](net::Task* task) {
    Link* link = static_cast<FlushTask*>(task)->link;
    link->flush_scheduled_ = false;
    link->flush();
  };
}

Link::~Link() {
  disconnect();
  if (flush_scheduled_) loop_.undefer(&flush_task_);
}

// --- calls -----------------------------------------------------------------------------------

void Link::push_unsent(Call& call) noexcept {
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

void Link::submit(Call& call) {
  push_unsent(call);
  if (call.deadline < earliest_deadline_) {
    earliest_deadline_ = call.deadline;
    schedule(call.deadline);
  }
  if (state_ == State::ready) {
    schedule_flush();
    return;
  }
  if (unsent_count_ == 1) {
    stall_told_ = loop_.now();
    schedule(stall_told_ + stall_interval);
  }
  connect();
}

void Link::connect() {
  if (state_ != State::idle) return;
  wanted_ = true;
  if (loop_.now() < pause_until_) {
    state_ = State::paused;
    schedule(pause_until_);
    return;
  }
  dial();
}

Call* Link::take_unsent() noexcept {
  for (Call* call = unsent_head_; call != nullptr; call = call->next_unsent) {
    call->where = Call::Where::outside;
  }
  unsent_count_ = 0;
  unsent_tail_ = nullptr;
  return std::exchange(unsent_head_, nullptr);
}

void Link::forget(Call& call) noexcept {
  if (call.where == Call::Where::in_flight) {
    in_flight_.forget(call);
  } else if (call.where == Call::Where::unsent) {
    Call** place = &unsent_head_;
    Call* before = nullptr;
    while (*place != &call) {
      before = *place;
      place = &(*place)->next_unsent;
    }
    *place = call.next_unsent;
    if (unsent_tail_ == &call) unsent_tail_ = before;
    call.where = Call::Where::outside;
    --unsent_count_;
  }
}

void Link::reset_backoff() noexcept {
  failures_ = 0;
  pause_until_ = {};
  if (state_ == State::paused) schedule(loop_.now());
}

Established Link::release() {
  loop_.remove(*this);
  loop_.cancel(timer_);
  Established out{std::move(stream_), std::move(parser_)};
  disconnect();
  return out;
}

std::string Link::peer() const {
  return stream_ ? stream_.peer().to_string() : std::string();
}

// --- connecting ------------------------------------------------------------------------------

void Link::dial() {
  state_ = State::connecting;
  wanted_ = false;
  settings_ = source_.link_settings(*this);
  settings_.endpoint.avoid = strangers_;
  last_progress_ = loop_.refresh_now();
  connect_deadline_ = last_progress_ + settings_.connect_timeout;
  schedule(std::min(connect_deadline_, earliest_deadline_));
  if (unsent_head_ != nullptr) schedule(stall_told_ + stall_interval);
  connector_.start(settings_.endpoint, settings_.connect, connect_deadline_);
}

void Link::on_connect(net::connect_result result) {
  if (result.err) return fail(connect_error(result.err));
  stream_ = std::move(result.stream);
  if (const int e = loop_.add(*this, stream_.fd(), EPOLLIN); e != 0) {
    return fail(connect_error(net::system_error("epoll_ctl failed", e)));
  }
  parser_ = std::make_unique<resp::Parser>(settings_.limits);
  handshake_ = std::make_unique<Handshake>(settings_.handshake);
  state_ = State::handshake;
  stream_position_ = 0;
  out_ = handshake_->take_output();
  out_written_ = 0;
  asked_at_ = loop_.refresh_now();
  (void)write_output();
}

void Link::step_handshake(const Reply& reply) {
  switch (handshake_->reply(reply)) {
    case Handshake::State::running: {
      std::string more = handshake_->take_output();
      if (!more.empty()) {
        out_ += more;
        (void)write_output();
      }
      return;
    }
    case Handshake::State::failed: {
      const Error why = handshake_->error();
      if (why.code() == ErrorCode::auth_failed && dial_with_fresh_credentials()) return;
      // DNS may name the old address for a while: what the cluster announced gets its chance.
      if (why.code() == ErrorCode::wrong_node) strangers_.push_back(stream_.peer());
      return fail(why);
    }
    case Handshake::State::done:
      return become_ready();
  }
}

/// Rotated meanwhile: what the provider has now may be accepted. Once, so that refused passwords
/// are not tried in a loop.
bool Link::dial_with_fresh_credentials() {
  if (credentials_refreshed_) return false;
  if (source_.link_settings(*this).handshake.credentials == credentials()) return false;
  credentials_refreshed_ = true;
  disconnect();
  dial();
  return true;
}

void Link::become_ready() {
  state_ = State::ready;
  credentials_refreshed_ = false;
  strangers_.clear();
  note_round_trip(loop_.now() - std::exchange(asked_at_, TimePoint()));
  node_id_ = handshake_->node_id();
  zone_ = handshake_->availability_zone();
  protocol_ = handshake_->protocol();
  handshake_.reset();
  failures_ = 0;
  last_progress_ = last_received_ = loop_.now();
  rearm(loop_.now());
  const std::uint64_t generation = generation_;
  owner_.on_ready(*this);
  if (generation == generation_ && unsent_head_ != nullptr) schedule_flush();
}

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

/// A reply, to whom it is owed.
void Link::hand_over(ReplyView& reply) {
  if (state_ == State::handshake) return step_handshake(reply.take());
  if (in_flight_.empty()) {
    return fail(Error(ErrorCode::protocol, Outcome::unknown, "a reply that nobody asked for"));
  }
  const InFlight::Entry entry = in_flight_.pop();
  if (entry.call != nullptr) [[likely]] {
    owner_.on_reply(*this, *entry.call, reply);
  } else if (entry.kind == InFlight::Kind::own) {
    time_answer();
  } else if (entry.kind == InFlight::Kind::auth) {
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
  out_ += bytes;
  stream_position_ += bytes.size();
  schedule(loop_.now() + silence_limit());
  schedule_flush();
}

/// Something of the link's own; its reply, error or not, is thrown away. (After a refused ASKING
/// the server answers the command with MOVED, and the ordinary rule applies.)
void Link::say(std::string_view bytes) {
  in_flight_.push(InFlight::Kind::own);
  out_ += bytes;
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
  while (unsent_head_ != nullptr && out_.size() - out_written_ < output_limit) {
    Call* call = unsent_head_;
    unsent_head_ = call->next_unsent;
    if (unsent_head_ == nullptr) unsent_tail_ = nullptr;
    --unsent_count_;
    if (call->prefix != Call::Prefix::none) {
      say(call->prefix == Call::Prefix::asking ? asking_bytes : ping_bytes);
    }
    in_flight_.push(*call, stream_position_);
    call->sent_at = loop_.now();
    out_ += call->bytes;
    stream_position_ += call->bytes.size();
  }
}

/// True: everything is written, and the connection still stands.
bool Link::write_output() {
  if (out_written_ < out_.size()) {
    const auto rest = std::span<const char>(out_).subspan(out_written_);
    const net::io_result put = stream_.write(rest, net::io_mode::nonblocking);
    out_written_ += put.bytes;
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
  out_.clear();
  out_written_ = 0;
  if (out_.capacity() > output_keep) out_.shrink_to_fit();
  if ((interest() & EPOLLOUT) != 0) loop_.modify(*this, EPOLLIN);
  return true;
}

// --- ends ------------------------------------------------------------------------------------

void Link::disconnect() noexcept {
  ++generation_;
  connector_.cancel();
  loop_.remove(*this);
  loop_.cancel(timer_);
  stream_.close();
  // A reply that is being delivered lies in it.
  if (delivering_ && parser_ != nullptr) left_parser_ = std::move(parser_);
  parser_.reset();
  handshake_.reset();
  out_.clear();
  out_written_ = 0;
  state_ = State::idle;
}

void Link::close(const Error& why) {
  if (state_ == State::idle && calls() == 0) return;
  const bool was_ready = state_ == State::ready;
  const bool was_open = state_ != State::idle && state_ != State::paused;
  // Calls are handed back after the link is closed, so that they may be submitted to it again.
  const std::uint64_t written = stream_position_ - (out_.size() - out_written_);
  disconnect();
  stream_position_ = written;
  hand_back_all(why);
  if (was_open) owner_.on_down(*this, why, was_ready);
}

void Link::fail(const Error& why) {
  const bool was_ready = state_ == State::ready;
  if (!was_ready) {
    const base::BackoffLimits limits{settings_.reconnect_pause_min, settings_.reconnect_pause_max};
    pause_until_ =
        loop_.refresh_now() + base::backoff_delay(limits, ++failures_, base::thread_random());
  }
  close(was_ready ? why : why.with_outcome(Outcome::not_sent));
}

void Link::hand_back_all(const Error& why) {
  InFlight in_flight = std::exchange(in_flight_, InFlight());
  Call* unsent = take_unsent();
  const std::uint64_t written = stream_position_;
  earliest_deadline_ = TimePoint::max();
  const Error not_sent = why.with_outcome(Outcome::not_sent);
  const Error unknown = why.with_outcome(Outcome::unknown);
  while (!in_flight.empty()) {
    const InFlight::Entry entry = in_flight.pop();
    if (entry.call != nullptr) {
      owner_.on_call_failed(*this, *entry.call, entry.call->start < written ? unknown : not_sent);
    }
  }
  while (unsent != nullptr) {
    Call* call = std::exchange(unsent, unsent->next_unsent);
    owner_.on_call_failed(*this, *call, not_sent);
  }
}

}  // namespace slotwise::link
