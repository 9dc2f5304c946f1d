// What a connection has to send, in one piece.
//
// Thread rule: one thread at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace slotwise::link {

/// A string would end with a 0 after every append, and be asked for its limits.
class OutBuffer {
 public:
  OutBuffer() noexcept = default;
  OutBuffer(OutBuffer&& other) noexcept
      : data_(std::move(other.data_)),
        capacity_(std::exchange(other.capacity_, 0)),
        begin_(std::exchange(other.begin_, 0)),
        end_(std::exchange(other.end_, 0)) {}
  OutBuffer& operator=(OutBuffer&&) = delete;

  bool empty() const noexcept { return begin_ == end_; }
  /// Bytes that the socket has not taken yet.
  std::size_t size() const noexcept { return end_ - begin_; }
  std::span<const char> rest() const noexcept { return {data_.get() + begin_, size()}; }

  void append(std::string_view bytes) {
    std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    end_ += bytes.size();
  }

  /// Room for so many bytes more; written() says how many of them it became.
  char* room(std::size_t bytes) {
    if (bytes > capacity_ - end_) [[unlikely]] {
      make_room(bytes);
    }
    return data_.get() + end_;
  }
  void written(std::size_t bytes) noexcept { end_ += bytes; }

  /// The socket took that many.
  void taken(std::size_t bytes) noexcept {
    begin_ += bytes;
    if (begin_ == end_) clear();
  }
  void clear() noexcept {
    begin_ = end_ = 0;
    if (capacity_ > most_kept) give_back();
  }

 private:
  static constexpr std::size_t least = 1024;
  static constexpr std::size_t most_kept = 256 * 1024;

  void make_room(std::size_t more) {
    const std::size_t rest = size();
    // Moved to the front where that frees half of it, so that no byte is moved again and again.
    if (rest + more <= capacity_ / 2) {
      std::memmove(data_.get(), data_.get() + begin_, rest);
    } else {
      const std::size_t capacity = std::bit_ceil(std::max(rest + more, least));
      auto larger = std::make_unique_for_overwrite<char[]>(capacity);
      if (rest != 0) std::memcpy(larger.get(), data_.get() + begin_, rest);
      data_ = std::move(larger);
      capacity_ = capacity;
    }
    begin_ = 0;
    end_ = rest;
  }
  void give_back() noexcept {
    data_.reset();
    capacity_ = 0;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace slotwise::link
