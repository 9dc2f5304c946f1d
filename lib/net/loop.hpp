// Event loop: epoll (level-triggered), timers, tasks from other threads, tasks for the end of the
// iteration.
//
// Thread rule: post(), stop() and in_loop_thread() may be called from any thread. All else belongs
// to the thread that is inside run() or run_once(), or, before the first run, to the thread that
// made the loop. The one exception is noted at modify().
//
// One iteration: wait, dispatch I/O events, due timers, posted tasks, deferred tasks. Links write
// their buffers in a deferred task, so everything that one iteration produced leaves together.
//
// Invariants
//  1. posted_ is nullptr (loop awake, nothing posted), asleep() (the loop waits or is about to) or
//     a stack of tasks. Only the loop goes nullptr -> asleep(), by compare-exchange directly
//     before it waits; whoever replaces asleep() by its task writes the eventfd. A post therefore
//     either makes that exchange fail or sees asleep(): no wake-up is lost, and there is at most
//     one eventfd write per sleep.
//  2. Tasks posted by one thread run in the order in which it posted them.
//  3. A watcher that was removed is not called again, also not for an event that the kernel has
//     already handed over in the batch being dispatched.
//  4. A Loop must outlive every call of post() and stop() that has begun.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "net/timer.hpp"

namespace slotwise::net {

// Intrusive work item; it must live until it has run. `next` belongs to the queue meanwhile. It
// is read before run() is called: run() may free the task or post it again.
struct Task {
  Task* next = nullptr;
  void (*run)(Task* self) = nullptr;
};

// Interest in nothing. Errors and hang-ups are reported even so, but once: with plain 0 the loop
// would turn round and round on a connection that was reset while a caller in direct mode owns it.
inline constexpr std::uint32_t quiet = EPOLLET;

// One file descriptor in a loop. Remove it before the descriptor is closed.
class Watcher {
 public:
  virtual void on_events(std::uint32_t epoll_events) = 0;

  bool watched() const noexcept { return fd_ >= 0; }
  std::uint32_t interest() const noexcept { return interest_; }

 protected:
  Watcher() = default;
  ~Watcher() = default;  // the owner removes it first
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  friend class Loop;
  int fd_ = -1;
  std::uint32_t interest_ = 0;
};

struct loop_settings {
  // Poll this long without sleeping before the loop goes to sleep. Costs CPU, saves the wake-up
  // (some microseconds) when work comes in quick succession. Off by default.
  duration busy_poll{0};
};

class Loop {
 public:
  explicit Loop(loop_settings settings = {});  // throws std::system_error: no descriptors left
  ~Loop();                                     // tasks that have not run are dropped, not run
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // --- any thread ---
  void post(Task* task) noexcept;
  // run() returns after its iteration. A stop() before run() makes that run() return at once.
  void stop() noexcept;
  bool in_loop_thread() const noexcept { return here_ == this; }

  // --- running ---
  void run();
  // One iteration that waits at most `max_wait`. After run() has ended, run_once(duration{0})
  // executes what was posted meanwhile.
  void run_once(duration max_wait);

  // --- loop thread ---
  // 0 or errno. Interest is a set of EPOLL* flags; ERR and HUP are always reported.
  [[nodiscard]] int add(Watcher& watcher, int fd, std::uint32_t interest) noexcept;
  // Costs no system call when nothing changes. May be called by another thread that owns the
  // descriptor for the moment (a link in direct mode, under the link's lock); an event that the
  // loop has already fetched is then still delivered, and the watcher must bear that.
  int modify(Watcher& watcher, std::uint32_t interest) noexcept;
  void remove(Watcher& watcher) noexcept;  // harmless when it is not watched

  void arm(Timer& timer, time_point at) { timers_.arm(timer, at); }
  void arm_after(Timer& timer, duration delay) { timers_.arm(timer, now_ + delay); }
  void cancel(Timer& timer) noexcept { timers_.cancel(timer); }

  // Runs at the end of this iteration, after the tasks deferred before it. A task that is
  // deferred by a deferred task still runs before the loop sleeps. A task may be queued once.
  void defer(Task* task) noexcept;
  bool undefer(Task* task) noexcept;  // takes it out again; false: it was not queued

  // Time of this iteration; one clock read per iteration.
  time_point now() const noexcept { return now_; }
  time_point refresh_now() noexcept;

  // Counted for tests and benches.
  struct counters {
    std::uint64_t iterations = 0;
    std::uint64_t wakeups = 0;  // eventfd writes by post()
  };
  counters count() const noexcept;

 private:
  Task* asleep() noexcept { return &asleep_; }
  duration until_next_timer(duration limit) const noexcept;
  int wait(duration limit);
  int wait_kernel(duration limit);
  bool busy_poll(duration limit, int& ready);
  void iterate(duration max_wait);
  void dispatch(int ready);
  void run_posted();
  void run_deferred();
  void write_wakeup() noexcept;

  static constexpr int batch_size = 128;

  loop_settings settings_;
  int epoll_ = -1;
  int wakeup_ = -1;  // eventfd, edge-triggered and never read: each write is a new edge
  bool has_pwait2_ = true;
  std::uint32_t generation_;

  std::array<::epoll_event, batch_size> batch_;
  int batch_next_ = 0;  // the part of batch_ that is not dispatched yet
  int batch_end_ = 0;

  TimerHeap timers_;
  time_point now_;
  Task* deferred_head_ = nullptr;
  Task* deferred_tail_ = nullptr;
  std::uint64_t iterations_ = 0;
  std::atomic<bool> stopping_{false};
  static constinit inline thread_local const Loop* here_ = nullptr;  // that this thread runs

  // Written by other threads: away from what the loop touches all the time.
  alignas(64) std::atomic<Task*> posted_{nullptr};
  std::atomic<std::uint64_t> wakeups_{0};
  Task asleep_;  // only its address is used
};

}  // namespace slotwise::net
