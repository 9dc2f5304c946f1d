// A thread that runs one Loop, with all signals blocked: a library's thread must not be the one
// that takes the application's signals.
#pragma once

#include <cstdint>
#include <thread>

#include "net/loop.hpp"

namespace slotwise::net {

class LoopThread {
 public:
  // `name` shows in top and gdb (15 characters at most). Throws std::system_error.
  explicit LoopThread(const char* name = "slotwise-io", loop_settings settings = {});
  ~LoopThread();  // stop and join; not from the loop's own thread

  Loop& loop() noexcept { return loop_; }

  // Ends the thread; afterwards the caller may use loop() as its own (run_once, removals).
  void stop_and_join();

 private:
  Loop loop_;
  std::uint32_t generation_;
  std::thread thread_;
};

}  // namespace slotwise::net
