// The deployment as a whole, and publishing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <slotwise/commands/time.hpp>
#include <slotwise/detail/call.hpp>

namespace slotwise {

/// WAIT is not among these: it waits for the writes of one connection, and the calls of a client
/// travel on several.
template <class Face>
class ServerCommands {
 public:
  /// Succeeds if every primary answers. (PING)
  auto ping() const { return detail::call<void, "PING">(*this); }
  /// Number of keys on all primaries; keys that have expired may still be counted. (DBSIZE)
  auto dbsize() const { return detail::call<std::int64_t, "DBSIZE">(*this); }
  /// Deletes all keys of the database in use, on all primaries, in the background. (FLUSHDB ASYNC)
  auto flushdb() const { return detail::call<void, "FLUSHDB">(*this, "ASYNC"); }
  /// Deletes all keys of all databases, on all primaries, in the background. (FLUSHALL ASYNC)
  auto flushall() const { return detail::call<void, "FLUSHALL">(*this, "ASYNC"); }
  /// The clock of one server, in microseconds. (TIME)
  auto time() const { return detail::call<std::chrono::system_clock::time_point, "TIME">(*this); }

  /// Sends a message to the subscribers of a channel, and gives how many of them the server that
  /// was asked knows; in a cluster that is not all of them. (PUBLISH)
  auto publish(std::string_view channel, std::string_view message) const {
    return detail::call<std::int64_t, "PUBLISH">(*this, channel, message);
  }
  /// The same for a sharded channel, whose slot decides where it lives. Server of 7.0. (SPUBLISH)
  auto spublish(std::string_view channel, std::string_view message) const {
    return detail::call<std::int64_t, "SPUBLISH">(*this, channel, message);
  }
};

}  // namespace slotwise
