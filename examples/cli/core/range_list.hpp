// A growing set of numbers that mostly come in runs.
//
// Thread rule: a plain value; use it from one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace slotwise::cli {

/// Numbers are added in rising order. Takes 16 bytes a run, however long the run is.
class RangeList {
 public:
  void add(std::uint64_t n) {
    if (!ranges_.empty() && ranges_.back().last + 1 == n) {
      ranges_.back().last = n;
    } else {
      ranges_.push_back({n, n});
    }
  }

  bool contains(std::uint64_t n) const noexcept {
    const auto after = first_behind(n);
    return after != ranges_.begin() && n <= std::prev(after)->last;
  }

  /// How many numbers of [first, end) are in it.
  std::uint64_t count(std::uint64_t first, std::uint64_t end) const noexcept {
    std::uint64_t n = 0;
    auto range = first_behind(first);
    if (range != ranges_.begin()) --range;
    for (; range != ranges_.end() && range->first < end; ++range) {
      const std::uint64_t from = std::max(range->first, first);
      const std::uint64_t to = std::min(range->last + 1, end);
      if (to > from) n += to - from;
    }
    return n;
  }

  std::size_t runs() const noexcept { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t first;
    std::uint64_t last;
  };

  std::vector<Range>::const_iterator first_behind(std::uint64_t n) const noexcept {
    return std::upper_bound(ranges_.begin(), ranges_.end(), n,
                            [](std::uint64_t v, const Range& r) { return v < r.first; });
  }

  std::vector<Range> ranges_;
};

}  // namespace slotwise::cli
