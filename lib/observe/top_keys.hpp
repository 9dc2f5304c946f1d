// Which keys come most often in a stream of keys: a sketch of bounded size and bounded error.
//
// Thread rule: one thread at a time; the owner has a lock where it needs one.
//
// Invariants (A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k
// elements in data streams", 2005; the algorithm is called Space-Saving)
//  1. A key's true number lies between count - error and count.
//  2. No error is larger than (all that was added) / capacity, and a key that came more often than
//     that is always in the sketch.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/slot.hpp>

namespace slotwise::observe {

/// Hash of a key's bytes; other seeds give other hashes, so that nobody can choose keys that
/// collide.
std::uint64_t hash_of_key(std::string_view key, std::uint64_t seed) noexcept;

/// The sketch of one stretch of time.
class TopKeys {
 public:
  static constexpr std::size_t capacity = 2048;
  /// Of a longer key only these first bytes are kept; it is told apart from others by its hash and
  /// its length all the same.
  static constexpr std::size_t most_key_bytes = 1024;

  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint64_t error = 0;     ///< so much of the count may belong to keys that are gone
    std::size_t size = 0;        ///< of the whole key
    std::string key;             ///< at most most_key_bytes of it
    std::uint16_t cut_slot = 0;  ///< slot of the whole key, if not all of it was kept
    std::uint16_t place = 0;     // in order_
    std::uint16_t next = 0;      // in the chain of its bucket

    std::uint16_t slot() const noexcept {
      return size > most_key_bytes ? cut_slot : slotwise::slot(key);
    }
    std::uint64_t at_least() const noexcept { return count - error; }
  };

  TopKeys();
  /// `hash` is hash_of_key() of it, always with the same seed. Throws bad_alloc, and then nothing
  /// has changed.
  void add(std::string_view key, std::uint64_t hash);
  void clear() noexcept;

  /// In no order.
  const Entry* begin() const noexcept { return entries_.data(); }
  const Entry* end() const noexcept { return entries_.data() + used_; }
  /// The same key as in another sketch; null if it is not here.
  const Entry* find(const Entry& other) const noexcept {
    return find(other.hash, other.size, other.key);
  }

 private:
  static constexpr std::uint16_t none = 0xffff;
  static std::size_t bucket_of(std::uint64_t hash) noexcept { return hash % capacity; }
  const Entry* find(std::uint64_t hash, std::size_t size, std::string_view kept) const noexcept;
  void move_down(std::size_t place) noexcept;
  void move_up(std::size_t place) noexcept;
  void put(std::size_t place, std::uint16_t entry) noexcept;
  void unchain(std::uint16_t entry) noexcept;

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  std::array<std::uint16_t, capacity> order_{};    // a heap, the smallest count first
  std::array<std::uint16_t, capacity> buckets_{};  // first entry of each chain
};

/// What was lately: two sketches that take turns, so what is told is between one and two windows
/// old at most.
class RecentKeys {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds window{5};

  RecentKeys(Clock::time_point now, std::uint64_t seed) : seed_(seed), started_(now) {}

  /// One call that was looked at, with its keys (each once).
  void add_call(Clock::time_point now) {
    turn(now);
    ++current().calls;
  }
  void add_key(std::string_view key) { current().keys.add(key, hash_of_key(key, seed_)); }

  struct Key {
    std::string key;          ///< see TopKeys::most_key_bytes
    std::uint16_t slot = 0;   ///< of the whole key
    std::uint64_t calls = 0;  ///< that had it, at least; never more than truly were looked at
  };
  struct Top {
    std::uint64_t calls = 0;  ///< that were looked at
    std::chrono::duration<double> time{0};
    std::vector<Key> keys;  ///< the most used first
  };
  /// The keys that were in at least `least_share` (0 to 1) of the calls. Where so few were looked
  /// at that chance alone could lift a key there that has not half of it, the key is left out.
  Top top(Clock::time_point now, double least_share);

 private:
  struct Window {
    TopKeys keys;
    std::uint64_t calls = 0;
    void clear() noexcept {
      keys.clear();
      calls = 0;
    }
  };
  Window& current() noexcept { return windows_[turn_]; }
  Window& previous() noexcept { return windows_[1 - turn_]; }
  void turn(Clock::time_point now) noexcept;

  std::uint64_t seed_;
  std::array<Window, 2> windows_;
  std::size_t turn_ = 0;
  bool have_previous_ = false;
  Clock::time_point started_;  // the current window
};

}  // namespace slotwise::observe
