// How the writes of one worker are made, and how they are found again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <slotwise/client.hpp>

#include "cli/core/range_list.hpp"
#include "cli/probe/keys.hpp"
#include "cli/probe/totals.hpp"

namespace slotwise::cli {

/// What became of a worker's writes 0 ... tried-1. Memory: 16 bytes for each run of failures.
struct Attempts {
  std::uint64_t tried = 0;
  RangeList failures;  ///< all that were not acknowledged
  RangeList unknowns;  ///< of these, those that may have run

  /// Of the writes [first, end) that were tried.
  std::uint64_t acked(std::uint64_t first, std::uint64_t end) const {
    end = std::min(end, tried);
    return first < end ? end - first - failures.count(first, end) : 0;
  }
};

/// What reading back has found.
struct Found {
  std::uint64_t lost = 0;
  std::uint64_t wrong = 0;
  std::uint64_t doubled = 0;
  std::uint64_t unread = 0;
  std::uint64_t sum = 0;
  std::uint64_t ran = 0;  ///< of the unknown ones
  std::string failure;    ///< message of the first read that failed

  void add(const Found& other);
};

/// Tells that so many acknowledged writes more were looked at; false: leave off.
using ReadProgress = std::function<bool(std::uint64_t done)>;

/// Thread rule: prepare() and send() from the worker's thread, read_back() from one thread after
/// the worker has ended, key() from any.
class Writer {
 public:
  virtual ~Writer() = default;

  virtual std::string key(std::uint64_t n) const = 0;
  /// Makes write n, which follows n-1; its slot.
  virtual std::uint16_t prepare(std::uint64_t n) = 0;
  /// Gives it to the client.
  virtual Result<void> send(const Client& client) = 0;
  virtual Found read_back(const Client& client, const Attempts& attempts,
                          const ReadProgress& progress) const = 0;
};

/// The keys must outlive the writer.
std::unique_ptr<Writer> make_set_writer(const ProbeKeys& keys, int worker);
std::unique_ptr<Writer> make_incr_writer(const ProbeKeys& keys, int worker);

/// "timeout (unknown): the message"
std::string describe(const Error& error);

}  // namespace slotwise::cli
