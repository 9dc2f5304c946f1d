// How many retries a second a client may make, so that an outage is not answered with a storm.
//
// Thread rule: the loop's thread.
//
// A bucket of tokens that refills with time. Every retry takes one, and one that succeeds gives it
// back: what costs is only what does not help. So a million waiting calls try at the pace of the
// refill while the servers are down, and all go through at once when they are up again.
//
// Each node has a small share of its own besides, on credit: the thousand calls that wait for a
// dead shard spend the bucket, and a healthy shard's one retry must not queue behind them. The
// credit has an end, so that all nodes together cannot make the client's pace faster.
#pragma once

#include <algorithm>
#include <chrono>

#include "link/call.hpp"

namespace slotwise::routing {

/// Tokens that refill with time.
class TokenBucket {
 public:
  /// At most `full` tokens more become of the time since the last call.
  void refill(link::TimePoint now, double per_second, double full) noexcept {
    const double passed = std::chrono::duration<double>(now - refilled_).count();
    refilled_ = now;
    add(passed * per_second, full);
  }
  void add(double tokens, double full) noexcept { tokens_ = std::min(full, tokens_ + tokens); }
  double tokens() const noexcept { return tokens_; }
  void take() noexcept { tokens_ -= 1; }

 private:
  double tokens_ = 0;
  link::TimePoint refilled_{};
};

class RetryBudget {
 public:
  /// `per_second` tokens a second, and as many at once; 0: no limit.
  explicit RetryBudget(int per_second) noexcept
      : limit_(per_second), share_(std::max(1.0, per_second / 16.0)) {}

  /// `of_node`: the share of the node that the retry is about.
  bool take(link::TimePoint now, TokenBucket& of_node) noexcept {
    if (limit_ <= 0) return true;
    bucket_.refill(now, limit_, limit_);
    of_node.refill(now, share_, share_);
    if (bucket_.tokens() < 1) {
      if (of_node.tokens() < 1 || bucket_.tokens() <= -limit_) return false;
      of_node.take();
    }
    bucket_.take();
    return true;
  }
  void give_back() noexcept { bucket_.add(1, limit_); }

 private:
  double limit_;
  double share_;
  TokenBucket bucket_;
};

}  // namespace slotwise::routing
