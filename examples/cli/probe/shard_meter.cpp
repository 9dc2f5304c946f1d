#include "cli/probe/shard_meter.hpp"

#include <utility>

namespace slotwise::cli {

void ShardMeter::sent(time_point now) {
  const std::scoped_lock lock(mutex_);
  gap_.sent(now);
}

void ShardMeter::answered(time_point sent, time_point now) {
  const auto took = std::chrono::nanoseconds(now - sent).count();
  const std::scoped_lock lock(mutex_);
  if (!latency_) {
    latency_ = std::make_unique<Histogram>();
    recent_latency_ = std::make_unique<Histogram>();
  }
  gap_.answered(now);
  ++all_.acked;
  ++recent_.acked;
  latency_->record(static_cast<std::uint64_t>(took));
  recent_latency_->record(static_cast<std::uint64_t>(took));
}

void ShardMeter::failed(time_point now, bool fault) {
  const std::scoped_lock lock(mutex_);
  gap_.failed(now);
  if (!fault) return;
  ++all_.failed;
  ++recent_.failed;
}

ProbeShard ShardMeter::total() const {
  const std::scoped_lock lock(mutex_);
  return shard_of(all_, latency_.get(), gap_.longest());
}

ProbeShard ShardMeter::take() {
  const std::scoped_lock lock(mutex_);
  const ProbeShard shard =
      shard_of(std::exchange(recent_, {}), recent_latency_.get(), gap_.take_longest());
  if (recent_latency_) recent_latency_->reset();
  return shard;
}

ProbeShard ShardMeter::shard_of(const Counts& counts, const Histogram* latency,
                                GapMeter::duration gap) {
  ProbeShard shard;
  shard.acked = counts.acked;
  shard.failed = counts.failed;
  shard.max_gap_ms = std::chrono::duration<double, std::milli>(gap).count();
  if (latency != nullptr) {
    shard.p50_ms = static_cast<double>(latency->quantile(0.5)) / 1e6;
    shard.p99_ms = static_cast<double>(latency->quantile(0.99)) / 1e6;
    shard.slowest_ms = static_cast<double>(latency->max()) / 1e6;
  }
  return shard;
}

}  // namespace slotwise::cli
