#include "hotkey/key_state.hpp"

#include <algorithm>

#include "hotkey/names.hpp"
#include "hotkey/store.hpp"

namespace slotwise::hotkey {

Copies::Copies(std::string_view key, Manifest m, const Copies* before) : manifest(std::move(m)) {
  const std::size_t n = manifest.copies.size();
  names.reserve(n);
  seen.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const CopyPlace& place = manifest.copies[i];
    names.push_back(copy_name(key, place.slot));
    if (place.state == CopyPlace::State::ready) ready.push_back(i);
    if (before != nullptr) {
      const auto& old = before->manifest.copies;
      const auto same = std::find_if(old.begin(), old.end(),
                                     [&place](const CopyPlace& p) { return p.slot == place.slot; });
      if (same != old.end()) {
        seen.push_back(before->seen[static_cast<std::size_t>(same - old.begin())]);
        continue;
      }
    }
    seen.push_back(std::make_shared<Seen>());
  }
}

std::shared_ptr<const Copies> KeyState::copies() const {
  const std::lock_guard lock(mutex_);
  return copies_;
}

void KeyState::confirmed_no_earlier_than(Clock::time_point asked) noexcept {
  const Clock::rep when = asked.time_since_epoch().count();
  Clock::rep before = confirmed_.load(std::memory_order_relaxed);
  while (before < when &&
         !confirmed_.compare_exchange_weak(before, when, std::memory_order_release)) {
  }
}

void KeyState::learn(Manifest manifest, Clock::time_point asked) {
  const std::lock_guard lock(mutex_);
  if (copies_ != nullptr) {
    const Manifest& mine = copies_->manifest;
    // Two answers may overtake each other.
    const bool later = asked >= copies_came_;
    if (!later && (manifest.number < mine.number || mine.number == 0)) return;
    if (manifest.number == mine.number && manifest.joined == mine.joined) {
      return confirmed_no_earlier_than(asked);
    }
  }
  copies_ = std::make_shared<const Copies>(key_, std::move(manifest), copies_.get());
  copies_came_ = Clock::now();
  confirmed_no_earlier_than(asked);
}

void KeyState::confirm(Clock::time_point asked) {
  const std::lock_guard lock(mutex_);
  if (copies_ != nullptr) confirmed_no_earlier_than(asked);
}

void KeyState::forget(Clock::time_point asked) {
  {
    const std::lock_guard lock(mutex_);
    if (copies_ == nullptr || asked < copies_came_) return;
    Manifest none;
    none.kind = copies_->manifest.kind;
    none.joined = true;
    copies_ = std::make_shared<const Copies>(key_, std::move(none));
    copies_came_ = Clock::now();
    confirmed_no_earlier_than(asked);
  }
  const std::lock_guard lock(heard_mutex_);
  heard_number_ = 0;
}

bool KeyState::hear(Home& home, Clock::time_point asked) {
  if (home.status == Home::Status::absent) return false;
  const bool forgotten = heard(home.version, asked);
  if (home.manifest) {
    learn(std::move(*home.manifest), asked);
    home.manifest.reset();
  } else {
    confirm(asked);
  }
  return forgotten;
}

bool KeyState::raise_floor(std::uint64_t version) noexcept {
  std::uint64_t before = floor_.load(std::memory_order_acquire);
  while (before < version) {
    if (floor_.compare_exchange_weak(before, version, std::memory_order_acq_rel)) return true;
  }
  return before == version;
}

void KeyState::lower_floor(std::uint64_t from, std::uint64_t to) noexcept {
  floor_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

bool KeyState::heard(std::uint64_t version, Clock::time_point asked) {
  const std::lock_guard lock(heard_mutex_);
  const std::uint64_t before = newest_.load(std::memory_order_relaxed);
  const bool later = asked >= newest_came_;
  // Two answers may overtake each other, and then the greater version is the later one.
  if (!later && version <= before) return false;
  newest_.store(version, std::memory_order_release);
  newest_came_ = Clock::now();
  const bool forgotten = version < before;
  if (forgotten) {  // what it had does not count any more
    settling_ = (std::min)(settling_, version);
    settled_.store((std::min)(settled(), version), std::memory_order_release);
  }
  if (asked >= settling_asked_ + refresh_interval * 3 / 4) {
    settled_.store(settling_, std::memory_order_release);
    settling_ = version;
    settling_asked_ = asked;
  }
  return forgotten;
}

}  // namespace slotwise::hotkey
