// Lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/commands/time.hpp>
#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>

namespace slotwise {

/// The two ends of a list.
enum class Side : std::uint8_t { left, right };

/// Where linsert() puts the new element.
enum class Insert : std::uint8_t { before, after };

namespace detail {
constexpr std::string_view word(Side side) noexcept {
  return side == Side::left ? "LEFT" : "RIGHT";
}
constexpr std::string_view word(Insert where) noexcept {
  return where == Insert::before ? "BEFORE" : "AFTER";
}
}  // namespace detail

/// A blocking command travels on a connection of its own and delays nobody else's calls. Its time
/// on the server is added to the deadline of the call; zero waits for ever there, so that only the
/// call's own timeout (CallOptions) ends it.
template <class Face>
class ListCommands {
 public:
  /// Puts values at the left end, one after the other, so that the last one comes to stand first;
  /// gives the new length. (LPUSH)
  auto lpush(std::string_view key, Words values) const {
    return detail::call<std::int64_t, "LPUSH">(*this, key, values);
  }
  /// Puts values at the right end, and gives the new length. (RPUSH)
  auto rpush(std::string_view key, Words values) const {
    return detail::call<std::int64_t, "RPUSH">(*this, key, values);
  }
  /// Like lpush(), for a list that exists; 0: it does not, and nothing was written. (LPUSHX)
  auto lpushx(std::string_view key, Words values) const {
    return detail::call<std::int64_t, "LPUSHX">(*this, key, values);
  }
  /// Like rpush(), for a list that exists; 0: it does not, and nothing was written. (RPUSHX)
  auto rpushx(std::string_view key, Words values) const {
    return detail::call<std::int64_t, "RPUSHX">(*this, key, values);
  }
  /// Takes the leftmost element. Nil: no such key. (LPOP)
  auto lpop(std::string_view key) const {
    return detail::call<std::optional<std::string>, "LPOP">(*this, key);
  }
  /// Takes up to `count` elements from the left; empty: no such key. (LPOP)
  auto lpop(std::string_view key, std::int64_t count) const {
    return detail::call<std::vector<std::string>, "LPOP">(*this, key, count);
  }
  /// Takes the rightmost element. Nil: no such key. (RPOP)
  auto rpop(std::string_view key) const {
    return detail::call<std::optional<std::string>, "RPOP">(*this, key);
  }
  /// Takes up to `count` elements from the right, the rightmost first; empty: no such key. (RPOP)
  auto rpop(std::string_view key, std::int64_t count) const {
    return detail::call<std::vector<std::string>, "RPOP">(*this, key, count);
  }
  /// Number of elements; 0: no such key. (LLEN)
  auto llen(std::string_view key) const { return detail::call<std::int64_t, "LLEN">(*this, key); }
  /// The elements from `first` to `last` inclusive; negative positions count from the end. (LRANGE)
  auto lrange(std::string_view key, std::int64_t first, std::int64_t last) const {
    return detail::call<std::vector<std::string>, "LRANGE">(*this, key, first, last);
  }
  /// The element at a position; negative ones count from the end. Nil: there is none. (LINDEX)
  auto lindex(std::string_view key, std::int64_t position) const {
    return detail::call<std::optional<std::string>, "LINDEX">(*this, key, position);
  }
  /// Replaces the element at a position. It is an error if there is none. (LSET)
  auto lset(std::string_view key, std::int64_t position, std::string_view value) const {
    return detail::call<void, "LSET">(*this, key, position, value);
  }
  /// Removes elements equal to `value`, and gives how many: the first `count` of them, the last
  /// -`count` if that is negative, all if it is 0. (LREM)
  auto lrem(std::string_view key, std::int64_t count, std::string_view value) const {
    return detail::call<std::int64_t, "LREM">(*this, key, count, value);
  }
  /// Keeps only the elements from `first` to `last` inclusive. (LTRIM)
  auto ltrim(std::string_view key, std::int64_t first, std::int64_t last) const {
    return detail::call<void, "LTRIM">(*this, key, first, last);
  }
  /// Puts a value before or after the first element equal to `pivot`, and gives the new length;
  /// -1: there is no such element; 0: no such key. (LINSERT)
  auto linsert(std::string_view key, Insert where, std::string_view pivot,
               std::string_view value) const {
    return detail::call<std::int64_t, "LINSERT">(*this, key, detail::word(where), pivot, value);
  }
  /// Position of the first element equal to `value`. Nil: there is none. (LPOS)
  auto lpos(std::string_view key, std::string_view value) const {
    return detail::call<std::optional<std::int64_t>, "LPOS">(*this, key, value);
  }
  /// Takes an element off one end of a list, puts it onto an end of another in the same slot, and
  /// gives it. Nil: nothing to take. (LMOVE)
  auto lmove(std::string_view from, std::string_view to, Side off, Side onto) const {
    return detail::call<std::optional<std::string>, "LMOVE">(*this, from, to, detail::word(off),
                                                             detail::word(onto));
  }

  /// Takes the leftmost element of the first of these lists (of one slot) that has one, and gives
  /// key and element; waits up to `wait` for one. Nil: none came. Blocking. (BLPOP)
  auto blpop(Words keys, Duration wait) const {
    return detail::call<std::optional<std::pair<std::string, std::string>>, "BLPOP">(
        *this, keys, detail::Seconds{wait});
  }
  /// The same with the rightmost element. Blocking. (BRPOP)
  auto brpop(Words keys, Duration wait) const {
    return detail::call<std::optional<std::pair<std::string, std::string>>, "BRPOP">(
        *this, keys, detail::Seconds{wait});
  }
  /// Like lmove(), but waits up to `wait` for an element. Nil: none came. Blocking. (BLMOVE)
  auto blmove(std::string_view from, std::string_view to, Side off, Side onto,
              Duration wait) const {
    return detail::call<std::optional<std::string>, "BLMOVE">(
        *this, from, to, detail::word(off), detail::word(onto), detail::Seconds{wait});
  }
};

}  // namespace slotwise
