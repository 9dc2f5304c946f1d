// Synchronous callers whose calls are with the loop: whom to wake, and who has waited so long that
// it competes with nobody.
//
// Thread rule: the loop's thread.
//
// 1. A caller is woken at the end of the loop's turn: a thread that is woken amid the replies takes
//    the processor from those that come after its own.
// 2. A caller that waits for a dead shard is no competitor of those that talk to healthy ones, so
//    after `patience` it is not counted in the ModeSwitch any more. One timer looks after all of
//    them; a timed wait in each would cost a third of such a call.
#pragma once

#include <chrono>

#include "client/mode_switch.hpp"
#include "net/loop.hpp"

namespace slotwise::detail {

class Operation;

class WaitingCallers {
 public:
  WaitingCallers(net::Loop& loop, ModeSwitch& mode) noexcept;

  /// Its call has reached the loop.
  void add(Operation& op) noexcept;
  /// It goes on elsewhere.
  void forget(Operation& op) noexcept;
  /// Its result is there.
  void ended(Operation& op) noexcept;

 private:
  static constexpr std::chrono::milliseconds patience{5};
  struct WakeTask : net::Task {
    WaitingCallers* callers = nullptr;
  };

  void look();
  void wake() noexcept;
  void take_out(Operation& op) noexcept;

  net::Loop& loop_;
  ModeSwitch& mode_;
  net::Timer timer_ = net::Timer::calling<&WaitingCallers::look>(this);
  WakeTask wake_task_;
  Operation* first_ = nullptr;  // those that compete, the longest wait first
  Operation* last_ = nullptr;
  Operation* ended_first_ = nullptr;
  Operation* ended_last_ = nullptr;
};

}  // namespace slotwise::detail
