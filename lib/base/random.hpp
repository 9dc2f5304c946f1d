// A small fast pseudo-random generator for jitter, sampling and shuffling. Not for secrets.
//
// Thread rule: a Random belongs to one thread; thread_random() gives each thread its own, so nobody
// waits for anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace slotwise::base {

/// xoshiro256** (Blackman and Vigna, public domain), seeded through splitmix64, so that any seed
/// will do, 0 included. The same seed gives the same numbers: tests rely on it.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept;

  std::uint64_t next() noexcept;

  /// 0 ... n-1; 0 for n = 0. The bias is below n / 2^32, which no jitter can see.
  std::uint32_t below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

  /// [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept;

  template <class T>
  void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::uint64_t state_[4];
};

/// This thread's generator, seeded at first use from the system and the thread's identity.
/// After fork() the child goes on with the parent's state: fine for jitter within a process, and a
/// child must open its own client anyway.
Random& thread_random() noexcept;

/// A seed that differs between calls, threads and processes.
std::uint64_t random_seed() noexcept;

}  // namespace slotwise::base
