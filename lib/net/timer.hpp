// Timers of an event loop. Thread rule: everything here belongs to the loop's thread.
//
// Invariants
//  1. A Timer is in at most one heap; `index_` is its place there. Its destructor takes it out.
//  2. Timers fire in order of (time, order of arming). One that is armed while due timers are
//     running waits for the next round, so a timer that re-arms itself with "now" cannot keep the
//     loop from its sockets.
//  3. Arming, re-arming and cancelling are O(log n) and allocate only when the heap grows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slotwise::net {

using steady_clock = std::chrono::steady_clock;
using time_point = std::chrono::time_point<steady_clock, std::chrono::nanoseconds>;
using duration = std::chrono::nanoseconds;

inline constexpr time_point never = time_point::max();

class TimerHeap;

class Timer {
 public:
  using function = void (*)(void* context);

  Timer(function fn, void* context) noexcept : fn_(fn), context_(context) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Timer timer_ = Timer::calling<&Link::on_deadline>(this);
  template <auto Method, class T>
  static Timer calling(T* self) noexcept {
    return Timer([](void* context) { (static_cast<T*>(context)->*Method)(); }, self);
  }

  bool armed() const noexcept { return heap_ != nullptr; }
  time_point at() const noexcept { return at_; }  // only meaningful while armed

 private:
  friend class TimerHeap;
  function fn_;
  void* context_;
  TimerHeap* heap_ = nullptr;
  std::size_t index_ = 0;
  time_point at_{};
};

// 4-ary heap: half the depth of a binary one and four neighbours share a cache line or two.
class TimerHeap {
 public:
  TimerHeap() = default;
  ~TimerHeap();  // disarms what is left
  TimerHeap(const TimerHeap&) = delete;
  TimerHeap& operator=(const TimerHeap&) = delete;

  void arm(Timer& timer, time_point at);  // also moves an armed timer
  void cancel(Timer& timer) noexcept;     // harmless when it is not armed

  // Runs what is due at `now`. A callback may arm, cancel and destroy any timer, itself included.
  // Returns how many ran.
  std::size_t run_due(time_point now);

  time_point next() const noexcept { return entries_.empty() ? never : entries_.front().at; }
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct entry {
    time_point at;
    std::uint64_t sequence;  // order of arming: decides between equal times
    Timer* timer;
    bool before(const entry& other) const noexcept {
      return at < other.at || (at == other.at && sequence < other.sequence);
    }
  };
  void place(std::size_t index, const entry& e) noexcept;
  void sift_up(std::size_t index, const entry& e) noexcept;
  void sift_down(std::size_t index, const entry& e) noexcept;
  void remove_at(std::size_t index) noexcept;

  std::vector<entry> entries_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace slotwise::net
