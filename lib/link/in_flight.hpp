// The FIFO of calls whose replies a connection owes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "link/call.hpp"

namespace slotwise::link {

/// A growing ring. Every entry is one owed reply: of a call, of a call that nobody waits for any
/// more (its reply is thrown away), or of something the link said for itself.
class InFlight {
 public:
  /// own: what the link said for itself (ASKING, PING); auth: AUTH on a live connection
  enum class Kind : std::uint8_t { call, forgotten, own, auth };
  struct Entry {
    Call* call = nullptr;
    Kind kind = Kind::forgotten;
  };

  bool empty() const noexcept { return head_ == tail_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(tail_ - head_); }

  /// `start`: position in the connection's byte stream where it begins.
  void push(Call& call, std::uint64_t start) {
    call.ticket = tail_;
    call.start = start;
    call.where = Call::Where::in_flight;
    add({&call, Kind::call});
  }
  void push(Kind kind) { add({nullptr, kind}); }

  Entry pop() noexcept {
    const Entry entry = ring_[head_ & mask()];
    ++head_;
    if (entry.call != nullptr) entry.call->where = Call::Where::outside;
    return entry;
  }

  /// The reply to `call` will be thrown away.
  void forget(Call& call) noexcept {
    ring_[call.ticket & mask()] = {};
    call.where = Call::Where::outside;
  }

  /// Visits all calls in order; `f(Call&)` may forget that call.
  template <class F>
  void for_each_call(F&& f) {
    for (std::uint64_t i = head_; i != tail_; ++i) {
      if (Call* call = ring_[i & mask()].call) f(*call);
    }
  }

 private:
  std::size_t mask() const noexcept { return capacity_ - 1; }

  void add(const Entry& entry) {
    if (size() == capacity_) [[unlikely]] {
      grow();
    }
    ring_[tail_ & mask()] = entry;
    ++tail_;
  }

  void grow() {
    const std::size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    auto larger = std::make_unique<Entry[]>(capacity);
    for (std::uint64_t i = head_; i != tail_; ++i) {
      larger[i & (capacity - 1)] = ring_[i & mask()];
    }
    ring_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<Entry[]> ring_;
  std::size_t capacity_ = 0;  // a power of two
  std::uint64_t head_ = 0;    // positions only grow; a call's ticket is its position
  std::uint64_t tail_ = 0;
};

}  // namespace slotwise::link
