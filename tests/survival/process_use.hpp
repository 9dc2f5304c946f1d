// What this process holds: descriptors, threads, memory.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <string>

namespace slotwise::survival {

struct ProcessUse {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t heap_kb = 0;      ///< in use
  std::size_t resident_kb = 0;  ///< after what is free was given back to the kernel

  static ProcessUse now();
  std::string to_string() const;
};

/// Not more descriptors and threads than before, and no more memory than noise: buffers that are
/// there or not, and pages that the allocator keeps for each thread.
void check_flat(const ProcessUse& before, const ProcessUse& after);

}  // namespace slotwise::survival
