// Looks at one call in so many, and keeps a sketch of the keys that it finds there.
//
// Thread rule: everything from any thread. Nobody waits for anybody: who finds the sketch in use
// leaves it to the thread's next call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include <slotwise/detail/call_spec.hpp>

#include "client/plan.hpp"
#include "observe/top_keys.hpp"

namespace slotwise::detail {

class HotKeySampler {
 public:
  /// One in `one_in` calls is looked at, 1 or more.
  explicit HotKeySampler(int one_in);
  /// As Config::hot_key_sampling says: null if it is off.
  static std::unique_ptr<HotKeySampler> make(int one_in);

  /// One call; a null sampler: nobody wants to know; a null info: a command that nobody knows.
  /// Inline whatever the compiler thinks of it: it is in the way of every call.
  [[gnu::always_inline]] static void count(HotKeySampler* sampler,
                                           const commands::CommandInfo* info,
                                           const CallSpec& call) noexcept {
    if (sampler == nullptr) [[likely]] {
      return;
    }
    Countdown& countdown = this_threads;
    if (countdown.owner == sampler && --countdown.left != 0) [[likely]] {
      return;
    }
    sampler->look_at(info, call);
  }
  [[gnu::always_inline]] static void count(HotKeySampler* sampler, const Plan& plan,
                                           const CallSpec& call) noexcept {
    count(sampler, plan.info, call);
  }
  void count(const Plan& plan, const CallSpec& call) noexcept { count(this, plan.info, call); }

  /// See RecentKeys::top(); `calls` are those looked at.
  observe::RecentKeys::Top top(double least_share);
  int one_in() const noexcept { return one_in_; }

 private:
  /// Calls of this thread until one is looked at. The gaps are of the geometric distribution, which
  /// has no memory: every call has the chance 1 / one_in whatever the pattern of the calls is, and
  /// a thread that uses several clients in turn may begin a new gap each time.
  struct Countdown {
    const HotKeySampler* owner = nullptr;
    std::uint64_t left = 0;
  };
  static constinit thread_local Countdown this_threads;

  void look_at(const commands::CommandInfo* info, const CallSpec& call) noexcept;
  std::uint64_t new_gap() const noexcept;

  const int one_in_;
  const double log_of_rest_;  // log(1 - 1 / one_in)
  std::mutex mutex_;          // guards recent_
  observe::RecentKeys recent_;
};

}  // namespace slotwise::detail
