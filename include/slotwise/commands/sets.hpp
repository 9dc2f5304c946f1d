// Sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>

namespace slotwise {

/// All keys of one call lie in one slot. The commands that give whole sets have their type as a
/// parameter: `smembers<std::vector<std::string>>(key)` costs less than the default.
template <class Face>
class SetCommands {
 public:
  using StringSet = std::unordered_set<std::string>;

  /// Adds members, and gives how many are new. (SADD)
  auto sadd(std::string_view key, Words members) const {
    return detail::call<std::int64_t, "SADD">(*this, key, members);
  }
  /// Removes members, and gives how many there were. (SREM)
  auto srem(std::string_view key, Words members) const {
    return detail::call<std::int64_t, "SREM">(*this, key, members);
  }
  /// All members; empty: no such key. (SMEMBERS)
  template <class T = StringSet>
  auto smembers(std::string_view key) const {
    return detail::call<T, "SMEMBERS">(*this, key);
  }
  /// Whether the set has this member. (SISMEMBER)
  auto sismember(std::string_view key, std::string_view member) const {
    return detail::call<bool, "SISMEMBER">(*this, key, member);
  }
  /// Whether the set has each of these members, in their order. (SMISMEMBER)
  auto smismember(std::string_view key, Words members) const {
    return detail::call<std::vector<bool>, "SMISMEMBER">(*this, key, members);
  }
  /// Number of members; 0: no such key. (SCARD)
  auto scard(std::string_view key) const { return detail::call<std::int64_t, "SCARD">(*this, key); }
  /// Takes a member at random. Nil: no such key. (SPOP)
  auto spop(std::string_view key) const {
    return detail::call<std::optional<std::string>, "SPOP">(*this, key);
  }
  /// Takes up to `count` members at random. (SPOP)
  auto spop(std::string_view key, std::int64_t count) const {
    return detail::call<std::vector<std::string>, "SPOP">(*this, key, count);
  }
  /// A member picked at random. Nil: no such key. (SRANDMEMBER)
  auto srandmember(std::string_view key) const {
    return detail::call<std::optional<std::string>, "SRANDMEMBER">(*this, key);
  }
  /// Up to `count` different members; a negative count gives exactly that many, with repetitions.
  /// (SRANDMEMBER)
  auto srandmember(std::string_view key, std::int64_t count) const {
    return detail::call<std::vector<std::string>, "SRANDMEMBER">(*this, key, count);
  }
  /// Moves a member to another set. False: it was not there. (SMOVE)
  auto smove(std::string_view from, std::string_view to, std::string_view member) const {
    return detail::call<bool, "SMOVE">(*this, from, to, member);
  }
  /// What all of these sets have. (SINTER)
  template <class T = StringSet>
  auto sinter(Words keys) const {
    return detail::call<T, "SINTER">(*this, keys);
  }
  /// What any of these sets has. (SUNION)
  template <class T = StringSet>
  auto sunion(Words keys) const {
    return detail::call<T, "SUNION">(*this, keys);
  }
  /// What the first of these sets has and no other has. (SDIFF)
  template <class T = StringSet>
  auto sdiff(Words keys) const {
    return detail::call<T, "SDIFF">(*this, keys);
  }
  /// Number of members of sinter(); counting stops at `limit` unless that is 0. Server of 7.0.
  /// (SINTERCARD)
  auto sintercard(Words keys, std::int64_t limit = 0) const {
    return detail::call<std::int64_t, "SINTERCARD">(*this, keys.size(), keys, "LIMIT", limit);
  }
  /// Writes sinter() to `to`, and gives how many members that has. (SINTERSTORE)
  auto sinterstore(std::string_view to, Words keys) const {
    return detail::call<std::int64_t, "SINTERSTORE">(*this, to, keys);
  }
  /// Writes sunion() to `to`, and gives how many members that has. (SUNIONSTORE)
  auto sunionstore(std::string_view to, Words keys) const {
    return detail::call<std::int64_t, "SUNIONSTORE">(*this, to, keys);
  }
  /// Writes sdiff() to `to`, and gives how many members that has. (SDIFFSTORE)
  auto sdiffstore(std::string_view to, Words keys) const {
    return detail::call<std::int64_t, "SDIFFSTORE">(*this, to, keys);
  }
};

}  // namespace slotwise
