// The seam between the public templates and the library: one call in flight, without its type.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <slotwise/export.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/result.hpp>

namespace slotwise::detail {

class Operation;  // private to the library

/// Owns the caller's half of an Operation. Dropping it lets the call run on; its reply is thrown
/// away. Move-only. A handle is used from one thread at a time.
class SLOTWISE_API OperationHandle {
 public:
  /// `context` is what was given to on_ready.
  using Continuation = void (*)(void* context);

  OperationHandle() noexcept = default;
  explicit OperationHandle(Operation* op) noexcept : op_(op) {}
  OperationHandle(OperationHandle&& other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
  OperationHandle& operator=(OperationHandle&& other) noexcept {
    if (this != &other) {
      reset();
      op_ = std::exchange(other.op_, nullptr);
    }
    return *this;
  }
  ~OperationHandle() { reset(); }

  bool valid() const noexcept { return op_ != nullptr; }
  bool ready() const noexcept;
  /// Blocks until ready. From a loop thread it returns at once with an error if it is not ready:
  /// waiting there would stop the very thread that has to complete it.
  Result<Reply> wait();
  /// The outcome; only when ready, once.
  Result<Reply> take() noexcept;
  /// Calls `fn(context)` once, on a loop thread, when ready. False: it is ready already, and `fn`
  /// is not called. The handle (moved into the context) must stay alive until `fn` runs.
  bool on_ready(Continuation fn, void* context) noexcept;
  /// Memory inside the operation for a small continuation; null if `size` is too large.
  void* storage(std::size_t size, std::size_t align) noexcept;
  void reset() noexcept;

 private:
  Operation* op_ = nullptr;
};

}  // namespace slotwise::detail
