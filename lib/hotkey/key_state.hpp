// What this client knows of one split key.
//
// Thread rule: any thread. The manifest is exchanged whole, the floor only grows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotkey/manifest.hpp"

namespace slotwise::hotkey {

struct Home;

using Clock = std::chrono::steady_clock;

/// The copies of one manifest with what this client sees of them.
struct Copies {
  /// Of the copy in one slot, under whatever manifest.
  struct alignas(64) Seen {
    std::atomic<int> in_flight{0};
    std::atomic<Clock::rep> passed_over_until{0};  ///< 0: not in trouble
  };
  /// What was seen of copies that `before` (may be null) has as well is shared with it.
  Copies(std::string_view key, Manifest m, const Copies* before = nullptr);

  const Manifest manifest;
  std::vector<std::size_t> ready;           ///< which of manifest.copies are read
  std::vector<std::string> names;           ///< one for each of manifest.copies
  std::vector<std::shared_ptr<Seen>> seen;  ///< likewise
};

class KeyState {
 public:
  explicit KeyState(std::string key) : key_(std::move(key)) {}

  const std::string& key() const noexcept { return key_; }

  /// Never null once there was one; of the greatest number heard of.
  std::shared_ptr<const Copies> copies() const;
  /// A manifest that the home slot gave, asked for at `asked`. Ignored if its number is lower than
  /// that of the one in use, unless it was asked for after that one had come: then the home slot
  /// has forgotten the newer one, or the key was joined and split again. What was seen of copies
  /// that stay is kept.
  void learn(Manifest manifest, Clock::time_point asked);
  /// The home slot says that the manifest in use is the current one.
  void confirm(Clock::time_point asked);
  /// There is none, nor was it lost: the key counts as joined. Ignored if one was heard of since
  /// the home slot was asked.
  void forget(Clock::time_point asked);
  /// Any answer of the home slot to a call made at `asked`: learn() or confirm(), and heard().
  /// Nothing if it is `absent`: the manifest may be lost, see lost.hpp. Moves the manifest out of
  /// `home`. True: the home slot has forgotten writes.
  bool hear(Home& home, Clock::time_point asked);
  /// When the manifest in use was last true for certain.
  Clock::time_point confirmed_at() const noexcept {
    return Clock::time_point(Clock::duration(confirmed_.load(std::memory_order_acquire)));
  }

  /// The greatest version read or written by this client.
  std::uint64_t floor() const noexcept { return floor_.load(std::memory_order_acquire); }
  /// False: `version` is below the floor, so it must not be given to the caller. Else the floor is
  /// at least `version` from now on.
  bool raise_floor(std::uint64_t version) noexcept;
  /// Nobody has `from` any more (the servers have lost it), and `to` is the newest that there is.
  /// Nothing happens if the floor has changed.
  void lower_floor(std::uint64_t from, std::uint64_t to) noexcept;

  /// The home slot, asked at `asked`, had this version as its newest. True: it was more once.
  bool heard(std::uint64_t version, Clock::time_point asked);
  /// What the home slot had when it was heard last: a value may be missing at a copy only if the
  /// copy knows this version.
  std::uint64_t newest() const noexcept { return newest_.load(std::memory_order_acquire); }
  /// What it had a refresh interval before that: a copy that does not have this has missed it.
  std::uint64_t settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  /// When this client heard of the manifest `number` for the first time: the keeper measures the
  /// grace by its own clock too, since that of the home slot jumps when another server takes over.
  Clock::time_point first_heard(std::uint64_t number) {
    const std::lock_guard lock(heard_mutex_);
    if (number != heard_number_) {
      heard_number_ = number;
      heard_at_ = Clock::now();
    }
    return heard_at_;
  }

  void used(Clock::time_point now) noexcept {
    if (now - used_at() < std::chrono::seconds(1)) return;  // keeps the cache line for readers
    used_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  Clock::time_point used_at() const noexcept {
    return Clock::time_point(Clock::duration(used_.load(std::memory_order_relaxed)));
  }

  /// A refresh got no answer: until then an older manifest is used without asking. Clock's epoch:
  /// it got one.
  void home_silent_until(Clock::time_point when) noexcept {
    silent_until_.store(when.time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// False: the home slot is to be asked. When the time is over one caller is told so, and the
  /// others once it has waited `again` in vain.
  bool home_silent(Clock::time_point now, Clock::duration again) noexcept {
    Clock::rep until = silent_until_.load(std::memory_order_relaxed);
    if (until == 0) return false;
    if (now.time_since_epoch().count() < until) return true;
    return !silent_until_.compare_exchange_strong(until, (now + again).time_since_epoch().count(),
                                                  std::memory_order_relaxed);
  }

 private:
  void confirmed_no_earlier_than(Clock::time_point asked) noexcept;

  const std::string key_;
  mutable std::mutex mutex_;  // guards copies_ and copies_came_
  std::shared_ptr<const Copies> copies_;
  Clock::time_point copies_came_;
  std::atomic<Clock::rep> confirmed_{0};
  std::atomic<std::uint64_t> floor_{0};
  std::atomic<Clock::rep> used_{0};
  std::atomic<Clock::rep> silent_until_{0};
  std::atomic<std::uint64_t> newest_{0};
  std::atomic<std::uint64_t> settled_{0};
  std::mutex heard_mutex_;  // guards what follows
  std::uint64_t heard_number_ = 0;
  Clock::time_point heard_at_;
  Clock::time_point newest_came_;
  std::uint64_t settling_ = 0;
  Clock::time_point settling_asked_;
};

}  // namespace slotwise::hotkey
