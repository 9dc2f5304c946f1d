// The link's clock: when it looks again, what is overdue then, and the health check.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "link/link.hpp"

namespace slotwise::link {

milliseconds Link::silence_limit() const noexcept {
  if (silence_override_.count() < 0) return settings_.silence_limit;
  if (silence_override_.count() == 0) return std::chrono::hours(24 * 365);
  return silence_override_;
}

void Link::schedule(TimePoint at) {
  if (!timer_.armed() || at < timer_.at()) loop_.arm(timer_, at);
}

/// The timer is lazy: it is armed for the earliest thing that might be due and looks again then, so
/// that sending and receiving never touch it.
void Link::rearm(TimePoint now) {
  TimePoint next = earliest_deadline_;
  if (state_ == State::paused) next = std::min(next, pause_until_);
  if (state_ == State::ready && !in_flight_.empty()) {
    next = std::min(next, last_progress_ + silence_limit());
  } else if (state_ == State::ready && settings_.health_check_interval.count() > 0) {
    next = std::min(next, last_received_ + settings_.health_check_interval);
  } else if (state_ == State::handshake || state_ == State::connecting) {
    next = std::min(next, connect_deadline_);
  }
  if (state_ != State::ready && unsent_head_ != nullptr) {
    next = std::min(next, stall_told_ + stall_interval);
  }
  loop_.cancel(timer_);
  if (next != TimePoint::max()) loop_.arm(timer_, std::max(next, now));
}

void Link::on_timer() {
  const TimePoint now = loop_.refresh_now();
  const std::uint64_t generation = generation_;
  // If this process (or this thread) did not run for a while, the node's answers lie in the socket:
  // it is not the node that was silent.
  if ((state_ == State::ready && !in_flight_.empty()) || state_ == State::handshake) {
    read_some();
    if (generation != generation_) return;
  }
  if (now >= earliest_deadline_) {
    expire_calls(now);
    if (generation != generation_) return;
  }
  if (state_ != State::ready && unsent_head_ != nullptr && now >= stall_told_ + stall_interval) {
    stall_told_ = now;
    owner_.on_stalled(*this);
    if (generation != generation_) return;
  }
  if (state_ == State::paused && now >= pause_until_) {
    if (unsent_head_ != nullptr || wanted_) {
      dial();
    } else {
      state_ = State::idle;  // nobody waits: the next submit connects
    }
  } else if (state_ == State::handshake && now >= connect_deadline_) {
    return fail(Error(ErrorCode::connect_failed, Outcome::not_sent,
                      "the node accepted the connection but did not answer the handshake within " +
                          std::to_string(settings_.connect_timeout.count()) + " ms"));
  } else if (state_ == State::ready && !in_flight_.empty()) {
    if (now >= last_progress_ + silence_limit()) {
      return fail(Error(ErrorCode::connection_lost, Outcome::unknown,
                        "the node was silent for " + std::to_string(silence_limit().count()) +
                            " ms while it owed a reply"));
    }
  } else if (state_ == State::ready && settings_.health_check_interval.count() > 0 &&
             now >= last_received_ + settings_.health_check_interval) {
    say_ping();
    last_progress_ = now;
    if (!write_output()) {
      if (generation != generation_) return;
    }
  }
  rearm(now);
}

void Link::expire_calls(TimePoint now) {
  // A node that has sent nothing since the call left is taken for dead; one that answers others is
  // only slow, and closing would throw away their answers as well.
  bool dead = false;
  TimePoint next = TimePoint::max();
  Call* expired_unsent = nullptr;
  Call** place = &unsent_head_;
  Call* last = nullptr;
  while (*place != nullptr) {
    Call* call = *place;
    if (call->deadline <= now) {
      *place = call->next_unsent;
      call->next_unsent = expired_unsent;
      expired_unsent = call;
      call->where = Call::Where::outside;
      --unsent_count_;
    } else {
      next = std::min(next, call->deadline);
      last = call;
      place = &call->next_unsent;
    }
  }
  unsent_tail_ = last;

  const std::uint64_t written = stream_position_ - out_.size();
  struct Expired {
    Call* call;
    bool sent;
  };
  std::vector<Expired> expired;
  in_flight_.for_each_call([&](Call& call) {
    if (call.deadline > now) {
      next = std::min(next, call.deadline);
      return;
    }
    if (last_received_ <= call.sent_at || close_when_expired_) dead = true;
    expired.push_back({&call, call.start < written});
    in_flight_.forget(call);
  });
  earliest_deadline_ = next;

  const std::uint64_t generation = generation_;
  while (expired_unsent != nullptr) {
    Call* call = std::exchange(expired_unsent, expired_unsent->next_unsent);
    owner_.on_call_expired(*this, *call, false);
  }
  for (const Expired& e : expired)
    owner_.on_call_expired(*this, *e.call, e.sent);
  if (dead && generation == generation_) {
    fail(Error(ErrorCode::connection_lost, Outcome::unknown,
               "the node did not answer before a call's deadline"));
  }
}

}  // namespace slotwise::link
