// What the writes to one shard were like.
//
// Thread rule: every method from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cli/probe/gap_meter.hpp"
#include "cli/probe/totals.hpp"
#include "observe/histogram.hpp"

namespace slotwise::cli {

/// Times are those of acknowledged writes.
class ShardMeter {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  void sent(time_point now);
  void answered(time_point sent, time_point now);
  /// `fault`: it counts as failed, not only as unknown.
  void failed(time_point now, bool fault);

  /// Since the start; the name is left empty, as in take().
  ProbeShard total() const;
  /// Since the last take().
  ProbeShard take();

 private:
  struct Counts {
    std::uint64_t acked = 0;
    std::uint64_t failed = 0;
  };
  using Histogram = observe::Histogram;  // nanoseconds
  static ProbeShard shard_of(const Counts& counts, const Histogram* latency,
                             GapMeter::duration gap);

  mutable std::mutex mutex_;  // guards all below
  GapMeter gap_;
  Counts all_;
  Counts recent_;
  // Made by the first answer: most of the shards that could be never come to be.
  std::unique_ptr<Histogram> latency_;
  std::unique_ptr<Histogram> recent_latency_;
};

}  // namespace slotwise::cli
