// What a probe has found out.
//
// Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <slotwise/error.hpp>

namespace slotwise::cli {

/// What a write is.
enum class ProbeOperation : std::uint8_t {
  set,   ///< SET of a key of its own, which may run twice
  incr,  ///< INCR of a counter, which may not
};

/// One second of a probe.
struct ProbeRow {
  double at = 0;            ///< seconds since the start, at the end of the row
  std::uint64_t acked = 0;  ///< in this row, as all that follow
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  double slowest_ms = 0;  ///< slowest write that ended, or age of one that still waits
  std::uint64_t redirects = 0;
  std::uint64_t retries = 0;
  std::uint64_t acked_total = 0;  ///< since the start
};

/// Failed writes of one kind.
struct ProbeFailure {
  ErrorCode code = ErrorCode::server;
  Outcome outcome = Outcome::unknown;
  std::uint64_t count = 0;
  std::string example;  ///< message of the first one
};

/// Writes to one shard: the one that owned the slot when the write was sent.
struct ProbeShard {
  std::string name;
  std::uint64_t acked = 0;
  std::uint64_t failed = 0;
  double p50_ms = 0;  ///< of the acknowledged writes, as the next two
  double p99_ms = 0;
  double slowest_ms = 0;
  double max_gap_ms = 0;  ///< the longest time in which it owed an answer and gave none
};

struct ProbeTotals {
  ProbeOperation operation = ProbeOperation::set;
  std::uint64_t acked = 0;  ///< writes that the server acknowledged
  /// set: all other writes, the unknown ones too (trying again was harmless and did not help).
  /// incr: those that did not run; an unknown one was told to the caller and is no fault.
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;  ///< writes that were not acknowledged and may have run
  std::uint64_t lost = 0;     ///< acknowledged, and not there at the end
  std::uint64_t wrong = 0;    ///< acknowledged, and another value is there
  std::uint64_t doubled = 0;  ///< incr: ran, though nobody had asked for it (again)
  std::uint64_t unread = 0;   ///< acknowledged, and could not be read back
  std::uint64_t sum = 0;      ///< incr: of all counters on the servers at the end
  std::uint64_t ran = 0;      ///< incr: of `unknown`, those that ran
  double seconds = 0;         ///< of writing
  double max_gap_ms = 0;      ///< the longest of the shards
  double p50_ms = 0;          ///< of the acknowledged writes, as the next two
  double p99_ms = 0;
  double slowest_ms = 0;
  std::uint64_t redirects = 0;
  std::uint64_t retries = 0;
  std::uint64_t refreshes = 0;

  std::vector<ProbeShard> shards;
  std::vector<ProbeFailure> failures;
  std::string read_failure;  ///< message of the first read-back that failed

  /// Nothing failed, everything acknowledged is there, and nothing ran twice.
  bool clean() const noexcept {
    return failed == 0 && lost == 0 && wrong == 0 && doubled == 0 && unread == 0;
  }
};

}  // namespace slotwise::cli
