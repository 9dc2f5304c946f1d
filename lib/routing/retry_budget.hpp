// How many retries a second a client may make, so that an outage is not answered with a storm.
//
// Thread rule: the loop's thread.
//
// A bucket of tokens that refills with time. Every retry takes one, and one that succeeds gives it
// back: what costs is only what does not help. So a million waiting calls try at the pace of the
// refill while the servers are down, and all go through at once when they are up again.
#pragma once

#include <algorithm>
#include <chrono>

#include "link/call.hpp"

namespace slotwise::routing {

class RetryBudget {
 public:
  /// `per_second` tokens a second, and as many at once; 0: no limit.
  explicit RetryBudget(int per_second) noexcept : limit_(per_second), tokens_(per_second) {}

  bool take(link::TimePoint now) noexcept {
    if (limit_ <= 0) return true;
    const double passed = std::chrono::duration<double>(now - refilled_).count();
    refilled_ = now;
    tokens_ = std::min(static_cast<double>(limit_), tokens_ + passed * limit_);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  void give_back() noexcept { tokens_ = std::min<double>(limit_, tokens_ + 1); }

 private:
  int limit_;
  double tokens_;
  link::TimePoint refilled_{};
};

}  // namespace slotwise::routing
