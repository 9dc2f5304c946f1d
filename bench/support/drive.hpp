// How load is offered: by threads that call and wait, or by a number of lanes each of which starts
// its next call when the one before is done.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "support/side.hpp"

namespace slotwise::bench {

using Clock = std::chrono::steady_clock;

inline double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

[[noreturn]] void fail(std::string_view side, std::string_view what);

/// Set once the time is over; asked before every operation, so it costs no look at a clock.
class Stop {
 public:
  bool over() const noexcept { return over_.load(std::memory_order_relaxed); }
  void set() noexcept { over_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> over_{false};
};

/// What one thread counts.
struct ThreadCounts {
  explicit ThreadCounts(unsigned time_every) : latencies(time_every) {}
  std::uint64_t operations = 0;
  Latencies latencies;
};

/// Runs body(thread number, stop, counts) in so many threads, sets `stop` after so many seconds,
/// and sums up. An exception of any of them is thrown here.
Counts run_threads(int threads, double seconds, unsigned time_every,
                   const std::function<void(int, const Stop&, ThreadCounts&)>& body);

/// p50 and p99 of what was timed.
void put_percentiles(Counts& counts, Latencies& latencies);

/// One thread's calls until the time is over: call() does `step` operations. With a rate (of this
/// thread) they start when they are due, and not before the one before is done.
template <class Call>
void call_until_over(const Stop& stop, ThreadCounts& counts, double rate, unsigned step,
                     Call&& call) {
  if (rate <= 0) {
    for (; !stop.over(); counts.operations += step) {
      if (counts.latencies.due()) {
        const auto start = Clock::now();
        call();
        counts.latencies.add(microseconds_since(start));
      } else {
        call();
      }
    }
    return;
  }
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(step / rate));
  // Waits by giving the processor away, not by sleeping: a timer's own delay would be as long as
  // what is measured.
  for (auto due = Clock::now(); !stop.over(); due += interval, counts.operations += step) {
    while (Clock::now() < due)
      sched_yield();
    call();
    counts.latencies.add(microseconds_since(due));
  }
}

/// In an open loop of asynchronous calls the operations that fell due are started at every tick.
class Ticks {
 public:
  static constexpr std::chrono::microseconds interval{500};

  explicit Ticks(double rate) : rate_(rate), start_(Clock::now()), tick_(start_) {}

  Clock::time_point next() const { return tick_ + interval; }
  /// Goes one tick on, and gives the number of operations that are due with it.
  std::size_t advance() {
    tick_ += interval;
    const double due = std::chrono::duration<double>(tick_ - start_).count() * rate_;
    const auto count = static_cast<std::size_t>(due) - started_;
    started_ += count;
    return count;
  }
  Clock::time_point now() const { return tick_; }  ///< when that tick was due

 private:
  double rate_;
  Clock::time_point start_;
  Clock::time_point tick_;
  std::size_t started_ = 0;
};

}  // namespace slotwise::bench
