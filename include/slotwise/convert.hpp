// From a Reply to the type that the caller asked for.
//
// Thread rule: pure functions.
//
// convert<T>(Reply) exists for
//   Reply                   as it came; an error reply stays data
//   void                    any reply that is no error
//   std::string             text, number or boolean, in the spelling of RESP2
//   integers, floats        a number, or its text; a whole double is an integer too. Out of range:
//                           mismatch, never a wrapped value
//   bool                    boolean; integer: not 0; OK: true; nil (SET ... NX that wrote nothing):
//   false std::optional<T>        nil: empty. For a pair or tuple an empty array is empty too
//   (ZPOPMIN) std::pair, std::tuple   an array with exactly that many elements sequences vector,
//   deque, list ...; nil: no elements. Of pairs: a map, a list of
//                           pairs, or a flat list
//   maps and sets           ordered or not, of the standard library or like it
// and nested as one likes. A reply of another shape gives Error(type_mismatch, executed): the
// command ran. RESP2 and RESP3 write the same thing in different shapes (map or flat array, double
// or text, nested or flat pairs, boolean or integer); both give the same value.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <slotwise/error.hpp>
#include <slotwise/export.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>
#include <slotwise/result.hpp>

namespace slotwise {

/// An error reply, at the top or in an element that is not asked for as Reply, becomes
/// Error(server, rejected).
template <class T>
Result<T> convert(Reply&& reply);

/// The same of a reply where it lies: what is asked for is made of its bytes directly. ReplyView
/// itself is had too, by whoever does not keep it.
template <class T>
Result<T> convert(ReplyView& view);

/// An error stays the error.
template <class T>
Result<T> convert(Result<Reply>&& result) {
  if (!result) return std::move(result).error();
  return convert<T>(std::move(*result));
}

namespace detail {

/// Error(type_mismatch) that says what was asked for and what came, without the value.
SLOTWISE_API Error mismatch(std::string_view wanted, const Reply& got);
/// Error(server), or Error(auth_failed), from an error reply.
SLOTWISE_API Error error_of(const Reply& reply);
SLOTWISE_API Result<std::int64_t> to_integer(const Reply& reply);
SLOTWISE_API Result<double> to_double(const Reply& reply);
SLOTWISE_API Result<bool> to_bool(const Reply& reply);
SLOTWISE_API Result<std::string> to_text(Reply&& reply);
/// True for [[a, b], [c, d]]; false for a map and for [a, b, c, d].
SLOTWISE_API bool is_nested_pairs(const Reply& reply) noexcept;

template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

template <class T>
inline constexpr bool is_character =
    std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

template <class T>
concept number_type = std::integral<T> && !std::same_as<T, bool> && !is_character<T>;
template <class T>
concept map_type = requires {
  typename T::mapped_type;
}
&&requires(T t, typename T::key_type k, typename T::mapped_type v) {
  t.emplace(std::move(k), std::move(v));
};
template <class T>
concept set_type = !requires {
  typename T::mapped_type;
}
&&requires(T t, typename T::key_type k) {
  t.emplace(std::move(k));
};
template <class T>
concept sequence_type = !std::same_as<T, std::string> && requires(T t, typename T::value_type v) {
  t.push_back(std::move(v));
};

/// Gives each element to `sink(T)`; stops at the first that does not convert.
template <class T, class Sink>
Result<void> each(Reply& r, Sink sink) {
  if (r.is_nil()) return {};
  if (!r.is_aggregate()) return mismatch("an array", r);
  for (Reply& element : r.elements()) {
    auto value = convert<T>(std::move(element));
    if (!value) return std::move(value).error();
    sink(std::move(*value));
  }
  return {};
}

/// Gives each pair to `sink(A, B)`.
template <class A, class B, class Sink>
Result<void> each_pair(Reply& r, Sink sink) {
  if (r.is_nil()) return {};
  if (!r.is_aggregate()) return mismatch("a map or a list of pairs", r);
  if (is_nested_pairs(r)) {
    return each<std::pair<A, B>>(
        r, [&sink](auto pair) { sink(std::move(pair.first), std::move(pair.second)); });
  }
  const auto elements = r.elements();
  if (elements.size() % 2 != 0) return mismatch("a map or a list of pairs", r);
  for (std::size_t i = 0; i < elements.size(); i += 2) {
    auto a = convert<A>(std::move(elements[i]));
    if (!a) return std::move(a).error();
    auto b = convert<B>(std::move(elements[i + 1]));
    if (!b) return std::move(b).error();
    sink(std::move(*a), std::move(*b));
  }
  return {};
}

template <class T>
struct Converter {
  static_assert(sizeof(T) == 0,
                "slotwise::convert knows no way from a reply to this type: see the list at the top "
                "of <slotwise/convert.hpp>. Views are not among them, because the reply is gone "
                "when the caller would look; ask for std::string");
};

template <>
struct Converter<Reply> {
  static Result<Reply> from(Reply&& r) { return std::move(r); }
};
// from_view() is the short way for what nearly every reply is; it leaves the rest to from().
template <>
struct Converter<void> {
  static Result<void> from(Reply&& /*any*/) { return {}; }
  static Result<void> from_view(ReplyView& /*any*/) { return {}; }
};
template <>
struct Converter<std::string> {
  static Result<std::string> from(Reply&& r) { return to_text(std::move(r)); }
  static Result<std::string> from_view(ReplyView& v) {
    if (v.type() == Reply::Type::string) {
      if (!v.in_buffer()) return v.take_text();
      return Result<std::string>(std::in_place, v.text());
    }
    return from(v.take());
  }
};
template <>
struct Converter<bool> {
  static Result<bool> from(Reply&& r) { return to_bool(r); }
  static Result<bool> from_view(ReplyView& v) {
    if (v.type() == Reply::Type::status && v.text() == "OK") return true;
    return from(v.take());
  }
};
template <std::floating_point T>
struct Converter<T> {
  static Result<T> from(Reply&& r) {
    auto value = to_double(r);
    if (!value) return std::move(value).error();
    return static_cast<T>(*value);
  }
};
template <number_type T>
struct Converter<T> {
  static Result<T> from(Reply&& r) {
    auto value = to_integer(r);
    if (!value) return std::move(value).error();
    if (!std::in_range<T>(*value)) return mismatch("an integer in the range of its type", r);
    return static_cast<T>(*value);
  }
  static Result<T> from_view(ReplyView& v) {
    if (v.is_integer() && std::in_range<T>(v.integer())) return static_cast<T>(v.integer());
    return from(v.take());
  }
};
template <class T>
struct Converter<std::optional<T>> {
  static Result<std::optional<T>> from(Reply&& r) {
    constexpr bool empty_is_absent = requires {
      std::tuple_size<T>::value;
    };
    if (r.is_nil() || (empty_is_absent && r.is_aggregate() && r.elements().empty())) {
      return std::optional<T>();
    }
    auto value = convert<T>(std::move(r));
    if (!value) return std::move(value).error();
    return std::optional<T>(std::move(*value));
  }
  static Result<std::optional<T>> from_view(ReplyView& v) {
    if (v.is_nil()) return std::optional<T>();
    if constexpr (std::same_as<T, std::string>) {
      if (v.type() == Reply::Type::string) {
        if (!v.in_buffer()) return std::optional<T>(v.take_text());
        return Result<std::optional<T>>(std::in_place, std::in_place, v.text());
      }
    }
    return from(v.take());
  }
};
template <class... T>
struct Converter<std::tuple<T...>> {
  static Result<std::tuple<T...>> from(Reply&& r) {
    if (!r.is_aggregate() || r.elements().size() != sizeof...(T)) {
      return mismatch("an array of fixed length", r);
    }
    return build(r.elements(), std::index_sequence_for<T...>());
  }

