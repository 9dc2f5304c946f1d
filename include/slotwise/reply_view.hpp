// A reply where it lies: in the buffer that it was received into, or in a Reply of the library.
//
// Thread rule: it belongs to the callback that was given it, and ends when that returns.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <slotwise/export.hpp>
#include <slotwise/reply.hpp>

namespace slotwise {

/// What `Task::then_view` gives: a text is read without a copy and without an allocation. Nothing
/// of it may be kept beyond the callback; take() makes a Reply that may.
class SLOTWISE_API ReplyView {
 public:
  using Type = Reply::Type;

  ReplyView() noexcept = default;  ///< nil
  /// Of a whole reply, which must live as long; take() moves out of it.
  explicit ReplyView(Reply& reply) noexcept;

  Type type() const noexcept { return type_; }
  bool is_nil() const noexcept { return type_ == Type::nil; }
  bool is_error() const noexcept { return type_ == Type::error; }
  bool is_integer() const noexcept { return type_ == Type::integer; }
  /// status, string, error, big_number or verbatim: text() is usable.
  bool is_text() const noexcept {
    return type_ == Type::string || type_ == Type::status || type_ == Type::error ||
           type_ == Type::big_number || type_ == Type::verbatim;
  }
  /// array, map, set or push: elements() is usable.
  bool is_aggregate() const noexcept {
    return type_ == Type::array || type_ == Type::map || type_ == Type::set || type_ == Type::push;
  }

  /// The bytes of a text reply; empty for any other type.
  std::string_view text() const noexcept { return text_; }
  /// The value of an integer; 0 for any other type.
  std::int64_t integer() const noexcept { return type_ == Type::integer ? integer_ : 0; }
  /// The value of a double; 0 for any other type.
  double real() const noexcept { return type_ == Type::real ? real_ : 0.0; }
  /// The value of a boolean; false for any other type.
  bool boolean() const noexcept { return type_ == Type::boolean && integer_ != 0; }
  /// The members of an aggregate; empty for any other type. Map: key, value, key, value...
  std::span<const Reply> elements() const noexcept {
    return whole_ != nullptr ? std::as_const(*whole_).elements() : std::span<const Reply>();
  }
  /// The three letters of a verbatim string ("txt", "mkd"); empty for any other type.
  std::string_view format() const noexcept {
    return type_ == Type::verbatim ? std::string_view(format_, 3) : std::string_view();
  }

  /// It lies in the buffer of its connection: taking it copies. Else it is moved.
  bool in_buffer() const noexcept { return whole_ == nullptr; }
  /// A reply of one's own. What is whole already is moved out of, so ask once.
  Reply take();
  /// The same for the bytes of a text reply; empty for any other type.
  std::string take_text() { return whole_ != nullptr ? whole_->take_text() : std::string(text_); }

 private:
  friend class ReplyAccess;  // the parser fills it in

  Type type_ = Type::nil;
  char format_[3] = {'t', 'x', 't'};
  std::string_view text_;
  union {
    std::int64_t integer_ = 0;  // integer; boolean as 0 or 1
    double real_;
  };
  Reply* whole_ = nullptr;  // null: it lies in a buffer, and has no members
};

}  // namespace slotwise
