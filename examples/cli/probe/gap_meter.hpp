// The longest time in which a shard owed an answer and gave none.
//
// Thread rule: use one GapMeter from one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace slotwise::cli {

/// The clock runs while at least one write waits, and starts anew with each answer: time in which
/// nobody asks is no gap, and neither is one slow write beside quick ones. A failed write leaves
/// the clock running until the next answer.
class GapMeter {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  void sent(time_point now) {
    ++waiting_;
    if (!owed_since_) owed_since_ = now;
  }
  void answered(time_point now) {
    look(now);
    --waiting_;
    owed_since_ = waiting_ > 0 ? std::optional(now) : std::nullopt;
  }
  void failed(time_point now) {
    look(now);
    --waiting_;
  }

  duration longest() const noexcept { return longest_; }
  /// The longest that was seen since the last call.
  duration take_longest() noexcept { return std::exchange(recent_, duration{}); }

 private:
  void look(time_point now) {
    recent_ = std::max(recent_, now - owed_since_.value_or(now));
    longest_ = std::max(longest_, recent_);
  }

  int waiting_ = 0;
  std::optional<time_point> owed_since_;
  duration longest_{};
  duration recent_{};
};

}  // namespace slotwise::cli
