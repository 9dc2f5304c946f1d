#include "link/link.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace slotwise::link {
namespace {

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

/// A call was added: what that makes due.
void Link::prepare_for(const Call& call) {
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
  out_.clear();
  out_.append(handshake_->take_output());
  asked_at_ = loop_.refresh_now();
  (void)write_output();
}

void Link::step_handshake(const Reply& reply) {
  switch (handshake_->reply(reply)) {
    case Handshake::State::running: {
      std::string more = handshake_->take_output();
      if (!more.empty()) {
        out_.append(more);
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
  state_ = State::idle;
}

void Link::close(const Error& why) {
  if (state_ == State::idle && calls() == 0) return;
  const bool was_ready = state_ == State::ready;
  const bool was_open = state_ != State::idle && state_ != State::paused;
  // Calls are handed back after the link is closed, so that they may be submitted to it again.
  const std::uint64_t written = stream_position_ - out_.size();
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
