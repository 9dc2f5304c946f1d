// What a probe has found out.
//
// Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <slotwise/error.hpp>

namespace slotwise::cli {

/// One second of a probe.
struct ProbeRow {
  double at = 0;            ///< seconds since the start, at the end of the row
  std::uint64_t acked = 0;  ///< in this row, as all that follow
  std::uint64_t failed = 0;
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

struct ProbeTotals {
  std::uint64_t acked = 0;    ///< writes that the server acknowledged
  std::uint64_t failed = 0;   ///< all other writes, the unknown ones too
  std::uint64_t unknown = 0;  ///< failed writes that may have run
  std::uint64_t lost = 0;     ///< acknowledged, and not there at the end
  std::uint64_t wrong = 0;    ///< acknowledged, and another value is there
  std::uint64_t unread = 0;   ///< acknowledged, and could not be read back
  double seconds = 0;         ///< of writing
  double max_gap_ms = 0;      ///< the longest of `gaps`
  double slowest_ms = 0;      ///< the slowest acknowledged write
  std::uint64_t redirects = 0;
  std::uint64_t retries = 0;
  std::uint64_t refreshes = 0;

  struct Gap {
    std::string shard;
    double ms = 0;
  };
  std::vector<Gap> gaps;
  std::vector<ProbeFailure> failures;
  std::string read_failure;  ///< message of the first read-back that failed

  /// Nothing failed, everything acknowledged is there.
  bool clean() const noexcept { return failed == 0 && lost == 0 && wrong == 0 && unread == 0; }
};

}  // namespace slotwise::cli
