// slotwise with many calls in flight: callbacks, coroutines, and an open loop.
#include <coroutine>
#include <exception>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <slotwise/slotwise.hpp>

#include "support/drive.hpp"
#include "support/sides.hpp"

namespace slotwise::bench {

namespace {

constexpr const char* name = "slotwise async";
using GetResult = Result<std::optional<std::string>>;
using SetResult = Result<bool>;

/// The first failure of a run, from whatever thread; ends it.
class Trouble {
 public:
  void report(std::string what, Stop& stop) {
    const std::lock_guard lock(mutex_);
    if (what_.empty()) what_ = std::move(what);
    stop.set();
  }
  void check() const {
    const std::lock_guard lock(mutex_);
    if (!what_.empty()) fail(name, what_);
  }

 private:
  mutable std::mutex mutex_;
  std::string what_;  // guarded by mutex_
};

bool right(const GetResult& result, std::size_t size) {
  return result && *result && (*result)->size() == size;
}
bool right(const SetResult& result, std::size_t /*size*/) {
  return result && *result;
}

template <class T>
std::string what_is_wrong(const Result<T>& result) {
  return result ? "a reply of another kind or size" : result.error().what();
}

/// What all lanes of a run share.
struct Run {
  Run(const Client& client, const Workload& work, std::size_t lanes)
      : async(client.async()), workload(work), lanes_running(static_cast<std::ptrdiff_t>(lanes)) {}

  const Async async;
  const Workload& workload;
  Stop stop;
  Trouble trouble;
  std::latch lanes_running;
};

/// One call after another. All of a lane's calls are made in sequence, mostly from the loop thread,
/// so what it counts needs no lock.
class Lane {
 public:
  Lane(Run& run, std::size_t number)
      : run_(run), next_(number * 31), latencies_(time_every_async) {}

  void start_next() {
    if (run_.stop.over()) {
      run_.lanes_running.count_down();
      return;
    }
    const auto& operation = run_.workload.operation(next_++);
    const auto key = run_.workload.key(operation);
    timed_ = latencies_.due();
    if (timed_) start_ = Clock::now();
    if (operation.set) {
      run_.async.set(key, run_.workload.value()).then([this](const SetResult& result) {
        completed(result);
      });
    } else {
      run_.async.get(key).then([this](const GetResult& result) { completed(result); });
    }
  }

  std::uint64_t operations() const noexcept { return operations_; }
  const Latencies& latencies() const noexcept { return latencies_; }

  /// The same as a coroutine.
  struct Detached {
    struct promise_type {
      Detached get_return_object() const noexcept { return {}; }
      std::suspend_never initial_suspend() const noexcept { return {}; }
      std::suspend_never final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
  };
  Detached await_calls() {
    while (!run_.stop.over()) {
      const auto& operation = run_.workload.operation(next_++);
      const auto key = run_.workload.key(operation);
      timed_ = latencies_.due();
      if (timed_) start_ = Clock::now();
      if (operation.set) {
        count(co_await run_.async.set(key, run_.workload.value()));
      } else {
        count(co_await run_.async.get(key));
      }
    }
    run_.lanes_running.count_down();
  }

 private:
  template <class T>
  void completed(const Result<T>& result) {
    count(result);
    start_next();
  }
  template <class T>
  void count(const Result<T>& result) {
    if (!right(result, run_.workload.value().size())) {
      run_.trouble.report(what_is_wrong(result), run_.stop);
      return;
    }
    ++operations_;
    if (timed_) latencies_.add(microseconds_since(start_));
  }

  Run& run_;
  std::size_t next_;
  std::uint64_t operations_ = 0;
  bool timed_ = false;
  Clock::time_point start_;
  Latencies latencies_;
};

enum class Style { callbacks, coroutines };

class Lanes : public Side {
 public:
  Lanes(const Deployment& deployment, const Workload& workload, std::size_t in_flight, Style style)
      : client_(Client::connect(deployment.uri())),
        workload_(workload),
        in_flight_(in_flight),
        style_(style) {}

