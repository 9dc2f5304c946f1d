#include "client/operation.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <memory>
#include <utility>

#include "client/core.hpp"
#include "client/engine.hpp"

namespace slotwise::detail {
namespace {

constexpr std::size_t pooled_per_thread = 2048;
constexpr std::size_t kept_bytes = 4096;  // a larger command gives its memory back

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Static destructors may still end calls after it: then they are not pooled.
struct PoolEnd {
  PoolEnd() noexcept { Operation::pool_.limit = pooled_per_thread; }
  ~PoolEnd() {
    Operation::pool_.limit = 0;
    while (Operation* op = Operation::pool_.first) {
      Operation::pool_.first = op->next_free_;
      delete op;
    }
  }
};

Operation* Operation::make() {
  thread_local const PoolEnd end;
  return new Operation();
}

void Operation::fill_special(const CallSpec& call, const CallOptions& options,
                             const Config& config) {
  Plan plan;
  static_cast<routing::Kind&>(plan) = *this;
  plan.info = &call.command->info;
  read_from = read_from_of(plan, options, config);
  deadline = deadline_of(plan, options, config, routing::Clock::now());
}

void Operation::recycle() noexcept {
  Pool& pool = pool_;
  if (pool.size >= pool.limit) [[unlikely]] {
    delete this;
    return;
  }
  // What Core::make_operation() does not set anew. Most is seldom there.
  if (special || result_ || !encoded.empty()) [[unlikely]] {
    drop_special();
  }
  prefix = Prefix::none;
  forget_history();
  counted = nullptr;
  has_caller = false;
  state_.store(0, std::memory_order_relaxed);
  next_free_ = pool.first;
  pool.first = this;
  ++pool.size;
}

void Operation::drop_special() noexcept {
  result_.reset();
  if (encoded.capacity() > kept_bytes) encoded = {};
  encoded.clear();
  if (!std::exchange(special, false)) return;
  needs_learning = false;
  fan_out.reset();
  script_body.reset();
  node_name.clear();
  seen.reset();
}

// --- the end -----------------------------------------------------------------------------------

void Operation::deliver(Result<Reply>&& result) noexcept {
  if (has_continuation()) {
    engine_->core().call_ended(counted);
    if (result) {
      ReplyView reply(*result);
      Ending end(*this, &reply, nullptr);
      return continuation_(context_, end);
    }
    Ending end(*this, nullptr, &result.error());
    return continuation_(context_, end);
  }
  put_aside(std::move(result));
}

void Operation::deliver_view(ReplyView& reply) noexcept {
  // The usual case of the asynchronous face: nothing is put aside.
  if (has_continuation()) [[likely]] {
    engine_->core().call_ended(counted);
    Ending end(*this, &reply, nullptr);
    return continuation_(context_, end);
  }
  put_aside(reply);
}

void Operation::put_aside(ReplyView& reply) noexcept {
  put_aside(Result<Reply>(reply.take()));
}

/// The result is there for whoever comes.
void Operation::put_aside(Result<Reply>&& result) noexcept {
  result_.emplace(std::move(result));
  engine_->core().call_ended(counted);
  if (has_caller) return engine_->callers().ended(*this);
  announce();
}

void Operation::announce() noexcept {
  const std::uint32_t before = state_.fetch_or(done, std::memory_order_acq_rel);
  // From here on a waiting caller may return and let go; only what `before` says may be touched.
  if ((before & continued) != 0) {
    end_with(continuation_, context_);
  } else if ((before & waited_for) != 0) {
    futex_wake(state_);
  } else if ((before & let_go_of) != 0) {
    recycle();
  }
}

bool Operation::continue_with(OperationHandle::Continuation fn, void* context) noexcept {
  continuation_ = fn;
  context_ = context;
  return (state_.fetch_or(continued, std::memory_order_acq_rel) & done) == 0;
}

void Operation::end_with(OperationHandle::Continuation fn, void* context) noexcept {
  if (!*result_) {
    Ending end(*this, nullptr, &result_->error());
    return fn(context, end);
  }
  ReplyView reply(**result_);
  Ending end(*this, &reply, nullptr);
  fn(context, end);
}

void Ending::recycle(Operation& op) noexcept {
  op.recycle();
}

Error out_of_memory() {
  return Error(ErrorCode::protocol, Outcome::executed, "there is no memory for the reply");
}

// --- waiting -----------------------------------------------------------------------------------

void Operation::wait() noexcept {
  std::uint32_t state = state_.fetch_or(waited_for, std::memory_order_acq_rel) | waited_for;
  while ((state & done) == 0) {
    futex_wait(state_, state);
    state = state_.load(std::memory_order_acquire);
  }
}

void Operation::let_go() noexcept {
  const std::uint32_t before = state_.fetch_or(let_go_of, std::memory_order_acq_rel);
  if ((before & done) != 0) recycle();
}

// --- the public handle -----------------------------------------------------------------------

Error OperationHandle::used_already() {
  return Error(ErrorCode::invalid_argument, Outcome::not_sent, "this task was used already");
}

bool OperationHandle::ready() const noexcept {
  return op_ != nullptr && op_->ready();
}

Result<Reply> OperationHandle::wait() {
  if (op_ == nullptr) return used_already();
  if (!op_->ready()) {
    if (op_->engine().core().in_loop_thread()) {
      return Error(ErrorCode::refused, Outcome::unknown,
                   "waiting inside a callback would stop the thread that completes the call; use "
                   "then() or co_await");
    }
    op_->wait();
  }
  return take();
}

Result<Reply> OperationHandle::take() noexcept {
  if (op_ == nullptr) return used_already();
  Result<Reply> result = op_->take();
  reset();
  return result;
}

bool OperationHandle::continue_with(Continuation fn, void* context) noexcept {
  // It may be used again before this returns.
  Operation* op = std::exchange(op_, nullptr);
  if (op->continue_with(fn, context)) return true;
  op_ = op;
  return false;
}

void OperationHandle::end_with(Continuation fn, void* context) noexcept {
  Operation* op = std::exchange(op_, nullptr);
  if (!op->continue_with(fn, context)) op->end_with(fn, context);
}

void* OperationHandle::storage() noexcept {
  return op_->storage();
}

void OperationHandle::reset() noexcept {
  if (Operation* op = std::exchange(op_, nullptr)) op->let_go();
}

}  // namespace slotwise::detail
