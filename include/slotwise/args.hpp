// The words of one command, gathered without copying them.
//
// Thread rule: use one Args from one thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <slotwise/export.hpp>

namespace slotwise {

class Args;

namespace detail {

/// Anything but an Args: the constructor must not pass for one that copies.
template <class T>
concept argument = !std::same_as<std::remove_cvref_t<T>, Args>;

/// Integers that are numbers: `char` is text to some and a number to others, `bool` has no one
/// spelling in the protocol, so neither is taken.
template <class T>
concept argument_integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                           !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                           !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <class T>
concept argument_text =
    std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;

template <class T>
concept argument_pair = requires(const T& v) {
  v.first;
  v.second;
};

}  // namespace detail

/// A list of words: `Args a("SET", key, value); a.add("PX").add(5000);`
///
/// 1. Text is referred to, not copied: it must live as long as the Args. Exceptions are
///    add_copy() and a temporary `std::string`, which is moved in and kept.
/// 2. Numbers are written into storage of the Args: integers in decimal, doubles in the shortest
///    form that reads back as the same value, whatever the locale.
/// 3. A duration is not taken: the word before it says whether seconds or milliseconds are meant,
///    so write `.add("PX").add(ms.count())`.
/// 4. Up to 16 words and about 4 numbers need no heap.
///
/// Neither copied nor moved, because its words point into it. Returning one from a function is
/// fine.
class SLOTWISE_API Args {
 public:
  static constexpr std::size_t inline_words = 16;

  Args() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the word storage uninitialised
  template <detail::argument First, class... More>
  explicit Args(First&& first, More&&... more) {
    add(std::forward<First>(first));
    (add(std::forward<More>(more)), ...);
  }
  ~Args() {
    if (kept_ != nullptr) [[unlikely]] {
      drop_kept();
    }
  }
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;

  /// Appends one word.
  template <class T>
  Args& add(T&& word) {
    using Value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<T, std::string>) {
      keep(std::forward<T>(word));
    } else if constexpr (detail::argument_text<Value>) {
      push(std::string_view(word));
    } else if constexpr (detail::argument_integer<Value>) {
      if constexpr (std::is_signed_v<Value>) {
        number(static_cast<std::int64_t>(word));
      } else {
        number(static_cast<std::uint64_t>(word));
      }
    } else if constexpr (std::floating_point<Value> && sizeof(Value) <= sizeof(double)) {
      number(word);
    } else {
      static_assert(!sizeof(Value),
                    "a word of a command is text, an integer or a double; give a duration as "
                    "count() in the unit that the command wants, a bool or char as text");
    }
    return *this;
  }

  /// Appends a word whose bytes need not live on: they are copied into the Args.
  Args& add_copy(std::string_view word);

  /// Appends each element; pairs (of a map, say) give two words each. The range must be an lvalue
  /// or a view, because its elements are referred to.
  template <std::ranges::input_range R>
  requires(!detail::argument_text<std::remove_cvref_t<R>>) Args& add_range(R&& range) {
    static_assert(std::ranges::borrowed_range<R> || std::ranges::view<std::remove_cvref_t<R>>,
                  "the range is a temporary and its elements would dangle; give it a name");
    for (auto&& element : range) {
      using Element = std::remove_cvref_t<decltype(element)>;
      if constexpr (!detail::argument_text<Element> && detail::argument_pair<Element>) {
        add(element.first);
        add(element.second);
      } else {
        add(std::forward<decltype(element)>(element));
      }
    }
    return *this;
  }
  Args& add_range(std::initializer_list<std::string_view> words) {
    for (std::string_view word : words)
      push(word);
    return *this;
  }

  /// All words in order, the command's name first. Valid until the next add.
  std::span<const std::string_view> words() const noexcept { return {words_, size_}; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  struct Kept;
  /// Words are made in place, so that an Args costs nothing for the room it does not use.
  union Inline {
    Inline() noexcept {}
    std::string_view words[inline_words];
  };

  void push(std::string_view word) {
    if (size_ == capacity_) grow();
    std::construct_at(words_ + size_, word);
    ++size_;
  }
  void grow();
  void drop_kept() noexcept;
  void keep(std::string&& text);
  void number(std::int64_t value);
  void number(std::uint64_t value);
  void number(double value);
  void number(float value);
  template <class T>
  void write_number(T value);

  std::string_view* words_ = inline_.words;
  std::size_t size_ = 0;
  std::size_t capacity_ = inline_words;
  std::unique_ptr<std::string_view[]> heap_;
  Kept* kept_ = nullptr;  ///< list of texts that did not fit into scratch_
  std::size_t scratch_used_ = 0;
  Inline inline_;
  char scratch_[96];
};

}  // namespace slotwise
