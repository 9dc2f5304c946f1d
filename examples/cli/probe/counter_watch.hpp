// Whether the replies of a counter that one caller increments make sense.
//
// Thread rule: a plain value; use it from one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace slotwise::cli {

/// The counter starts at 0 and each increment is given once. An increment with outcome `unknown`
/// may run at any later time: a server that was stopped still executes what lies in its buffers.
class CounterWatch {
 public:
  void acknowledged(std::int64_t value) noexcept {
    if (value <= last_) {
      lost_ += static_cast<std::uint64_t>(last_ + 1 - value);  // the server forgot at least these
    } else {
      const auto more = static_cast<std::uint64_t>(value - last_ - 1);
      const std::uint64_t late = std::min(more, unseen_);
      unseen_ -= late;
      doubled_ += more - late;
    }
    last_ = value;
  }
  void unknown() noexcept { ++unseen_; }

  std::uint64_t lost() const noexcept { return lost_; }
  std::uint64_t doubled() const noexcept { return doubled_; }

 private:
  std::int64_t last_ = 0;
  std::uint64_t unseen_ = 0;  // unknown ones that have not shown yet
  std::uint64_t lost_ = 0;
  std::uint64_t doubled_ = 0;
};

/// What the value at the end says about one counter.
struct CounterVerdict {
  std::uint64_t lost = 0;     ///< acknowledged, and not in the value
  std::uint64_t doubled = 0;  ///< in the value, and neither acknowledged nor unknown
  std::uint64_t ran = 0;      ///< of the unknown ones, those that the value says ran
};

constexpr CounterVerdict judge_counter(std::uint64_t acked, std::uint64_t unknown,
                                       std::uint64_t value) noexcept {
  if (value < acked) return {.lost = acked - value};
  const std::uint64_t more = value - acked;
  return {.doubled = more > unknown ? more - unknown : 0, .ran = std::min(more, unknown)};
}

}  // namespace slotwise::cli
