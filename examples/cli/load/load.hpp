// Load on a deployment, as the usual benchmark tools make it, that goes on through every failover.
//
// Thread rule: start(), row() and totals() from one thread at a time; the rest from any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <slotwise/client.hpp>
#include <slotwise/slot.hpp>

#include "observe/histogram.hpp"

namespace slotwise::cli {

struct LoadOptions {
  int threads = 4;
  int in_flight = 1;  ///< calls of each thread at once; 1: the synchronous face
  unsigned sets = 1;  ///< of sets + gets calls, so many are SET
  unsigned gets = 4;
  std::uint64_t value_size = 100;
  std::uint64_t keys = 100'000;
  std::string prefix = "load";
};

struct LoadRow {
  double at = 0;  ///< seconds since the start, at the end of the row
  std::uint64_t ops = 0;
  std::uint64_t errors = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

struct LoadTotals {
  struct Latency {
    double p50_ms = 0;
    double p99_ms = 0;
    double p999_ms = 0;
    double max_ms = 0;
  };
  struct Node {
    std::string endpoint;
    std::uint64_t ops = 0;
    Latency latency;
  };
  double seconds = 0;
  std::uint64_t ops = 0;  ///< good replies
  std::uint64_t sets = 0;
  std::uint64_t gets = 0;
  std::uint64_t hits = 0;  ///< GET that found something
  std::uint64_t errors = 0;
  std::uint64_t redirects = 0;
  std::uint64_t retries = 0;
  double max_pause_ms = 0;  ///< longest time without any good reply
  Latency latency;
  std::vector<Node> nodes;  ///< by the node that owned the key's slot when the reply came
  std::map<std::string, std::uint64_t> errors_by_code;
};

/// threads x in_flight lanes, each with one call on its way. With in_flight 1 a lane is a thread
/// that calls the synchronous face. Else a lane has no thread: the callback of one call makes the
/// next, on the client's loop thread. An error is counted and the lane goes on; after one that came
/// at once it pauses, since an error costs the client nothing and a lane could make millions.
class Load {
 public:
  /// The client must outlive the load.
  Load(const Client& client, LoadOptions options);
  /// Waits for the calls on their way.
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void start();
  void request_stop() noexcept { stop_ = true; }
  bool finished() const noexcept { return lanes_left_.load() == 0; }
  int lanes_left() const noexcept { return lanes_left_.load(); }
  double elapsed() const;
  /// What happened since the last call.
  LoadRow row();
  LoadTotals totals() const;

 private:
  using Clock = std::chrono::steady_clock;
  class Lane;
  struct Node {
    std::string endpoint;
    observe::Histogram latency;  // nanoseconds
  };
  static constexpr std::size_t max_nodes = 1024;

  void run_sync(Lane& lane);
  void park(Lane& lane);
  void unpark();
  void keep_watch(const std::stop_token& stop);
  void learn_owners();
  std::size_t node_index(const std::string& endpoint);
  /// False: an error that came at once.
  bool count(std::uint16_t slot, bool set, const Result<Reply>& result, Clock::time_point sent);
  void count_error(const Error& error);
  void lane_ended();

  const Client& client_;
  const LoadOptions options_;
  std::string value_;
  Stats stats_at_start_;
  Clock::time_point started_{};

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::thread> threads_;
  std::jthread watcher_;
  std::atomic<int> lanes_left_{0};
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> ended_ns_{0};

  std::mutex parked_mutex_;
  std::vector<Lane*> parked_;  // guarded by parked_mutex_

  // Nodes are only added, by the watcher, and reached by index without a lock.
  std::array<std::unique_ptr<Node>, max_nodes> nodes_;
  std::atomic<std::size_t> node_count_{0};
  std::array<std::atomic<std::uint16_t>, slot_count> owner_of_slot_{};

  std::array<observe::Histogram, 2>
      row_latency_;  // nanoseconds; the writers use one, row() reads the other
  std::atomic<std::size_t> row_index_{0};
  std::atomic<std::uint64_t> ops_{0};
  std::atomic<std::uint64_t> sets_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::int64_t> last_good_ns_{0};
  std::atomic<std::int64_t> max_pause_ns_{0};
  std::uint64_t ops_at_row_ = 0;
  std::uint64_t errors_at_row_ = 0;

  mutable std::mutex codes_mutex_;
  std::map<std::string, std::uint64_t> codes_;  // guarded by codes_mutex_
};

}  // namespace slotwise::cli
