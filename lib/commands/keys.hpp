// Which arguments of a command are keys.
//
// Thread rule: pure functions of their arguments; usable from any thread.
//
// Nothing here allocates: a command has at most a few evenly spaced ranges of keys, however many
// keys they hold, and `Keys` keeps the ranges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "commands/command_info.hpp"

namespace slotwise::commands {

enum class KeyStatus : std::uint8_t {
  ok,       ///< at least one key
  none,     ///< a correct command without keys (PING, EVAL with 0 keys)
  invalid,  ///< the arguments cannot be right (arity, number of keys): a server will refuse it
  unknown,  ///< only COMMAND GETKEYS can tell
};

/// Which positions count.
enum class KeyUse : std::uint8_t {
  routing,  ///< everything that decides the slot, channels of sharded pub/sub too
  data,     ///< keys only, as COMMAND GETKEYS answers
};

/// One key: its position in the command and what the command does with it (KeyFlag).
struct KeyRef {
  std::uint32_t index = 0;
  std::uint16_t flags = 0;

  constexpr bool is(KeyFlag flag) const noexcept {
    return (flags & static_cast<std::uint16_t>(flag)) != 0;
  }
};

/// The keys of one command, in the order of the server's specifications; a key that is named twice
/// is here twice.
class Keys {
 public:
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t step = 1;
    std::uint16_t flags = 0;
  };
  static constexpr std::size_t max_ranges = 4;

  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = KeyRef;
    using difference_type = std::ptrdiff_t;
    using pointer = const KeyRef*;
    using reference = KeyRef;

    iterator() noexcept = default;
    explicit iterator(const Range* range) noexcept : range_(range) {}
    KeyRef operator*() const noexcept {
      return {range_->first + at_ * range_->step, range_->flags};
    }
    iterator& operator++() noexcept {
      if (++at_ == range_->count) {
        ++range_;
        at_ = 0;
      }
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    const Range* range_ = nullptr;
    std::uint32_t at_ = 0;
  };

  void clear() noexcept { used_ = 0; }
  /// Ignores a range without keys. False if there is no room for one more range.
  bool add(Range range) noexcept {
    if (range.count == 0) return true;
    if (used_ == max_ranges) return false;
    ranges_[used_++] = range;
    return true;
  }

  std::span<const Range> ranges() const noexcept { return {ranges_.data(), used_}; }
  bool empty() const noexcept { return used_ == 0; }
  std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (const Range& range : ranges())
      sum += range.count;
    return sum;
  }
  iterator begin() const noexcept { return iterator(ranges_.data()); }
  iterator end() const noexcept { return iterator(ranges_.data() + used_); }

 private:
  std::array<Range, max_ranges> ranges_{};
  std::size_t used_ = 0;
};

/// Fills `out` with the keys of a command whose entry is `info`. Positions are always inside
/// `args`. Where a server's documentation and its own routing differ, this follows the routing.
KeyStatus extract_keys(const CommandInfo& info, Args args, Keys& out,
                       KeyUse use = KeyUse::routing) noexcept;

}  // namespace slotwise::commands
