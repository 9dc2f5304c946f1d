#include "survival/process_use.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace slotwise::survival {

namespace {

constexpr std::size_t heap_noise_kb = 1024;
// The allocator keeps pages in an arena for every thread that once ran, and stacks for later ones.
constexpr std::size_t resident_noise_kb = 12 * 1024;

std::size_t entries(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

ProcessUse ProcessUse::now() {
  ::malloc_trim(0);
  ProcessUse use;
  use.descriptors = entries("/proc/self/fd");
  use.threads = entries("/proc/self/task");
  const struct mallinfo2 heap = ::mallinfo2();
  use.heap_kb = (heap.uordblks + heap.hblkhd) / 1024;
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  use.resident_kb = resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  return use;
}

std::string ProcessUse::to_string() const {
  return fmt::format("{} descriptors, {} threads, {} kB heap, {} kB resident", descriptors, threads,
                     heap_kb, resident_kb);
}

void check_flat(const ProcessUse& before, const ProcessUse& after) {
  INFO(before.to_string() << " -> " << after.to_string());
  CHECK(after.descriptors <= before.descriptors);
  CHECK(after.threads <= before.threads);
  CHECK(after.heap_kb <= before.heap_kb + heap_noise_kb);
  CHECK(after.resident_kb <= before.resident_kb + resident_noise_kb);
}

}  // namespace slotwise::survival
