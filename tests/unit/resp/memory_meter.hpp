// Counts what this process takes from the heap, hiredis included.
#pragma once

#include <cstddef>

namespace slotwise::resp::test {

/// Counts from its making on. One at a time, on one thread.
class MemoryMeter {
 public:
  MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  /// Bytes held now, beyond those held when the meter was made.
  static std::ptrdiff_t held();
  /// The most bytes held at once since then.
  static std::ptrdiff_t peak();
  static std::size_t allocations();
};

}  // namespace slotwise::resp::test
