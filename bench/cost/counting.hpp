// Counts what the whole program asks of the allocator and of the kernel. The functions of libc that
// do either are defined in counting.cpp once more, in front of libc's, and add one before they go
// on: nothing is slowed, so batches are as large as without.
#pragma once

#include <cstdint>

namespace slotwise::bench {

struct Counts {
  std::uint64_t allocations = 0;  ///< malloc and its kin, thus operator new as well
  std::uint64_t allocated_bytes = 0;
  std::uint64_t system_calls = 0;  ///< of the kinds that a client at work makes
  std::uint64_t cpu_ns = 0;        ///< user and system time; other work on the machine changes it

  friend Counts operator-(const Counts& a, const Counts& b) {
    return {a.allocations - b.allocations, a.allocated_bytes - b.allocated_bytes,
            a.system_calls - b.system_calls, a.cpu_ns - b.cpu_ns};
  }
};

/// Since the program started, all threads.
Counts counts() noexcept;

}  // namespace slotwise::bench

/// Stands between the parts of a run. callgrind is told to write down what it has counted each time
/// that this is called (--dump-before), so it must be a function with this name.
extern "C" void slotwise_bench_mark() noexcept;
