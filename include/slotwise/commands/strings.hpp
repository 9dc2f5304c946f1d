// Strings and counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/args.hpp>
#include <slotwise/commands/time.hpp>
#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>
#include <slotwise/export.hpp>

namespace slotwise {

/// Whether something is written that exists already, or that does not exist yet.
enum class SetIf : std::uint8_t {
  always,
  absent,   ///< NX
  present,  ///< XX
};

/// How set() writes. At most one of the first three; the server refuses two of them.
struct SLOTWISE_API SetOptions {
  std::optional<Duration> ttl = {};        ///< the key expires after this time
  std::optional<UnixTime> expire_at = {};  ///< the key expires at this moment
  bool keep_ttl = false;                   ///< the key expires when the old value would have
  SetIf condition = SetIf::always;
  std::optional<std::string_view> if_equal = {};  ///< only if the old value is this; Valkey 8.1

  void append_to(Args& args) const;
};

template <class Face>
class StringCommands {
 public:
  /// The value of a key. Nil: no such key. (GET)
  auto get(std::string_view key) const {
    return detail::call<std::optional<std::string>, "GET">(*this, key);
  }
  /// Sets a key. False: the condition did not hold and nothing was written. (SET)
  auto set(std::string_view key, std::string_view value, const SetOptions& options = {}) const {
    return detail::call<bool, "SET">(*this, key, value, options);
  }
  /// Sets a key that expires after `ttl`. (SET PX)
  auto set(std::string_view key, std::string_view value, Duration ttl) const {
    return detail::call<bool, "SET">(*this, key, value, "PX", ttl);
  }
  /// Sets a key and gives the old value. Nil: there was none, written or not. A condition together
  /// with this needs a server of 7.0. (SET GET)
  auto set_get(std::string_view key, std::string_view value, const SetOptions& options = {}) const {
    return detail::call<std::optional<std::string>, "SET">(*this, key, value, options, "GET");
  }
  /// Sets a key that does not exist. False: it does. (SETNX)
  auto setnx(std::string_view key, std::string_view value) const {
    return detail::call<bool, "SETNX">(*this, key, value);
  }
  /// The value of a key that is deleted with it. Nil: no such key. (GETDEL)
  auto getdel(std::string_view key) const {
    return detail::call<std::optional<std::string>, "GETDEL">(*this, key);
  }
  /// The value of a key that expires after `ttl` from now on. Nil: no such key. (GETEX PX)
  auto getex(std::string_view key, Duration ttl) const {
    return detail::call<std::optional<std::string>, "GETEX">(*this, key, "PX", ttl);
  }
  /// The value of a key that expires at `when` from now on. Nil: no such key. (GETEX PXAT)
  auto getex_at(std::string_view key, UnixTime when) const {
    return detail::call<std::optional<std::string>, "GETEX">(*this, key, "PXAT", when);
  }
  /// The value of a key that never expires from now on. Nil: no such key. (GETEX PERSIST)
  auto getex_persist(std::string_view key) const {
    return detail::call<std::optional<std::string>, "GETEX">(*this, key, "PERSIST");
  }

  /// Appends to a value, and gives its new length in bytes. (APPEND)
  auto append(std::string_view key, std::string_view tail) const {
    return detail::call<std::int64_t, "APPEND">(*this, key, tail);
  }
  /// Length of a value in bytes; 0: no such key. (STRLEN)
  auto strlen(std::string_view key) const {
    return detail::call<std::int64_t, "STRLEN">(*this, key);
  }
  /// The bytes from `first` to `last` inclusive; negative positions count from the end. (GETRANGE)
  auto getrange(std::string_view key, std::int64_t first, std::int64_t last) const {
    return detail::call<std::string, "GETRANGE">(*this, key, first, last);
  }
  /// Overwrites from byte `offset` on, and gives the new length in bytes. (SETRANGE)
  auto setrange(std::string_view key, std::int64_t offset, std::string_view bytes) const {
    return detail::call<std::int64_t, "SETRANGE">(*this, key, offset, bytes);
  }

  /// The values of keys, in their order; nil for a key that does not exist or is no string. Keys
  /// may lie in several slots; then not atomic. (MGET)
  auto mget(Words keys) const {
    return detail::call_spread<std::vector<std::optional<std::string>>, "MGET">(*this, keys);
  }
  /// Sets many keys. They may lie in several slots; then not atomic, and at an error some may be
  /// set. (MSET)
  auto mset(Fields keys_and_values) const {
    return detail::call_spread<void, "MSET">(*this, keys_and_values);
  }
  /// Sets all of these keys, which lie in one slot, or none if one of them exists: false. (MSETNX)
  auto msetnx(Fields keys_and_values) const {
    return detail::call<bool, "MSETNX">(*this, keys_and_values);
  }

  /// Adds 1 to a counter, and gives its new value; a missing key counts as 0. (INCR)
  auto incr(std::string_view key) const { return detail::call<std::int64_t, "INCR">(*this, key); }
  /// Adds `amount` to a counter, and gives its new value. (INCRBY)
  auto incrby(std::string_view key, std::int64_t amount) const {
    return detail::call<std::int64_t, "INCRBY">(*this, key, amount);
  }
  /// Takes 1 from a counter, and gives its new value. (DECR)
  auto decr(std::string_view key) const { return detail::call<std::int64_t, "DECR">(*this, key); }
  /// Takes `amount` from a counter, and gives its new value. (DECRBY)
  auto decrby(std::string_view key, std::int64_t amount) const {
    return detail::call<std::int64_t, "DECRBY">(*this, key, amount);
  }
  /// Adds `amount` to a number, and gives its new value. (INCRBYFLOAT)
  auto incrbyfloat(std::string_view key, double amount) const {
    return detail::call<double, "INCRBYFLOAT">(*this, key, amount);
  }
};

}  // namespace slotwise
