// One asynchronous call: wait for it, give it a callback, or co_await it.
//
// Thread rule: a Task is used from one thread at a time; callbacks and resumed coroutines run on a
// loop thread of the client and must not block there.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#if defined(__clang__) && !defined(__cpp_impl_coroutine)
#define __cpp_impl_coroutine 201902L  // clang < 17 has coroutines but hides them from libstdc++
#endif
#include <coroutine>

#include <slotwise/convert.hpp>
#include <slotwise/detail/operation.hpp>
#include <slotwise/result.hpp>

namespace slotwise {

/// The call is already on its way when a Task is made. Dropping a Task does not cancel the call.
template <class T>
class [[nodiscard]] Task {
 public:
  explicit Task(detail::OperationHandle op) noexcept : op_(std::move(op)) {}

  bool ready() const noexcept { return op_.ready(); }

  /// Blocks until the call is done; its own deadline bounds the wait. Not from a callback.
  Result<T> wait() { return convert<T>(op_.wait()); }

  /// Blocks, and throws the Error.
  T get() { return wait().value(); }

  /// Calls `f(Result<T>)` when the call is done: on a loop thread, or here and now if it is done
  /// already. An exception that leaves `f` is swallowed.
  template <class F>
  void then(F f) && {
    using Thunk = Continuation<std::decay_t<F>>;
    void* place = op_.storage(sizeof(Thunk), alignof(Thunk));
    auto* thunk = place != nullptr ? new (place) Thunk(std::move(f), std::move(op_), false)
                                   : new Thunk(std::move(f), std::move(op_), true);
    if (!thunk->op.on_ready(&Thunk::run, thunk)) Thunk::run(thunk);
  }

  /// For calls whose result does not matter: nothing waits, errors are only counted.
  void detach() && { op_.reset(); }

  class Awaiter {
   public:
    explicit Awaiter(detail::OperationHandle op) noexcept : op_(std::move(op)) {}
    bool await_ready() const noexcept { return op_.ready(); }
    bool await_suspend(std::coroutine_handle<> waiting) noexcept {
      return op_.on_ready([](void* p) { std::coroutine_handle<>::from_address(p).resume(); },
                          waiting.address());
    }
    Result<T> await_resume() { return convert<T>(op_.take()); }

   private:
    detail::OperationHandle op_;
  };
  Awaiter operator co_await() && noexcept { return Awaiter(std::move(op_)); }

 private:
  template <class F>
  struct Continuation {
    Continuation(F fn, detail::OperationHandle handle, bool on_heap)
        : f(std::move(fn)), op(std::move(handle)), heap(on_heap) {}
    F f;
    detail::OperationHandle op;
    bool heap;

    static void run(void* self) noexcept {
      auto* thunk = static_cast<Continuation*>(self);
      // The thunk may lie inside the operation: keep the handle until everything of it is gone.
      F fn = std::move(thunk->f);
      detail::OperationHandle handle = std::move(thunk->op);
      if (thunk->heap) {
        delete thunk;
      } else {
        std::destroy_at(thunk);
      }
      Result<T> result = convert<T>(handle.take());
      handle.reset();  // back to the pool before the callback makes its next call
      try {
        fn(std::move(result));
      } catch (...) {  // NOLINT: documented above
      }
    }
  };

  detail::OperationHandle op_;
};

}  // namespace slotwise
