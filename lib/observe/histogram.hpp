// How long things took: a histogram with logarithmic steps that are linear inside.
//
// Thread rule: record() and all readers may be called from any thread at the same time. A reader
// that runs beside writers sees each value wholly or not at all.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace slotwise::observe {

namespace detail {

/// Each power of two is cut into 128 equal parts; below 256 every value has a counter of its own.
struct HistogramSteps {
  static constexpr std::size_t part_bits = 7;
  static constexpr std::size_t parts = std::size_t{1} << part_bits;

  // value = part << shift, where part is 128 ... 255, or shift is 0.
  static constexpr std::size_t index_of(std::uint64_t value) noexcept {
    const std::size_t width = std::bit_width(value);
    const std::size_t shift = width > part_bits + 1 ? width - part_bits - 1 : 0;
    return shift * parts + static_cast<std::size_t>(value >> shift);
  }
  /// The largest value that falls into the counter.
  static constexpr std::uint64_t upper(std::size_t index) noexcept {
    if (index < 2 * parts) return index;
    const std::size_t shift = index / parts - 1;
    const std::uint64_t part = index - shift * parts;
    return ((part + 1) << shift) - 1;
  }
};

}  // namespace detail

/// Values 0 ... 2^40 - 1 (larger ones count as the largest) in 4,352 counters, 34 kB. A value is
/// known to 1/128 of itself, so a quantile is right to 0.8 %. For nanoseconds that is up to 18
/// minutes.
class Histogram {
 public:
  void record(std::uint64_t value) noexcept {
    value = std::min(value, largest);
    counts_[Steps::index_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
    std::uint64_t seen = max_.load(std::memory_order_relaxed);
    while (value > seen && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  std::uint64_t count() const noexcept {
    std::uint64_t n = 0;
    for (const auto& c : counts_)
      n += c.load(std::memory_order_relaxed);
    return n;
  }

  std::uint64_t max() const noexcept { return max_.load(std::memory_order_relaxed); }

  double mean() const noexcept {
    const std::uint64_t n = count();
    if (n == 0) return 0;
    return static_cast<double>(sum_.load(std::memory_order_relaxed)) / static_cast<double>(n);
  }

  /// The smallest value v so that at least the part `q` (0 ... 1) of all values is <= v; 0 without
  /// any value. Never more than max().
  std::uint64_t quantile(double q) const noexcept {
    const std::uint64_t n = count();
    if (n == 0) return 0;
    const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(n);
    std::uint64_t reached = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      reached += counts_[i].load(std::memory_order_relaxed);
      if (reached > 0 && static_cast<double>(reached) >= wanted)
        return std::min(Steps::upper(i), max());
    }
    return max();  // values that came while this ran
  }

  /// Adds what another one has counted.
  void add(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const std::uint64_t n = other.counts_[i].load(std::memory_order_relaxed);
      if (n != 0) counts_[i].fetch_add(n, std::memory_order_relaxed);
    }
    sum_.fetch_add(other.sum_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    std::uint64_t seen = max_.load(std::memory_order_relaxed);
    while (other.max() > seen && !max_.compare_exchange_weak(seen, other.max())) {
    }
  }

  /// Not beside record(): values of that moment may be kept or lost.
  void reset() noexcept {
    for (auto& c : counts_)
      c.store(0, std::memory_order_relaxed);
    sum_.store(0, std::memory_order_relaxed);
    max_.store(0, std::memory_order_relaxed);
  }

  static constexpr std::uint64_t largest = (std::uint64_t{1} << 40) - 1;

 private:
  using Steps = detail::HistogramSteps;
  std::array<std::atomic<std::uint64_t>, Steps::index_of(largest) + 1> counts_{};
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> max_{0};
};

}  // namespace slotwise::observe
