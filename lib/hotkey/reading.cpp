#include "hotkey/reading.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace slotwise::hotkey {
namespace {

/// There is no use in asking anybody else.
bool hopeless(const Error& e) noexcept {
  return e.code() == ErrorCode::cancelled || e.code() == ErrorCode::refused ||
         e.code() == ErrorCode::queue_full;
}

}  // namespace

Reading::Reading(KeyState& state, std::shared_ptr<const Copies> copies, Limits limits,
                 Clock::time_point now) noexcept
    : state_(state),
      copies_(std::move(copies)),
      limits_(limits),
      begun_(now),
      floor_(state.floor()) {}

Reading::~Reading() {
  answered();
}

// --- whom to ask -------------------------------------------------------------------------------

Reading::Move Reading::next_copy(Clock::time_point now) {
  phase_ = Phase::copies;
  // The last third of the time is for the original.
  const bool in_time = home_failed_ || now - begun_ < limits_.all * 2 / 3;
  if (in_time) {
    if (const auto copy = choose(now)) return ask(Move::Kind::get, *copy, now);
  }
  if (home_failed_) return nobody_else();
  return ask_home(now);
}

/// Of two random copies the one with fewer calls in flight.
std::optional<std::size_t> Reading::choose(Clock::time_point now) {
  const auto& ready = copies_->ready;
  const auto n = static_cast<std::uint32_t>(ready.size());
  if (n == 0) return std::nullopt;
  if (!tried_.empty()) return choose_untried(now);
  base::Random& random = base::thread_random();
  const std::uint32_t first = random.below(n);
  std::size_t one = ready[first];
  if (n > 1) {
    std::uint32_t second = random.below(n - 1);
    if (second >= first) ++second;
    std::size_t other = ready[second];
    const auto calls = [this](std::size_t copy) {
      return copies_->seen[copy]->in_flight.load(std::memory_order_relaxed);
    };
    if (calls(other) < calls(one)) std::swap(one, other);
    if (claim(one, now)) return one;
    if (claim(other, now)) return other;
  }
  return choose_untried(now);
}

/// Of all copies that were not tried, which is what those in trouble make necessary.
std::optional<std::size_t> Reading::choose_untried(Clock::time_point now) {
  const auto& ready = copies_->ready;
  const std::size_t start = base::thread_random().below(static_cast<std::uint32_t>(ready.size()));
  std::optional<std::size_t> last_resort;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const std::size_t copy = ready[(start + i) % ready.size()];
    if (!tried_.empty() && tried_[copy]) continue;
    if (claim(copy, now)) return copy;
    if (!last_resort) last_resort = copy;
  }
  return last_resort;
}

/// False: it is passed over. One call at a time tries a copy whose time is over.
bool Reading::claim(std::size_t copy, Clock::time_point now) const noexcept {
  auto& until = copies_->seen[copy]->passed_over_until;
  Clock::rep when = until.load(std::memory_order_relaxed);
  if (when == 0) [[likely]] {
    return true;
  }
  return when <= now.time_since_epoch().count() &&
         until.compare_exchange_strong(when, (now + pass_over).time_since_epoch().count(),
                                       std::memory_order_relaxed);
}

Reading::Move Reading::ask(Move::Kind kind, std::size_t copy, Clock::time_point now) {
  copy_ = copy;
  copies_->seen[copy]->in_flight.fetch_add(1, std::memory_order_relaxed);
  in_flight_ = true;
  return {kind, copy, std::clamp(left(now), std::chrono::milliseconds(1), limits_.copy)};
}

Reading::Move Reading::ask_home(Clock::time_point now) {
  phase_ = Phase::home;
  return {Move::Kind::home, 0, (std::max)(left(now), std::chrono::milliseconds(1))};
}

std::chrono::milliseconds Reading::left(Clock::time_point now) const noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(begun_ + limits_.all - now);
}

void Reading::answered() noexcept {
  if (!std::exchange(in_flight_, false)) return;
  copies_->seen[copy_]->in_flight.fetch_sub(1, std::memory_order_relaxed);
}

void Reading::in_trouble(Clock::time_point now) const noexcept {
  copies_->seen[copy_]->passed_over_until.store((now + pass_over).time_since_epoch().count(),
                                                std::memory_order_relaxed);
}

// --- what the answers mean ---------------------------------------------------------------------

Reading::Move Reading::got(Result<std::optional<std::string>>&& reply, Clock::time_point now) {
  answered();
  if (!reply) return failed(std::move(reply).error(), now);
  if (!*reply) return ask(Move::Kind::look, copy_, now);
  const std::uint16_t slot = copies_->manifest.copies[copy_].slot;
  auto value = Store::read_stored(state_.key(), slot, std::move(**reply));
  if (!value) return failed(std::move(value).error(), now);
  return stored(value->version, std::move(value->value), now);
}

Reading::Move Reading::looked(Result<Copy>&& reply, Clock::time_point now) {
  answered();
  if (phase_ == Phase::search) return searched(std::move(reply), now);
  if (!reply) return failed(std::move(reply).error(), now);
  switch (reply->status) {
    case Copy::Status::value:
      if (!reply->value) break;
      return stored(reply->version, std::move(*reply->value), now);
    case Copy::Status::deleted:
    case Copy::Status::expired:
      return none_there(reply->version, now);
    case Copy::Status::gone:  // the manifest is old
      in_trouble(now);
      return missed(now);
    default:
      break;
  }
  repair_wanted_ = true;
  in_trouble(now);
  return missed(now);
}

