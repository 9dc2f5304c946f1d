// The longest time in which a shard owed an answer and gave none.
//
// Thread rule: use one GapMeter from one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace slotwise::cli {

/// Time in which nobody asked is no gap: the clock runs from the last answer of the shard, but not
/// from before the write that waits was sent. Failed writes leave it running until the next answer.
class GapMeter {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// A write that was sent at `sent` was answered at `now`.
  void answered(time_point sent, time_point now) {
    note(sent, now);
    waiting_since_.reset();
    last_answer_ = std::max(last_answer_, now);
  }
  /// A write that was sent at `sent` was given up at `now`.
  void failed(time_point sent, time_point now) { waiting_since_ = note(sent, now); }

  duration longest() const noexcept { return longest_; }

 private:
  time_point note(time_point sent, time_point now) {
    time_point since = std::max(sent, last_answer_);
    if (waiting_since_) since = std::min(since, *waiting_since_);
    longest_ = std::max(longest_, now - since);
    return since;
  }

  time_point last_answer_{};
  std::optional<time_point> waiting_since_;
  duration longest_{};
};

}  // namespace slotwise::cli
