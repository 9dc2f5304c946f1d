// What a face hands to the library: one command before it is encoded.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <slotwise/convert.hpp>
#include <slotwise/reply_view.hpp>
#include <slotwise/result.hpp>

namespace slotwise {

class Script;

namespace detail {

class Command;  // private: an entry of the command table

/// Everything is only looked at during the call that it is given to.
struct CallSpec {
  const Command* command = nullptr;  ///< null: to be looked up by its words
  std::span<const std::string_view> words;
  bool spread = false;             ///< keys may lie in several slots
  const Script* script = nullptr;  ///< words are an EVALSHA of this script
};

/// Where the reply to a synchronous call goes: `take` is called at most once, on the caller's
/// thread, with the reply where it lies.
struct Sink {
  void (*take)(void* place, ReplyView& reply) = nullptr;
  void* place = nullptr;
};

/// A place for a T.
template <class T>
class Answer {
 public:
  Sink sink() noexcept {
    return {[](void* place, ReplyView& reply) {
              static_cast<std::optional<Result<T>>*>(place)->emplace(convert<T>(reply));
            },
            &result_};
  }
  /// Only if the call gave no error.
  Result<T>&& result() && noexcept { return std::move(*result_); }

 private:
  std::optional<Result<T>> result_;
};

}  // namespace detail
}  // namespace slotwise
