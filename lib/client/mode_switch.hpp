// Direct mode or loop: how synchronous callers reach their node.
//
// Thread rule: any thread.
//
// A lone caller is fastest on a connection of its own, in place (no thread switch); many callers
// are fastest when the loop batches them. The number of callers that are inside at the same moment
// decides. Once there were too many the loop keeps them for a while: a mixture of both is slower
// than either, because each batch loses what goes by itself.
#pragma once

#include <atomic>

namespace slotwise::detail {

class ModeSwitch {
 public:
  explicit ModeSwitch(int limit) noexcept : limit_(limit) {}

  /// One caller more; true: it may go in place.
  bool enter() noexcept {
    const int inside = inside_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (inside > limit_) {
      if (quiet_.load(std::memory_order_relaxed) != 0) quiet_.store(0, std::memory_order_relaxed);
      return false;
    }
    const int quiet = quiet_.load(std::memory_order_relaxed);
    if (quiet >= quiet_calls) return true;
    quiet_.store(quiet + 1, std::memory_order_relaxed);
    return false;
  }
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_relaxed); }

  /// One caller, for as long as it competes with others.
  class Caller {
   public:
    explicit Caller(ModeSwitch& mode) noexcept : mode_(mode), in_place_(mode.enter()) {}
    ~Caller() {
      if (!handed_over_) mode_.leave();
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    bool in_place() const noexcept { return in_place_; }
    /// Somebody else says leave().
    void hand_over() noexcept { handed_over_ = true; }

   private:
    ModeSwitch& mode_;
    const bool in_place_;
    bool handed_over_ = false;
  };

 private:
  static constexpr int quiet_calls = 64;
  const int limit_;
  std::atomic<int> inside_{0};
  std::atomic<int> quiet_{quiet_calls};  // calls in a row that found few others
};

}  // namespace slotwise::detail
