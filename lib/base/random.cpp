#include "base/random.hpp"

#include <atomic>
#include <chrono>
#include <random>

namespace slotwise::base {

namespace {

std::uint64_t splitmix(std::uint64_t& state) noexcept {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

constexpr std::uint64_t rotate_left(std::uint64_t x, int k) noexcept {
  return (x << k) | (x >> (64 - k));
}

}  // namespace

Random::Random(std::uint64_t seed) noexcept : state_{} {
  for (auto& word : state_)
    word = splitmix(seed);
}

std::uint64_t Random::next() noexcept {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) noexcept {
  if (high <= low) return low;
  const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  // width is 0 for the whole range of 64 bits.
  const std::uint64_t offset = width == 0 ? next() : next() % width;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

std::uint64_t random_seed() noexcept {
  // The counter makes seeds differ even where clock and random device do not.
  static std::atomic<std::uint64_t> counter{0};
  std::uint64_t mix = counter.fetch_add(1, std::memory_order_relaxed) * 0xd1342543de82ef95U;
  mix ^= static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  try {
    std::random_device device;
    mix ^= (std::uint64_t{device()} << 32) | device();
  } catch (...) {
    // No random device (a bare chroot): the address of the counter differs between processes.
    mix ^= static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&counter)) << 16;
  }
  return splitmix(mix);
}

Random& thread_random() noexcept {
  thread_local Random random(random_seed());
  return random;
}

}  // namespace slotwise::base
