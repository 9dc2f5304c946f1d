#include "support/drive.hpp"

#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/statistics.hpp"

namespace slotwise::bench {

void fail(std::string_view side, std::string_view what) {
  std::string text(side);
  text += ": ";
  text += what;
  throw std::runtime_error(text);
}

void Side::set_rate(double operations_per_second) {
  if (operations_per_second > 0) throw std::logic_error("this side knows no rate");
}

void put_percentiles(Counts& counts, Latencies& latencies) {
  counts.p50_us = percentile(latencies.microseconds(), 0.5);
  counts.p99_us = percentile(latencies.microseconds(), 0.99);
}

Counts run_threads(int threads, double seconds, unsigned time_every,
                   const std::function<void(int, const Stop&, ThreadCounts&)>& body) {
  Stop stop;
  std::vector<ThreadCounts> counts(static_cast<std::size_t>(threads), ThreadCounts(time_every));
  std::mutex mutex;
  std::exception_ptr trouble;  // guarded by mutex
  std::atomic<int> running{threads};
  std::vector<std::thread> workers;
  const auto start = Clock::now();
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      try {
        body(i, stop, counts[static_cast<std::size_t>(i)]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!trouble) trouble = std::current_exception();
        stop.set();
      }
      running.fetch_sub(1);
    });
  }
  const auto end = start + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && running.load() > 0) {
    const auto left = std::chrono::duration<double>(end - Clock::now());
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.1)));
  }
  stop.set();
  for (auto& worker : workers)
    worker.join();
  if (trouble) std::rethrow_exception(trouble);

  Counts sum;
  sum.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  Latencies all(1);
  for (auto& one : counts) {
    sum.operations += one.operations;
    all.add(one.latencies);
  }
  put_percentiles(sum, all);
  return sum;
}

}  // namespace slotwise::bench
