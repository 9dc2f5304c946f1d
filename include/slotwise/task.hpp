// One asynchronous call: wait for it, give it a callback, or co_await it.
//
// Thread rule: a Task is used from one thread at a time; callbacks and resumed coroutines run on a
// loop thread of the client and must not block there.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#if defined(__clang__) && !defined(__cpp_impl_coroutine)
#define __cpp_impl_coroutine 201902L  // clang < 17 has coroutines but hides them from libstdc++
#endif
#include <coroutine>

#include <slotwise/convert.hpp>
#include <slotwise/detail/operation.hpp>
#include <slotwise/reply_view.hpp>
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
    end_with<T>(std::move(f));
  }

  /// Calls `f(Result<ReplyView>)` likewise: the reply where it lies, without a copy, for as long as
  /// `f` runs. A reply may have been put aside before this is called (never if the call was made on
  /// the loop thread); then the view is of that.
  template <class F>
  void then_view(F f) && {
    end_with<ReplyView>(std::move(f));
  }

  /// For calls whose result does not matter: nothing waits, errors are only counted.
  void detach() && { op_.reset(); }

  class Awaiter {
   public:
    explicit Awaiter(detail::OperationHandle op) noexcept : op_(std::move(op)) {}
    bool await_ready() const noexcept { return !op_.valid() || op_.ready(); }
    bool await_suspend(std::coroutine_handle<> waiting) noexcept {
      waiting_ = waiting;
      return op_.continue_with(&Awaiter::resume, this);
    }
    Result<T> await_resume() {
      if (result_) return std::move(*result_);
      return convert<T>(op_.take());
    }

   private:
    static void resume(void* self, detail::Ending& end) noexcept {
      auto* awaiter = static_cast<Awaiter*>(self);
      awaiter->result_.emplace(end.give<T>());
      awaiter->waiting_.resume();
    }

    detail::OperationHandle op_;
    std::coroutine_handle<> waiting_;
    std::optional<Result<T>> result_;
  };
  Awaiter operator co_await() && noexcept { return Awaiter(std::move(op_)); }

 private:
  template <class U, class F>
  struct Continuation {
    F f;

    static void run(void* self, detail::Ending& end) noexcept {
      auto* mine = static_cast<Continuation*>(self);
      // It may lie inside the operation, which is given back before `f` makes its next call.
      F fn = std::move(mine->f);
      if constexpr (detail::OperationHandle::fits<Continuation>) {
        std::destroy_at(mine);
      } else {
        delete mine;
      }
      try {
        fn(end.give<U>());
      } catch (...) {  // NOLINT: documented above
      }
    }
  };

  template <class U, class F>
  void end_with(F f) {
    using Mine = Continuation<U, F>;
    if (!op_.valid()) [[unlikely]] {
      f(Result<U>(detail::OperationHandle::used_already()));
      return;
    }
    Mine* mine = nullptr;
    if constexpr (detail::OperationHandle::fits<Mine>) {
      mine = new (op_.storage()) Mine{std::move(f)};
    } else {
      mine = new Mine{std::move(f)};
    }
    op_.end_with(&Mine::run, mine);
  }

  detail::OperationHandle op_;
};

}  // namespace slotwise
