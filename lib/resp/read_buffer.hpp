// The bytes that were read and not yet parsed, in one piece.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace slotwise::resp {

/// 1. Nothing is allocated before the first prepare().
/// 2. It starts with `base_size`, and doubles up to `busy_size` while reads fill it, so that an
/// idle
///    connection is small and a busy one needs few reads.
/// 3. While it holds bytes, *end() is readable and 0.
/// 4. Only an unfinished token makes it larger, and it shrinks again when that one is parsed.
class ReadBuffer {
 public:
  static constexpr std::size_t base_size = 16 * 1024;
  static constexpr std::size_t busy_size = 64 * 1024;

  const char* begin() const noexcept { return data_.get() + begin_; }
  const char* end() const noexcept { return data_.get() + end_; }
  std::size_t size() const noexcept { return end_ - begin_; }
  std::size_t capacity() const noexcept { return capacity_; }

  /// Room for at least `min` more bytes.
  std::span<char> prepare(std::size_t min);
  void commit(std::size_t n) noexcept;
  void consume(std::size_t n) noexcept { begin_ += n; }
  /// Gives the memory back if no byte is in it.
  void trim() noexcept;
  void clear() noexcept;

 private:
  std::size_t comfortable_size() const noexcept;
  void move_to(std::size_t capacity);

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool filled_ = false;  ///< the last read took all the room there was
  int small_reads_ = 0;  ///< reads in a row that would have fitted into a quarter
};

}  // namespace slotwise::resp
