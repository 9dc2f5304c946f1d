// One call of the asynchronous face (or a synchronous one that goes through the loop): a Request
// whose end wakes somebody.
//
// Thread rule: state_ decides. The caller's half (the handle) and the loop's half each let go once;
// the second one returns the operation to the pool.
//
// Invariants
//  1. `done` is set once, by deliver(); whoever sees it may take the result.
//  2. The continuation runs exactly once: by deliver() if it was there before `done`, else by
//     whoever brings it. It is given the reply where it lies, and gives the operation back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <slotwise/detail/operation.hpp>

#include "client/mode_switch.hpp"
#include "client/plan.hpp"
#include "net/fork.hpp"
#include "routing/fan_out.hpp"
#include "routing/node.hpp"
#include "routing/request.hpp"

namespace slotwise::detail {

class Engine;

class Operation final : public routing::Request {
 public:
  /// From this thread's pool; move_to() is next.
  static Operation* take_from_pool() {
    Operation* op = pool_.first;
    if (op == nullptr) [[unlikely]] {
      return make();
    }
    pool_.first = op->next_free_;
    --pool_.size;
    return op;
  }

  /// Makes it the request of a simple call: what make_plan() and the functions beside it do for
  /// others, without a plan in between.
  void fill(const CallSpec& call, const CallOptions& options, const Config& config) {
    encode(call.command->head, call.words);
    set_simple_kind(*this, call, options, config);
    const ReadFrom wanted = options.read_from.value_or(config.read_from);
    if (wanted != ReadFrom::primary || options.timeout) [[unlikely]] {
      return fill_special(call, options, config);
    }
    deadline = routing::Clock::now() + config.timeout;
  }

  void deliver(Result<Reply>&& result) noexcept override;
  void deliver_view(ReplyView& reply) noexcept override;

  // --- the caller's half ---
  bool ready() const noexcept { return (state_.load(std::memory_order_acquire) & done) != 0; }
  void wait() noexcept;
  Result<Reply> take() noexcept { return std::move(*result_); }
  Result<Reply>& result() noexcept { return *result_; }
  /// The caller's half goes over to the continuation. False: done already, nothing has happened.
  bool continue_with(OperationHandle::Continuation fn, void* context) noexcept;
  /// It is done already: the continuation runs here and now.
  void end_with(OperationHandle::Continuation fn, void* context) noexcept;
  void* storage() noexcept { return storage_; }
  void let_go() noexcept;

  /// Whose loop it goes through.
  Engine& engine() noexcept { return *engine_; }
  /// Before it is posted there.
  void move_to(Engine& engine) noexcept { engine_ = &engine; }

  // --- a synchronous caller waits for it: see WaitingCallers ---
  bool has_caller = false;
  std::atomic<bool> competes{false};  ///< its caller is counted in the ModeSwitch
  void stop_competing(ModeSwitch& mode) noexcept {
    if (competes.exchange(false, std::memory_order_relaxed)) mode.leave();
  }
  bool listed = false;  // the loop's, like the rest
  routing::TimePoint waiting_since{};
  Operation* next_waiting = nullptr;
  Operation* before_waiting = nullptr;
  /// Whoever waits for the result may take it now.
  void announce() noexcept;

  // --- how it starts on the loop ---
  bool special = false;              ///< it has one of those that follow, a fan-out or a script
  std::string node_name;             ///< CallOptions::node
  routing::Node* counted = nullptr;  ///< whose loop_calls it is part of
  bool needs_learning = false;       ///< a command that the table does not know
  /// What a caller in direct mode saw that must be judged.
  struct Seen {
    routing::Node& node;
    std::optional<Reply> reply;
    std::optional<Error> error;  // if there was no reply
    bool expired = false;
  };
  std::unique_ptr<Seen> seen;

  /// Nobody will touch it any more: back to the pool.
  void recycle() noexcept;

 private:
  friend struct PoolEnd;
  enum State : std::uint32_t { done = 1, waited_for = 2, continued = 4, let_go_of = 8 };
  bool has_continuation() const noexcept {
    return (state_.load(std::memory_order_acquire) & continued) != 0;
  }
  static Operation* make();
  void fill_special(const CallSpec& call, const CallOptions& options, const Config& config);
  void put_aside(Result<Reply>&& result) noexcept;
  [[gnu::noinline]] void put_aside(ReplyView& reply) noexcept;
  void drop_special() noexcept;

  /// Operations that this thread may use again. Usually the thread that lets go last is the one
  /// that makes the next call, so that no lock is needed. A plain list, so that looking into it
  /// costs no more than a load; PoolEnd empties it when the thread ends.
  struct Pool {
    Operation* first;
    std::size_t size;
    std::size_t limit;  // 0 before the first use, and again when the thread ends
  };
  static constinit inline thread_local Pool pool_{};

  Engine* engine_ = nullptr;
  std::atomic<std::uint32_t> state_{0};
  std::optional<Result<Reply>> result_;
  OperationHandle::Continuation continuation_ = nullptr;
  void* context_ = nullptr;
  Operation* next_free_ = nullptr;  // in the pool
  alignas(std::max_align_t) std::byte storage_[OperationHandle::storage_size];
};

/// Blocks while `word` is `expected`, or until woken; callers look again. A futex: the words of
/// calls that nobody waits for cost nothing.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace slotwise::detail
