// One call of the asynchronous face (or a synchronous one that goes through the loop): a Request
// whose end wakes somebody.
//
// Thread rule: state_ decides. The caller's half (the handle) and the loop's half each let go once;
// the second one returns the operation to the pool.
//
// Invariants
//  1. `done` is set once, by deliver(); whoever sees it may take the result.
//  2. The continuation runs exactly once: by deliver() if it was there before `done`, else never
//     (on_ready() said false and the caller goes on by itself).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <slotwise/detail/operation.hpp>

#include "net/fork.hpp"
#include "routing/fan_out.hpp"
#include "routing/node.hpp"
#include "routing/request.hpp"

namespace slotwise::detail {

class Core;

class Operation final : public routing::Request {
 public:
  /// From this thread's pool.
  static Operation* take_from_pool(Core& core);

  void deliver(Result<Reply>&& result) noexcept override;

  // --- the caller's half ---
  bool ready() const noexcept { return (state_.load(std::memory_order_acquire) & done) != 0; }
  void wait() noexcept;
  /// Waits at most this long; false: not done yet.
  bool wait_for(std::chrono::milliseconds limit) noexcept;
  Result<Reply> take() noexcept { return std::move(*result_); }
  bool on_ready(OperationHandle::Continuation fn, void* context) noexcept;
  void* storage(std::size_t size, std::size_t align) noexcept;
  void let_go() noexcept;
  Core& core() noexcept { return *core_; }

  // --- how it starts on the loop ---
  std::string node_name;             ///< CallOptions::node
  routing::Node* counted = nullptr;  ///< whose loop_calls it is part of
  bool needs_learning = false;       ///< a command that the table does not know
  /// A caller in direct mode met trouble: what it saw.
  routing::Node* seen_node = nullptr;
  std::optional<Reply> seen_reply;
  std::optional<Error> seen_error;
  bool seen_expired = false;

 private:
  enum State : std::uint32_t { done = 1, waited_for = 2, continued = 4, let_go_of = 8 };
  void recycle() noexcept;

  Core* core_ = nullptr;
  std::atomic<std::uint32_t> state_{0};
  std::optional<Result<Reply>> result_;
  OperationHandle::Continuation continuation_ = nullptr;
  void* context_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[96];
};

/// Blocks while `word` is `expected`, or until woken, or for `limit`; callers look again. A futex:
/// the words of calls that nobody waits for cost nothing.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<std::chrono::milliseconds> limit = std::nullopt) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace slotwise::detail
