// How the typed commands take several strings, field-value pairs or scored members.
//
// Thread rule: temporaries of one call; make none of these yourself.
//
// Each takes a braced list, or any range that a range-based for loop walks (vector, set, map,
// array, span, view, istream_view ...). Nothing is copied, except where the range gives temporaries
// or can be walked only once.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <slotwise/args.hpp>
#include <slotwise/export.hpp>

namespace slotwise {

namespace detail {

template <class T>
concept string_like =
    std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;

template <class R>
concept any_range = requires(R& r) {
  *std::begin(r);
  std::end(r);
};
template <class R>
using element_of = decltype(*std::begin(std::declval<R&>()));

template <class R>
concept string_range = any_range<R> && !string_like<std::remove_cvref_t<R>> &&
                       string_like<std::remove_cvref_t<element_of<R>>>;
template <class R>
concept field_range = any_range<R> && requires(element_of<R> e) {
  { e.first } -> std::convertible_to<std::string_view>;
  { e.second } -> std::convertible_to<std::string_view>;
};
template <class R>
concept score_range = any_range<R> && requires(element_of<R> e) {
  { e.first } -> std::convertible_to<std::string_view>;
  { e.second } -> std::convertible_to<double>;
} && !field_range<R>;

/// Its elements stay where they are while a command is put together, and may be walked again.
template <class R, class Item>
inline constexpr bool can_be_referred_to =
    std::forward_iterator<decltype(std::begin(std::declval<R&>()))> &&
    (std::is_lvalue_reference_v<element_of<R>> ||
     std::same_as<std::remove_cv_t<element_of<R>>, Item>);

enum class Part : unsigned char { nothing, all, first, second };

/// A range with its type taken away: walks it, appends what `part` says, and returns its length.
class Walk {
 public:
  Walk() noexcept = default;
  template <class R, class Append>
  Walk(R& range, Append /*stateless*/) noexcept
      : range_(std::addressof(range)), function_([](const void* p, Args* args, Part part) {
          std::size_t n = 0;
          // A view may change while it is walked, so it is not taken as const.
          for (auto&& element : *static_cast<R*>(const_cast<void*>(p))) {
            if (part != Part::nothing) Append()(*args, element, part);
            ++n;
          }
          return n;
        }) {}

  std::size_t operator()(Args* args, Part part) const {
    return function_ == nullptr ? 0 : function_(range_, args, part);
  }

 private:
  const void* range_ = nullptr;
  std::size_t (*function_)(const void* range, Args* args, Part part) = nullptr;
};

/// What Words, Fields and ScoredMembers have in common. `Item` is an element that is only referred
/// to, `Kept` one that had to be copied.
template <class Item, class Kept, class Append>
class Items {
 public:
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;

  std::size_t size() const { return walk_(nullptr, Part::nothing); }
  void append_to(Args& args) const { walk_(&args, Part::all); }

 protected:
  Items() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a base class, nobody converts to it
  explicit Items(std::initializer_list<Item> list) : list_(list), walk_(list_, Append()) {}
  template <class R>
  explicit Items(R& range, std::nullptr_t /*not a list*/) {
    if constexpr (can_be_referred_to<R, Item>) {
      walk_ = {range, Append()};
    } else {
      for (auto&& element : range)
        kept_.push_back(Append::keep(element));
      walk_ = {kept_, Append()};
    }
  }
  ~Items() = default;

  const Walk& walk() const noexcept { return walk_; }

 private:
  std::initializer_list<Item> list_;
  std::vector<Kept> kept_;
  Walk walk_;
};

struct AppendWord {
  void operator()(Args& args, std::string_view word, Part /*all*/) const { args.add(word); }
  static std::string keep(std::string_view word) { return std::string(word); }
};
struct AppendField {
  void operator()(Args& args, const auto& pair, Part part) const {
    if (part != Part::second) args.add(std::string_view(pair.first));
    if (part != Part::first) args.add(std::string_view(pair.second));
  }
  static std::pair<std::string, std::string> keep(const auto& pair) {
    return {std::string(std::string_view(pair.first)), std::string(std::string_view(pair.second))};
  }
};
struct AppendScored {
  void operator()(Args& args, const auto& pair, Part /*all*/) const {
    args.add(static_cast<double>(pair.second)).add(std::string_view(pair.first));
  }
  static std::pair<std::string, double> keep(const auto& pair) {
    return {std::string(std::string_view(pair.first)), static_cast<double>(pair.second)};
  }
};

using WordItems = Items<std::string_view, std::string, AppendWord>;
using FieldItems = Items<std::pair<std::string_view, std::string_view>,
                         std::pair<std::string, std::string>, AppendField>;
using ScoredItems =
    Items<std::pair<std::string_view, double>, std::pair<std::string, double>, AppendScored>;

}  // namespace detail

/// One string, `{"a", "b"}`, or any range of strings.
class Words : public detail::WordItems {
 public:
  Words() noexcept = default;
  Words(std::initializer_list<std::string_view> words) : Items(words) {}  // NOLINT
  template <detail::string_like S>
  Words(const S& word) : Items(one_, nullptr), one_{word} {}  // NOLINT
  template <detail::string_range R>
  Words(R&& words) : Items(words, nullptr) {}  // NOLINT

 private:
  std::string_view one_[1];
};

/// `{{"field", "value"}, ...}`, or any range of pairs of strings, such as a map.
class Fields : public detail::FieldItems {
 public:
  Fields(std::initializer_list<std::pair<std::string_view, std::string_view>> fields)  // NOLINT
      : Items(fields) {}
  template <detail::field_range R>
  Fields(R&& fields) : Items(fields, nullptr) {}  // NOLINT

  /// All firsts, then all seconds, as XREAD wants its streams and ids.
  void append_apart(Args& args) const {
    walk()(&args, detail::Part::first);
    walk()(&args, detail::Part::second);
  }
};

/// `{{"member", 1.5}, ...}`, or any range of pairs of member and score, such as a map.
class ScoredMembers : public detail::ScoredItems {
 public:
  ScoredMembers(std::initializer_list<std::pair<std::string_view, double>> members)  // NOLINT
      : Items(members) {}
  template <detail::score_range R>
  ScoredMembers(R&& members) : Items(members, nullptr) {}  // NOLINT
};

}  // namespace slotwise
