// A reply of the server, built once while it is parsed.
//
// Thread rule: a Reply is a plain value; use it from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <slotwise/export.hpp>

namespace slotwise {

/// One RESP2 or RESP3 value (https://valkey.io/topics/protocol/). RESP2 replies use the same types:
/// its null bulk string and null array are both `nil`.
class SLOTWISE_API Reply {
 public:
  enum class Type : std::uint8_t {
    nil,         ///< RESP3 `_`, RESP2 `$-1` and `*-1`
    status,      ///< simple string `+OK`
    string,      ///< bulk string `$`
    error,       ///< simple or bulk error `-`, `!`; text includes the code word
    integer,     ///< `:`
    real,        ///< RESP3 double `,` (also inf, -inf, nan)
    boolean,     ///< RESP3 `#`
    big_number,  ///< RESP3 `(`; kept as decimal text
    verbatim,    ///< RESP3 `=`; text without the format prefix, see format()
    array,       ///< `*`
    map,         ///< RESP3 `%`; elements() alternate key, value
    set,         ///< RESP3 `~`
    push,        ///< RESP3 `>`; never the reply of a command
  };

  Reply() noexcept = default;  ///< nil

  static Reply make_integer(std::int64_t v) { return Reply(Type::integer, v); }
  static Reply make_real(double v) { return Reply(Type::real, v); }
  static Reply make_boolean(bool v) { return Reply(Type::boolean, v); }
  /// `type` is one of status, string, error, big_number, verbatim.
  static Reply make_text(Type type, std::string text) { return Reply(type, std::move(text)); }
  /// `type` is one of array, map, set, push. A map's elements alternate key, value.
  static Reply make_aggregate(Type type, std::vector<Reply> elements) {
    return Reply(type, std::move(elements));
  }

  Type type() const noexcept { return type_; }
  bool is_nil() const noexcept { return type_ == Type::nil; }
  bool is_error() const noexcept { return type_ == Type::error; }
  bool is_integer() const noexcept { return type_ == Type::integer; }
  /// status, string, error, big_number or verbatim: text() is usable.
  bool is_text() const noexcept { return std::holds_alternative<std::string>(value_); }
  /// array, map, set or push: elements() is usable.
  bool is_aggregate() const noexcept { return std::holds_alternative<std::vector<Reply>>(value_); }

  /// The bytes of a text reply; empty for any other type.
  std::string_view text() const noexcept {
    const auto* s = std::get_if<std::string>(&value_);
    return s ? std::string_view(*s) : std::string_view();
  }
  /// Moves the bytes of a text reply out, without a copy; empty for any other type.
  std::string take_text() noexcept {
    auto* s = std::get_if<std::string>(&value_);
    return s ? std::move(*s) : std::string();
  }
  /// The value of an integer; 0 for any other type.
  std::int64_t integer() const noexcept {
    const auto* v = std::get_if<std::int64_t>(&value_);
    return v ? *v : 0;
  }
  /// The value of a double; 0 for any other type.
  double real() const noexcept {
    const auto* v = std::get_if<double>(&value_);
    return v ? *v : 0.0;
  }
  /// The value of a boolean; false for any other type.
  bool boolean() const noexcept {
    const auto* v = std::get_if<bool>(&value_);
    return v != nullptr && *v;
  }
  /// The members of an aggregate; empty for any other type. Map: key, value, key, value...
  std::span<const Reply> elements() const noexcept {
    const auto* v = std::get_if<std::vector<Reply>>(&value_);
    return v ? std::span<const Reply>(*v) : std::span<const Reply>();
  }
  std::span<Reply> elements() noexcept {
    auto* v = std::get_if<std::vector<Reply>>(&value_);
    return v ? std::span<Reply>(*v) : std::span<Reply>();
  }
  std::vector<Reply> take_elements() noexcept {
    auto* v = std::get_if<std::vector<Reply>>(&value_);
    return v ? std::move(*v) : std::vector<Reply>();
  }

  /// Looks `key` up in a map, or in a RESP2 array that alternates key, value. Null if absent.
  const Reply* find(std::string_view key) const noexcept;

  /// The three letters of a verbatim string ("txt", "mkd"); empty for any other type.
  std::string_view format() const noexcept {
    return type_ == Type::verbatim ? std::string_view(format_, 3) : std::string_view();
  }

  /// For logs and messages: one line, binary bytes escaped, long text and long aggregates cut.
  std::string describe(std::size_t limit = 200) const;

  friend SLOTWISE_API bool operator==(const Reply& a, const Reply& b) noexcept;

 private:
  friend class ReplyAccess;  // the parser builds replies in place

  template <class V>
  Reply(Type type, V v) : type_(type), value_(std::move(v)) {}

  Type type_ = Type::nil;
  char format_[3] = {'t', 'x', 't'};
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Reply>> value_;
};

/// The name of a type as the protocol's documentation writes it ("bulk string", "array", ...).
SLOTWISE_API std::string_view to_string(Reply::Type type) noexcept;

}  // namespace slotwise