 private:
  template <std::size_t... i>
  static Result<std::tuple<T...>> build([[maybe_unused]] std::span<Reply> elements,
                                        std::index_sequence<i...>) {
    std::tuple<Result<T>...> values{convert<T>(std::move(elements[i]))...};
    const Error* error = nullptr;
    ((error = error == nullptr && !std::get<i>(values) ? &std::get<i>(values).error() : error),
     ...);
    if (error != nullptr) return *error;
    return std::tuple<T...>(std::move(*std::get<i>(values))...);
  }
};
template <class A, class B>
struct Converter<std::pair<A, B>> {
  static Result<std::pair<A, B>> from(Reply&& r) {
    if (r.elements().size() != 2) return mismatch("a pair", r);
    auto a = convert<A>(std::move(r.elements()[0]));
    if (!a) return std::move(a).error();
    auto b = convert<B>(std::move(r.elements()[1]));
    if (!b) return std::move(b).error();
    return std::pair<A, B>(std::move(*a), std::move(*b));
  }
};
template <sequence_type T>
struct Converter<T> {
  static Result<T> from(Reply&& r) {
    using Value = typename T::value_type;
    T out;
    Result<void> done;
    if constexpr (is_pair<Value>) {
      done = each_pair<typename Value::first_type, typename Value::second_type>(
          r, [&out](auto a, auto b) { out.emplace_back(std::move(a), std::move(b)); });
    } else {
      if constexpr (requires { out.reserve(std::size_t{}); }) out.reserve(r.elements().size());
      done = each<Value>(r, [&out](auto value) { out.push_back(std::move(value)); });
    }
    if (!done) return done.error();
    return out;
  }
};
template <set_type T>
struct Converter<T> {
  static Result<T> from(Reply&& r) {
    T out;
    auto done = each<typename T::key_type>(r, [&out](auto v) { out.emplace(std::move(v)); });
    if (!done) return done.error();
    return out;
  }
};
template <map_type T>
struct Converter<T> {
  static Result<T> from(Reply&& r) {
    T out;
    auto done = each_pair<typename T::key_type, typename T::mapped_type>(
        r, [&out](auto k, auto v) { out.emplace(std::move(k), std::move(v)); });
    if (!done) return done.error();
    return out;
  }
};

}  // namespace detail

template <class T>
Result<T> convert(Reply&& reply) {
  if constexpr (!std::same_as<T, Reply>) {
    if (reply.is_error()) return detail::error_of(reply);
  }
  return detail::Converter<T>::from(std::move(reply));
}

template <class T>
Result<T> convert(ReplyView& view) {
  if constexpr (!std::same_as<T, Reply>) {
    if (view.is_error()) return detail::error_of(view.take());
  }
  if constexpr (std::same_as<T, ReplyView>) {
    return view;
  } else if constexpr (requires { detail::Converter<T>::from_view(view); }) {
    return detail::Converter<T>::from_view(view);
  } else {
    return detail::Converter<T>::from(view.take());
  }
}

}  // namespace slotwise
