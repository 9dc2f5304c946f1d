// Reads of which most go to one key, and what they did to each server.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kit/cluster.hpp"
#include "support/drive.hpp"

namespace slotwise::bench {

struct TrafficOptions {
  std::size_t in_flight = 512;
  double seconds = 2;
  double hot_share = 0.88;
  std::size_t value_size = 4096;
};

/// Of one run.
struct Traffic {
  double per_second = 0;
  std::vector<double> calls;       ///< each server's share of all GETs that the servers counted
  std::vector<double> processors;  ///< how much of one each server used
};

/// So many reads in flight; each that ends starts the next one from its callback. `hot(done)` reads
/// the hot key, `cold(i, done)` one of the others; both call done(whether the value was right).
template <class Hot, class Cold>
class Lanes {
 public:
  Lanes(const TrafficOptions& options, std::size_t cold_keys, const Hot& hot, const Cold& cold)
      : hot_(hot),
        cold_(cold),
        is_hot_(options.hot_share),
        which_(0, cold_keys - 1),
        randoms_(options.in_flight) {}

  /// Reads a second.
  double run(double seconds) {
    const auto start = Clock::now();
    running_ = randoms_.size();
    for (std::size_t i = 0; i < randoms_.size(); ++i) {
      randoms_[i].seed(i + 1);
      next(i);
    }
    std::unique_lock lock(mutex_);
    const auto limit = start + std::chrono::duration<double>(seconds);
    done_.wait_until(lock, limit, [this] { return wrong_.load(); });
    stop_.set();
    done_.wait(lock, [this] { return running_ == 0; });
    if (wrong_) throw std::runtime_error("a read gave an error, no value, or a wrong one");
    const std::chrono::duration<double> took = Clock::now() - start;
    return static_cast<double>(operations_.load()) / took.count();
  }

 private:
  struct Done {
    Lanes* lanes;
    std::size_t lane;
    void operator()(bool right) const { lanes->ended(lane, right); }
  };

  void next(std::size_t lane) {
    if (is_hot_(randoms_[lane])) {
      hot_(Done{this, lane});
    } else {
      cold_(which_(randoms_[lane]), Done{this, lane});
    }
  }

  void ended(std::size_t lane, bool right) {
    operations_.fetch_add(1, std::memory_order_relaxed);
    if (right && !stop_.over()) return next(lane);
    const std::lock_guard lock(mutex_);
    if (!right) wrong_ = true;
    --running_;
    done_.notify_all();
  }

  const Hot& hot_;
  const Cold& cold_;
  std::bernoulli_distribution is_hot_;
  std::uniform_int_distribution<std::size_t> which_;
  std::vector<std::minstd_rand> randoms_;  // one for each lane
  std::atomic<std::uint64_t> operations_{0};
  Stop stop_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t running_ = 0;  // guarded by mutex_, but for the start
  std::atomic<bool> wrong_{false};
};

/// What the servers count around a run.
class ServerCounts {
 public:
  explicit ServerCounts(kit::Cluster& cluster);
  /// Since then, in `seconds`.
  void add_to(Traffic& traffic, double seconds) const;

 private:
  kit::Cluster& cluster_;
  std::vector<double> processor_seconds_;
};

template <class Hot, class Cold>
Traffic run_traffic(kit::Cluster& cluster, const TrafficOptions& options, std::size_t cold_keys,
                    const Hot& hot, const Cold& cold) {
  const ServerCounts counts(cluster);
  const auto start = Clock::now();
  Traffic traffic;
  traffic.per_second = Lanes(options, cold_keys, hot, cold).run(options.seconds);
  counts.add_to(traffic, std::chrono::duration<double>(Clock::now() - start).count());
  return traffic;
}

}  // namespace slotwise::bench
