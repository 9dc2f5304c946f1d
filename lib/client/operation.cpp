#include "client/operation.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include <climits>
#include <memory>
#include <utility>
#include <vector>

#include "client/core.hpp"

namespace slotwise::detail {
namespace {

constexpr std::size_t pooled_per_thread = 2048;
constexpr std::size_t kept_bytes = 4096;  // a larger command gives its memory back

/// Operations that this thread may use again. Usually the thread that lets go last is the one that
/// makes the next call, so that no lock is needed.
struct Pool {
  std::vector<Operation*> free;
  ~Pool() {
    for (Operation* op : free)
      delete op;
    alive() = false;
  }
  /// False once this thread's pool is gone: static destructors may still end calls.
  static bool& alive() {
    thread_local bool value = true;
    return value;
  }
};

Pool& pool() {
  thread_local Pool p;
  return p;
}

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<std::chrono::milliseconds> limit) noexcept {
  ::timespec time{};
  if (limit) {
    time.tv_sec = limit->count() / 1000;
    time.tv_nsec = limit->count() % 1000 * 1'000'000;
  }
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, limit ? &time : nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Operation* Operation::take_from_pool(Core& core) {
  Operation* op = nullptr;
  if (Pool::alive() && !pool().free.empty()) {
    op = pool().free.back();
    pool().free.pop_back();
  } else {
    op = new Operation();
  }
  op->core_ = &core;
  return op;
}

void Operation::recycle() noexcept {
  if (!Pool::alive() || pool().free.size() >= pooled_per_thread) {
    delete this;
    return;
  }
  reset();
  if (encoded.capacity() > kept_bytes) encoded = {};
  node_name.clear();
  counted = nullptr;
  needs_learning = false;
  seen_node = nullptr;
  seen_reply.reset();
  seen_error.reset();
  seen_expired = false;
  result_.reset();
  continuation_ = nullptr;
  context_ = nullptr;
  state_.store(0, std::memory_order_relaxed);
  pool().free.push_back(this);
}

void Operation::deliver(Result<Reply>&& result) noexcept {
  result_.emplace(std::move(result));
  core_->call_ended(counted);
  const std::uint32_t before = state_.fetch_or(done, std::memory_order_acq_rel);
  // From here on a waiting caller may return and let go; only what `before` says may be touched.
  if ((before & continued) != 0) {
    continuation_(context_);
  } else if ((before & waited_for) != 0) {
    futex_wake(state_);
  } else if ((before & let_go_of) != 0) {
    recycle();
  }
}

void Operation::wait() noexcept {
  std::uint32_t seen = state_.fetch_or(waited_for, std::memory_order_acq_rel) | waited_for;
  while ((seen & done) == 0) {
    futex_wait(state_, seen);
    seen = state_.load(std::memory_order_acquire);
  }
}

bool Operation::wait_for(std::chrono::milliseconds limit) noexcept {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::uint32_t seen = state_.fetch_or(waited_for, std::memory_order_acq_rel) | waited_for;
  while ((seen & done) == 0) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return false;
    futex_wait(state_, seen, std::chrono::ceil<std::chrono::milliseconds>(left));
    seen = state_.load(std::memory_order_acquire);
  }
  return true;
}

bool Operation::on_ready(OperationHandle::Continuation fn, void* context) noexcept {
  continuation_ = fn;
  context_ = context;
  return (state_.fetch_or(continued, std::memory_order_acq_rel) & done) == 0;
}

void* Operation::storage(std::size_t size, std::size_t align) noexcept {
  return size <= sizeof storage_ && align <= alignof(std::max_align_t) ? storage_ : nullptr;
}

void Operation::let_go() noexcept {
  const std::uint32_t before = state_.fetch_or(let_go_of, std::memory_order_acq_rel);
  if ((before & done) != 0) recycle();
}

// --- the public handle -----------------------------------------------------------------------

bool OperationHandle::ready() const noexcept {
  return op_ != nullptr && op_->ready();
}

Result<Reply> OperationHandle::wait() {
  if (op_ == nullptr) {
    return Error(ErrorCode::invalid_argument, Outcome::not_sent, "this task was used already");
  }
  if (!op_->ready()) {
    if (op_->core().in_loop_thread()) {
      return Error(ErrorCode::refused, Outcome::unknown,
                   "waiting inside a callback would stop the thread that completes the call; use "
                   "then() or co_await");
    }
    op_->wait();
  }
  return take();
}

Result<Reply> OperationHandle::take() noexcept {
  if (op_ == nullptr) {
    return Error(ErrorCode::invalid_argument, Outcome::not_sent, "this task was used already");
  }
  Result<Reply> result = op_->take();
  reset();
  return result;
}

bool OperationHandle::on_ready(Continuation fn, void* context) noexcept {
  return op_ != nullptr && op_->on_ready(fn, context);
}

void* OperationHandle::storage(std::size_t size, std::size_t align) noexcept {
  return op_ != nullptr ? op_->storage(size, align) : nullptr;
}

void OperationHandle::reset() noexcept {
  if (Operation* op = std::exchange(op_, nullptr)) op->let_go();
}

}  // namespace slotwise::detail