Reading::Move Reading::stored(std::uint64_t version, std::string&& value, Clock::time_point now) {
  if (version < state_.settled()) [[unlikely]] {
    repair_wanted_ = true;
    in_trouble(now);
    return behind(version, std::move(value), now);
  }
  if (!state_.raise_floor(version)) return missed(now);
  auto& until = copies_->seen[copy_]->passed_over_until;
  if (until.load(std::memory_order_relaxed) != 0) until.store(0, std::memory_order_relaxed);
  return give(std::move(value), version);
}

Reading::Move Reading::none_there(std::uint64_t version, Clock::time_point now) {
  if (version < state_.settled()) repair_wanted_ = true;
  if (version < state_.newest()) return behind(version, std::nullopt, now);
  if (!state_.raise_floor(version)) return missed(now);
  return give(std::nullopt, version);
}

/// The copy has an answer that is only given if there is no better one.
Reading::Move Reading::behind(std::uint64_t version, std::optional<std::string>&& value,
                              Clock::time_point now) {
  if (!spare_ || version > spare_->version) spare_ = VersionedValue{std::move(value), version};
  return missed(now);
}

/// The original does not answer, nor does any other copy.
Reading::Move Reading::nobody_else() {
  if (!spare_ || !state_.raise_floor(spare_->version)) return end(std::move(*error_));
  return give(std::move(spare_->value), spare_->version);
}

/// The copy has no answer.
Reading::Move Reading::missed(Clock::time_point now) {
  if (tried_.empty()) tried_.resize(copies_->manifest.copies.size());
  tried_[copy_] = true;
  return next_copy(now);
}

Reading::Move Reading::failed(Error error, Clock::time_point now) {
  if (hopeless(error)) return end(std::move(error));
  // It answered, and is not what it should be: of another type, say.
  if (error.code() == ErrorCode::server || error.code() == ErrorCode::damaged) {
    repair_wanted_ = true;
  }
  in_trouble(now);
  if (!error_) error_ = std::move(error);
  return missed(now);
}

Reading::Move Reading::home_said(Result<Home>&& reply, Clock::time_point now) {
  if (!reply) {
    if (hopeless(reply.error())) return end(std::move(reply).error());
    error_ = std::move(reply).error();
    home_failed_ = true;
    if (left(now).count() <= 0) return nobody_else();
    return next_copy(now);
  }
  Home& home = *reply;
  if (home.status == Home::Status::joined) return plain(now);
  no_manifest_ = home.status == Home::Status::absent;
  home_version_ = home.version;
  if (!home.lost && !no_manifest_) {
    if (home.version >= floor_) {
      state_.raise_floor(home.version);
      return give(std::move(home.value), home.version);
    }
    newest_ = VersionedValue{std::move(home.value), home.version};
  }
  repair_wanted_ = true;
  copy_ = 0;
  return search(now);
}

Reading::Move Reading::plain(Clock::time_point now) const noexcept {
  return {Move::Kind::plain, 0, (std::max)(left(now), std::chrono::milliseconds(1))};
}

Reading::Move Reading::plain_got(Result<std::optional<std::string>>&& reply) {
  if (!reply) return end(std::move(reply).error());
  return give(std::move(*reply), 0);
}

// --- the home slot has forgotten: who has the newest? ------------------------------------------

Reading::Move Reading::search(Clock::time_point now) {
  phase_ = Phase::search;
  if (copy_ >= copies_->manifest.copies.size()) return found_all(now);
  if (left(now).count() <= 0) {
    somebody_silent_ = true;
    return found_all(now);
  }
  return ask(Move::Kind::look, copy_, now);
}

Reading::Move Reading::searched(Result<Copy>&& reply, Clock::time_point now) {
  if (!reply) {
    if (hopeless(reply.error())) return end(std::move(reply).error());
    somebody_silent_ = true;
    error_ = std::move(reply).error();
  } else if (reply->status == Copy::Status::value || reply->status == Copy::Status::deleted ||
             reply->status == Copy::Status::expired) {
    const std::uint64_t version = reply->version;
    if (!newest_ || version > newest_->version) {
      newest_ = VersionedValue{std::move(reply->value), version};
    }
    if (version >= floor_ && version >= home_version_) return found_all(now);
  }
  ++copy_;
  return search(now);
}

Reading::Move Reading::found_all(Clock::time_point now) {
  const std::uint64_t version = newest_ ? newest_->version : home_version_;
  const bool good = newest_ && version >= floor_ && version >= home_version_;
  if (good) {
    state_.raise_floor(version);
    return give(std::move(newest_->value), version);
  }
  // Who is silent may have it.
  if (somebody_silent_) {
    if (!error_) {
      error_.emplace(ErrorCode::timeout, Outcome::unknown,
                     "no copy that answered has what was written or read before");
    }
    return end(std::move(*error_));
  }
  if (no_manifest_ && !newest_) return plain(now);
  if (version < floor_) {
    state_.lower_floor(floor_, version);
  } else {
    state_.raise_floor(version);
  }
  if (!newest_) return give(std::nullopt, version);
  return give(std::move(newest_->value), version);
}

// --- the end -----------------------------------------------------------------------------------

Reading::Move Reading::give(std::optional<std::string>&& value, std::uint64_t version) {
  result_.emplace(std::in_place, VersionedValue{std::move(value), version});
  return {};
}

Reading::Move Reading::end(Error error) {
  result_.emplace(std::move(error));
  return {};
}

}  // namespace slotwise::hotkey
