#include "refresh_time.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <slotwise/slotwise.hpp>

#include "memory.hpp"

namespace slotwise::bench {

namespace {

/// Events come on the loop's thread, which does all of the work: its processor time is what the
/// work costs, whatever else the machine does.
class Stopwatch final : public EventSink {
 public:
  void on_event(const Event& event) override {
    const std::lock_guard lock(mutex_);
    if (event.kind == Event::Kind::refresh_started) start_ = thread_time();
    if (event.kind == Event::Kind::topology_changed) times_.push_back(thread_time() - start_);
  }
  std::vector<std::int64_t> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(times_, {});
  }

 private:
  static std::int64_t thread_time() {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }
  std::mutex mutex_;
  std::int64_t start_ = 0;           // guarded by mutex_
  std::vector<std::int64_t> times_;  // guarded by mutex_
};

}  // namespace

int print_refresh_time(std::string_view uri, std::size_t rounds) {
  const auto stopwatch = std::make_shared<Stopwatch>();
  Config config = patient_config(uri);
  config.events = stopwatch;
  const Client client = Client::connect(config);
  client.refresh().value();
  stopwatch->take();  // the first map makes 1,000 nodes
  for (std::size_t i = 0; i < rounds; ++i)
    client.refresh().value();
  std::vector<std::int64_t> times = stopwatch->take();
  if (times.size() < rounds) throw std::runtime_error("an answer was no new map");
  std::sort(times.begin(), times.end());
  fmt::print("refresh quickest_ns={} median_ns={}\n", times.front(), times[times.size() / 2]);
  return 0;
}

}  // namespace slotwise::bench