  Counts run(double seconds) override {
    return rate_ > 0 ? run_open_loop(seconds) : run_lanes(seconds);
  }
  void set_rate(double rate) override { rate_ = rate; }

 private:
  Counts run_lanes(double seconds) const {
    Run run(client_, workload_, in_flight_);
    std::vector<Lane> lanes;
    lanes.reserve(in_flight_);
    for (std::size_t i = 0; i < in_flight_; ++i)
      lanes.emplace_back(run, i);

    const auto start = Clock::now();
    start_on_loop_thread(run, lanes);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    run.stop.set();
    run.lanes_running.wait();

    Counts counts;
    counts.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    run.trouble.check();
    Latencies all(1);
    for (const auto& lane : lanes) {
      counts.operations += lane.operations();
      all.add(lane.latencies());
    }
    put_percentiles(counts, all);
    return counts;
  }

  /// All calls come from one thread, the client's own: the first ones too.
  void start_on_loop_thread(Run& run, std::vector<Lane>& lanes) const {
    const auto here = std::this_thread::get_id();
    std::atomic<bool> started{false};
    while (!started) {
      std::latch called(1);
      run.async.ping().then([&](const auto& /*reply*/) {
        // Here and now, if the reply was quicker than then(): once more.
        if (std::this_thread::get_id() != here) {
          for (auto& lane : lanes) {
            if (style_ == Style::callbacks) {
              lane.start_next();
            } else {
              lane.await_calls();
            }
          }
          started = true;
        }
        called.count_down();
      });
      called.wait();
    }
  }

  Counts run_open_loop(double seconds) const {
    Run run(client_, workload_, 0);
    std::mutex mutex;
    Latencies latencies(time_every_paced);  // add() guarded by mutex
    std::atomic<std::uint64_t> completed{0};
    const auto take = [&](const auto& result, Clock::time_point due, bool timed) {
      if (!right(result, workload_.value().size())) {
        run.trouble.report(what_is_wrong(result), run.stop);
      } else if (timed) {
        const double latency = microseconds_since(due);
        const std::lock_guard lock(mutex);
        latencies.add(latency);
      }
      completed.fetch_add(1, std::memory_order_release);
    };

    std::uint64_t started = 0;
    Latencies due_ones(time_every_paced);
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration<double>(seconds);
    for (Ticks ticks(rate_); ticks.now() < end && !run.stop.over();) {
      std::this_thread::sleep_until(ticks.next());
      for (std::size_t n = ticks.advance(); n > 0; --n) {
        const auto& operation = workload_.operation(started++);
        const auto key = workload_.key(operation);
        const bool timed = due_ones.due();
        const auto done = [&take, due = ticks.now(), timed](const auto& result) {
          take(result, due, timed);
        };
        if (operation.set) {
          run.async.set(key, workload_.value()).then(done);
        } else {
          run.async.get(key).then(done);
        }
      }
    }
    while (completed.load(std::memory_order_acquire) < started)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));

    Counts counts;
    counts.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    run.trouble.check();
    counts.operations = started;
    const std::lock_guard lock(mutex);
    put_percentiles(counts, latencies);
    return counts;
  }

  Client client_;
  const Workload& workload_;
  std::size_t in_flight_;
  Style style_;
  double rate_ = 0;
};

}  // namespace

SidePtr slotwise_async(const Deployment& deployment, const Workload& workload,
                       std::size_t in_flight) {
  return std::make_unique<Lanes>(deployment, workload, in_flight, Style::callbacks);
}

SidePtr slotwise_coroutines(const Deployment& deployment, const Workload& workload,
                            std::size_t coroutines) {
  return std::make_unique<Lanes>(deployment, workload, coroutines, Style::coroutines);
}

}  // namespace slotwise::bench
