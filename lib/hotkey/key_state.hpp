// What this client knows of one split key.
//
// Thread rule: any thread. The manifest is exchanged whole, versions only grow.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hotkey/manifest.hpp"

namespace slotwise::hotkey {

using Clock = std::chrono::steady_clock;

/// The copies of one manifest with what this client sees of them.
struct Copies {
  explicit Copies(Manifest m);

  struct Seen {
    std::atomic<int> in_flight{0};
    std::atomic<Clock::rep> passed_over_until{0};
  };
  const Manifest manifest;
  std::vector<std::size_t> ready;  ///< which of manifest.copies are read
  std::unique_ptr<Seen[]> seen;    ///< one for each of manifest.copies
};

class KeyState {
 public:
  explicit KeyState(std::string key) : key_(std::move(key)) {}

  const std::string& key() const noexcept { return key_; }

  /// Never null once there was one; of the greatest number heard of.
  std::shared_ptr<const Copies> copies() const;
  /// A manifest that the home slot gave, asked for at `asked`. Ignored if its number is lower than
  /// that of the one in use. What was seen of copies that stay is kept.
  void learn(Manifest manifest, Clock::time_point asked);
  /// The home slot says that the manifest in use is the current one.
  void confirm(Clock::time_point asked);
  /// When the manifest in use was last true for certain.
  Clock::time_point confirmed_at() const noexcept {
    return Clock::time_point(Clock::duration(confirmed_.load(std::memory_order_acquire)));
  }

  /// The greatest version read or written by this client.
  std::uint64_t floor() const noexcept { return floor_.load(std::memory_order_acquire); }
  /// False: `version` is below the floor, so it must not be given to the caller. Else the floor is
  /// at least `version` from now on.
  bool raise_floor(std::uint64_t version) noexcept;

  /// When this client heard of the manifest `number` for the first time: the keeper measures the
  /// grace by its own clock too, since that of the home slot jumps when another server takes over.
  Clock::time_point first_heard(std::uint64_t number) {
    const std::lock_guard lock(heard_mutex_);
    if (number > heard_number_) {
      heard_number_ = number;
      heard_at_ = Clock::now();
    }
    return heard_at_;
  }

  void used(Clock::time_point now) noexcept {
    used_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  Clock::time_point used_at() const noexcept {
    return Clock::time_point(Clock::duration(used_.load(std::memory_order_relaxed)));
  }

 private:
  const std::string key_;
  mutable std::mutex mutex_;  // guards copies_
  std::shared_ptr<const Copies> copies_;
  std::atomic<Clock::rep> confirmed_{0};
  std::atomic<std::uint64_t> floor_{0};
  std::atomic<Clock::rep> used_{0};
  std::mutex heard_mutex_;  // guards heard_number_ and heard_at_
  std::uint64_t heard_number_ = 0;
  Clock::time_point heard_at_;
};

}  // namespace slotwise::hotkey
