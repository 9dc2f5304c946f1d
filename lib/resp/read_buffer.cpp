#include "resp/read_buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace slotwise::resp {
namespace {

// Less room than this is not worth a read: the unparsed rest is moved to the front first.
constexpr std::size_t least_room = ReadBuffer::base_size / 4;
// An unparsed rest of this size is moved to the front before every read.
constexpr std::size_t small_rest = 1024;
constexpr int small_reads_to_shrink = 64;

}  // namespace

std::span<char> ReadBuffer::prepare(std::size_t min) {
  const std::size_t wanted = std::max(min, least_room);
  std::size_t capacity = comfortable_size();
  if (capacity < size() + wanted) capacity = std::bit_ceil(size() + wanted);
  if (capacity > capacity_ || (capacity < capacity_ && size() <= small_rest)) {
    move_to(capacity);
  } else if (begin_ != 0 && (size() <= small_rest || capacity_ - end_ < wanted)) {
    std::memmove(data_.get(), begin(), size() + 1);
    end_ -= begin_;
    begin_ = 0;
  }
  return {data_.get() + end_, capacity_ - end_};
}

void ReadBuffer::commit(std::size_t n) noexcept {
  filled_ = n == capacity_ - end_;
  small_reads_ = n <= capacity_ / 4 ? small_reads_ + 1 : 0;
  end_ += n;
  if (data_) data_[end_] = '\0';
}

// What the buffer should have, as far as the reads tell.
std::size_t ReadBuffer::comfortable_size() const noexcept {
  if (capacity_ < base_size || capacity_ > busy_size) return base_size;
  if (filled_) return std::min(capacity_ * 2, busy_size);
  return small_reads_ >= small_reads_to_shrink ? base_size : capacity_;
}

void ReadBuffer::move_to(std::size_t capacity) {
  auto data = std::make_unique_for_overwrite<char[]>(capacity + 1);  // and the 0 at the end
  if (size() != 0) std::memcpy(data.get(), begin(), size());
  end_ -= begin_;
  begin_ = 0;
  data[end_] = '\0';
  data_ = std::move(data);
  capacity_ = capacity;
  filled_ = false;
  small_reads_ = 0;
}

void ReadBuffer::trim() noexcept {
  if (begin_ == end_) clear();
}

void ReadBuffer::clear() noexcept {
  data_.reset();
  capacity_ = begin_ = end_ = 0;
  filled_ = false;
  small_reads_ = 0;
}

}  // namespace slotwise::resp
