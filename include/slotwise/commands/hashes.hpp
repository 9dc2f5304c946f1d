// Hashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>

namespace slotwise {

template <class Face>
class HashCommands {
 public:
  /// Sets one field, and gives 1 if it is new, else 0. (HSET)
  auto hset(std::string_view key, std::string_view field, std::string_view value) const {
    return detail::call<std::int64_t, "HSET">(*this, key, field, value);
  }
  /// Sets fields, `hset(key, {{"f", "v"}, {"g", "w"}})` or from a map, and gives how many are new.
  /// (HSET)
  auto hset(std::string_view key, Fields fields) const {
    return detail::call<std::int64_t, "HSET">(*this, key, fields);
  }
  /// Sets a field that does not exist. False: it does. (HSETNX)
  auto hsetnx(std::string_view key, std::string_view field, std::string_view value) const {
    return detail::call<bool, "HSETNX">(*this, key, field, value);
  }
  /// The value of a field. Nil: no such key or field. (HGET)
  auto hget(std::string_view key, std::string_view field) const {
    return detail::call<std::optional<std::string>, "HGET">(*this, key, field);
  }
  /// The values of fields, in their order; nil for one that does not exist. (HMGET)
  auto hmget(std::string_view key, Words fields) const {
    return detail::call<std::vector<std::optional<std::string>>, "HMGET">(*this, key, fields);
  }
  /// All fields and values; empty: no such key. Another type, say a vector of pairs, keeps the
  /// server's order. (HGETALL)
  template <class T = std::unordered_map<std::string, std::string>>
  auto hgetall(std::string_view key) const {
    return detail::call<T, "HGETALL">(*this, key);
  }
  /// Deletes fields, and gives how many there were. (HDEL)
  auto hdel(std::string_view key, Words fields) const {
    return detail::call<std::int64_t, "HDEL">(*this, key, fields);
  }
  /// Whether a field exists. (HEXISTS)
  auto hexists(std::string_view key, std::string_view field) const {
    return detail::call<bool, "HEXISTS">(*this, key, field);
  }
  /// Adds `amount` to a counter in a field, and gives its new value. (HINCRBY)
  auto hincrby(std::string_view key, std::string_view field, std::int64_t amount) const {
    return detail::call<std::int64_t, "HINCRBY">(*this, key, field, amount);
  }
  /// Adds `amount` to a number in a field, and gives its new value. (HINCRBYFLOAT)
  auto hincrbyfloat(std::string_view key, std::string_view field, double amount) const {
    return detail::call<double, "HINCRBYFLOAT">(*this, key, field, amount);
  }
  /// The names of all fields; empty: no such key. (HKEYS)
  auto hkeys(std::string_view key) const {
    return detail::call<std::vector<std::string>, "HKEYS">(*this, key);
  }
  /// The values of all fields; empty: no such key. (HVALS)
  auto hvals(std::string_view key) const {
    return detail::call<std::vector<std::string>, "HVALS">(*this, key);
  }
  /// Number of fields; 0: no such key. (HLEN)
  auto hlen(std::string_view key) const { return detail::call<std::int64_t, "HLEN">(*this, key); }
  /// Length of a field's value in bytes; 0: no such key or field. (HSTRLEN)
  auto hstrlen(std::string_view key, std::string_view field) const {
    return detail::call<std::int64_t, "HSTRLEN">(*this, key, field);
  }
  /// The name of a field picked at random. Nil: no such key. (HRANDFIELD)
  auto hrandfield(std::string_view key) const {
    return detail::call<std::optional<std::string>, "HRANDFIELD">(*this, key);
  }
  /// Names of up to `count` different fields; a negative count gives exactly that many, with
  /// repetitions. (HRANDFIELD)
  auto hrandfield(std::string_view key, std::int64_t count) const {
    return detail::call<std::vector<std::string>, "HRANDFIELD">(*this, key, count);
  }
  /// The same with their values. (HRANDFIELD WITHVALUES)
  auto hrandfield_with_values(std::string_view key, std::int64_t count) const {
    return detail::call<std::vector<std::pair<std::string, std::string>>, "HRANDFIELD">(
        *this, key, count, "WITHVALUES");
  }
};

}  // namespace slotwise
