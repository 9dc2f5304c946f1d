// How a child process is forked; see Process. Not for tests.
#pragma once

#include "kit/process.hpp"

namespace slotwise::kit {

/// Forks and executes; returns once the new program runs. Throws kit::Error if it cannot.
ProcessId spawn(const ProcessOptions& options);

/// Pid's start time and state letter from /proc; state is 0 if there is no such process.
struct ProcessStat {
  char state = 0;
  std::uint64_t start_time = 0;
};
ProcessStat read_stat(pid_t pid);

}  // namespace slotwise::kit
