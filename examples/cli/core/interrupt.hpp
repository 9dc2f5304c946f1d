// Ctrl-C as something that a loop can look at.
//
// Thread rule: any thread; one Interrupt at a time per process.
#pragma once

#include <chrono>

namespace slotwise::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP only counts, so that the command can end in
/// good order; the third one kills at once, as it would without this object.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// How often it was asked to end.
  static int count() noexcept;
  static bool requested() noexcept { return count() > 0; }
  /// Sleeps, but no longer than until the next signal. True if the command has been asked to end.
  static bool wait_until(std::chrono::steady_clock::time_point when);
  static bool wait_for(std::chrono::milliseconds time) {
    return wait_until(std::chrono::steady_clock::now() + time);
  }
};

}  // namespace slotwise::cli
