// What one sentinel says about the primary that it watches: its replies read into a value.
//
// Thread rule: pure functions.
//
// Sources: "Sentinel client spec" (valkey.io/topics/sentinel-clients), SENTINEL MYID, MASTER,
// SENTINELS and REPLICAS. In RESP3 an instance is a map, in RESP2 an array of names and values;
// either way it is read by the names of its fields, never by their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>

namespace slotwise::topology {

/// Another sentinel that the one asked knows.
struct KnownSentinel {
  Endpoint endpoint;  ///< a name where the sentinels announce names
  std::string id;     ///< 40 hex digits
};

struct KnownReplica {
  Endpoint endpoint;
  std::string id;
  bool usable = true;  ///< up, connected, and its link to the primary too
};

/// The answer of one sentinel to one round of questions.
struct SentinelReport {
  enum class Kind : std::uint8_t {
    named,         ///< `primary` and what follows it are filled
    unknown_name,  ///< it watches no primary of that name
    failed,        ///< no answer, or one that cannot be used: `error` says why
  };
  Kind kind = Kind::failed;
  std::optional<Error> error;
  std::string id;  ///< of the sentinel that was asked; empty: it does not say (before Redis 6.2)

  Endpoint primary;
  std::uint64_t config_epoch = 0;  ///< grows with every failover
  int sentinels = 1;               ///< how many watch this primary, itself included
  std::vector<KnownSentinel> others;
  std::vector<KnownReplica> replicas;

  static SentinelReport failure(Error error);
};

/// The replies to the SENTINEL commands, asked for in one write.
struct SentinelReplies {
  const Reply& my_id;
  /// GET-MASTER-ADDR-BY-NAME: names the promoted replica from its promotion on, which MASTER does
  /// only when all others have been told to follow it; MASTER has the epoch of the new one by then.
  const Reply& address;
  const Reply& master;
  const Reply& sentinels;
  const Reply& replicas;
};

SentinelReport read_sentinel(const SentinelReplies& replies);

/// What a message of a sentinel's event channel is about.
enum class SentinelEvent : std::uint8_t {
  other,     ///< another primary, or nothing that matters
  switched,  ///< +switch-master for this name: a failover is over
  hint,      ///< the primary, a replica or a sentinel of this name went up or down or is new
  /// A failover will promote a replica in a moment (100 ms): what the primary of now acknowledges
  /// after that is lost.
  handing_over,
  aborted,  ///< that failover was given up
};

/// `name`: the primary's, compared exactly ("mymaster" is not "mymaster2").
SentinelEvent read_sentinel_event(std::string_view channel, std::string_view text,
                                  std::string_view name);

}  // namespace slotwise::topology
