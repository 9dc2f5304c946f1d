// The seam between the public templates and the library: one call in flight, without its type.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <slotwise/convert.hpp>
#include <slotwise/export.hpp>
#include <slotwise/reply_view.hpp>
#include <slotwise/result.hpp>

namespace slotwise::detail {

class Operation;  // private to the library

/// Error(protocol): there is no memory for the reply. What the command did, it did.
SLOTWISE_API Error out_of_memory();

/// The end of a call, as its continuation sees it. The reply lies where it was received.
class SLOTWISE_API Ending {
 public:
  /// `reply` or `error` is null.
  Ending(Operation& op, ReplyView* reply, const Error* error) noexcept
      : op_(&op), reply_(reply), error_(error) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { release(); }

  /// Once. Unless it is a view, the operation is used again from here on: its storage is gone.
  template <class T>
  Result<T> give() noexcept {
    const Release release{std::is_same_v<T, ReplyView> ? nullptr : this};
    if (error_ != nullptr) [[unlikely]] {
      return *error_;
    }
    try {
      return convert<T>(*reply_);
    } catch (...) {  // NOLINT: nothing but memory can fail
      return out_of_memory();
    }
  }

 private:
  struct Release {
    Ending* end;
    ~Release() {
      if (end != nullptr) end->release();
    }
  };
  static void recycle(Operation& op) noexcept;
  void release() noexcept {
    if (op_ != nullptr) recycle(*std::exchange(op_, nullptr));
  }

  Operation* op_;
  ReplyView* reply_;
  const Error* error_;
};

/// Owns the caller's half of an Operation. Dropping it lets the call run on; its reply is thrown
/// away. Move-only. A handle is used from one thread at a time.
class SLOTWISE_API OperationHandle {
 public:
  /// `context` is what was given with it.
  using Continuation = void (*)(void* context, Ending& end) noexcept;

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
  ~OperationHandle() {
    if (op_ != nullptr) reset();
  }

  bool valid() const noexcept { return op_ != nullptr; }
  bool ready() const noexcept;
  /// Blocks until ready. From a loop thread it returns at once with an error if it is not ready:
  /// waiting there would stop the very thread that has to complete it.
  Result<Reply> wait();
  /// The outcome; only when ready, once.
  Result<Reply> take() noexcept;
  /// Calls `fn(context)` once, on a loop thread, when the call ends; the operation then belongs to
  /// itself, and the handle is empty. False: it is ready already, and nothing has happened.
  bool continue_with(Continuation fn, void* context) noexcept;
  /// The same, but `fn` is called here and now if the call has ended. The handle must be valid.
  void end_with(Continuation fn, void* context) noexcept;
  /// Memory inside the operation for a continuation that fits. The handle must be valid.
  void* storage() noexcept;
  static constexpr std::size_t storage_size = 96;
  template <class T>
  static constexpr bool fits = sizeof(T) <= storage_size && alignof(T) <= alignof(std::max_align_t);
  void reset() noexcept;

  /// What is said of a handle that is not valid.
  static Error used_already();

 private:
  Operation* op_ = nullptr;
};

}  // namespace slotwise::detail
