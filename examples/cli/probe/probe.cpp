#include "cli/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <utility>

namespace slotwise::cli {

using namespace std::chrono_literals;

namespace {

constexpr auto pause_after_failure = 10ms;  // a dead deployment must not make millions of failures
constexpr auto watch_interval = 100ms;
constexpr std::uint64_t read_batch = 500;

double to_ms(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

std::int64_t to_ns(std::chrono::steady_clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

void raise_to(std::atomic<std::int64_t>& place, std::int64_t value) {
  std::int64_t seen = place.load(std::memory_order_relaxed);
  while (value > seen && !place.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

std::string describe(const Error& error) {
  return fmt::format("{} ({}): {}", to_string(error.code()), to_string(error.outcome()),
                     error.message());
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

struct Probe::Worker {
  int number = 0;
  std::atomic<std::uint64_t> next{0};  // numbers below were tried; written by the worker only
  std::atomic<std::uint64_t> acked{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::int64_t> slowest_ns{0};         // in this row
  std::atomic<std::int64_t> slowest_ever_ns{0};    // acknowledged writes only
  std::atomic<std::int64_t> waiting_since_ns{-1};  // since start; -1: no write is on its way
  std::atomic<std::uint64_t> unknown{0};
  RangeList failures;  // of the worker; of anybody once it has ended
  Clock::time_point due{};
  std::thread thread;
};

/// What the read-back finds, summed over its threads.
struct Probe::Tally {
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> unread{0};
  std::atomic<int> readers{0};
  std::atomic<bool> cancelled{false};
  std::mutex mutex;
  std::string failure;  // guarded by mutex; the first one
};

Probe::Probe(const Client& client, ProbeOptions options)
    : client_(client), options_(std::move(options)), run_(random_name()) {
  for (int i = 0; i < options_.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->number = i;
  }
}

Probe::~Probe() {
  request_stop();
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

std::string Probe::key(const std::string& prefix, int worker, std::uint64_t n) {
  return fmt::format("{}:{{{}:{}}}:{}", prefix, worker, n / block_size, n);
}

std::string Probe::current_key(int worker) const {
  return key(options_.prefix, worker, workers_.at(static_cast<std::size_t>(worker))->next);
}

std::string Probe::value(int worker, std::uint64_t n) const {
  return fmt::format("{}:{}:{}", run_, worker, n);
}

void Probe::start() {
  stats_at_start_ = stats_at_row_ = client_.stats();
  started_ = Clock::now();
  shards_.update(client_.topology());
  watcher_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(watch_interval);
      shards_.update(client_.topology());
    }
  });
  running_ = options_.workers;
  for (auto& worker : workers_) {
    worker->due = started_;
    worker->thread = std::thread([this, w = worker.get()] { work(*w); });
  }
}

void Probe::request_stop() noexcept {
  stop_ = true;
}

double Probe::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Probe::work(Worker& worker) {
  const Client client =
      client_.with({.timeout = options_.timeout, .idempotent = true, .read_from = {}, .node = {}});
  const auto interval = options_.rate > 0
                            ? std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options_.workers / options_.rate))
                            : Clock::duration::zero();
  while (pace(worker, interval)) {
    const std::uint64_t n = worker.next.load(std::memory_order_relaxed);
    write(worker, client, n);
    worker.next.store(n + 1, std::memory_order_relaxed);
  }
  raise_to(ended_ns_, to_ns(Clock::now() - started_));
  --running_;
}

// Waits until the worker's next write is due. False: the probe ends.
bool Probe::pace(Worker& worker, Clock::duration interval) {
  auto now = Clock::now();
  while (!stop_ && now < worker.due) {
    std::this_thread::sleep_until(std::min(worker.due, now + 50ms));
    now = Clock::now();
  }
  // A worker that was held up goes on at its rate, it does not catch up.
  worker.due = std::max(worker.due + interval, now - interval);
  return !stop_;
}

void Probe::write(Worker& worker, const Client& client, std::uint64_t n) {
  const std::string name = key(options_.prefix, worker.number, n);
  const std::string content = value(worker.number, n);
  const std::array<std::string_view, 3> words{"SET", name, content};

  // The shard that owes the answer is the one that owned the slot when the write was sent.
  ShardGap& gap = gaps_[shards_.shard_of(slot(name))];
  const auto sent = Clock::now();
  {
    const std::scoped_lock lock(gap.mutex);
    gap.meter.sent(sent);
  }
  worker.waiting_since_ns.store(to_ns(sent - started_), std::memory_order_relaxed);
  const Result<Reply> result = client.command_words(words);
  const auto now = Clock::now();
  worker.waiting_since_ns.store(-1, std::memory_order_relaxed);
  raise_to(worker.slowest_ns, to_ns(now - sent));
  {
    const std::scoped_lock lock(gap.mutex);
    if (result) {
      gap.meter.answered(now);
    } else {
      gap.meter.failed(now);
    }
  }
  if (result) {
    worker.acked.fetch_add(1, std::memory_order_relaxed);
    raise_to(worker.slowest_ever_ns, to_ns(now - sent));
    return;
  }
  record_failure(worker, n, result.error());
  worker.due = std::max(worker.due, now + pause_after_failure);
}

void Probe::record_failure(Worker& worker, std::uint64_t n, const Error& error) {
  worker.failed.fetch_add(1, std::memory_order_relaxed);
  worker.failures.add(n);
  // `executed` is no promise that the write is there as it was asked for, so it counts as unknown.
  if (!error.did_not_run()) worker.unknown.fetch_add(1, std::memory_order_relaxed);

  const std::scoped_lock lock(failures_mutex_);
  const auto same = std::find_if(failures_.begin(), failures_.end(), [&](const ProbeFailure& f) {
    return f.code == error.code() && f.outcome == error.outcome();
  });
  if (same != failures_.end()) {
    ++same->count;
  } else {
    failures_.push_back({error.code(), error.outcome(), 1, std::string(error.message())});
  }
}

ProbeRow Probe::row() {
  const Stats stats = client_.stats();
  const std::int64_t now_ns = to_ns(Clock::now() - started_);
  ProbeRow row;
  row.at = static_cast<double>(now_ns) / 1e9;
  std::uint64_t failed = 0;
  std::int64_t slowest_ns = 0;
  for (const auto& worker : workers_) {
    row.acked_total += worker->acked.load(std::memory_order_relaxed);
    failed += worker->failed.load(std::memory_order_relaxed);
    slowest_ns = std::max(slowest_ns, worker->slowest_ns.exchange(0, std::memory_order_relaxed));
    const std::int64_t since = worker->waiting_since_ns.load(std::memory_order_relaxed);
    if (since >= 0) slowest_ns = std::max(slowest_ns, now_ns - since);
  }
  row.acked = row.acked_total - std::exchange(acked_at_row_, row.acked_total);
  row.failed = failed - std::exchange(failed_at_row_, failed);
  row.slowest_ms = static_cast<double>(slowest_ns) / 1e6;
  row.redirects = stats.moved + stats.asked - stats_at_row_.moved - stats_at_row_.asked;
  row.retries = stats.retries - stats_at_row_.retries;
  stats_at_row_ = stats;
  return row;
}

void Probe::verify(const VerifyProgress& progress) {
  request_stop();
  std::uint64_t acked = 0;
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
    acked += worker->acked;
  }
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();

  Tally tally;
  tally.readers = options_.workers;
  std::vector<std::jthread> readers;
  for (const auto& worker : workers_) {
    readers.emplace_back([this, &tally, w = worker.get()] {
      read_back(*w, tally);
      --tally.readers;
    });
  }
  while (tally.readers > 0) {
    std::this_thread::sleep_for(20ms);
    if (progress && !progress(tally.done, acked)) tally.cancelled = true;
  }
  readers.clear();
  read_failure_ = tally.failure;
  lost_ = tally.lost;
  wrong_ = tally.wrong;
  unread_ = tally.unread + (acked - tally.done);
}

void Probe::read_back(const Worker& worker, Tally& tally) const {
  const Client client =
      client_.with({.timeout = options_.timeout, .idempotent = false, .read_from = {}, .node = {}});
  const std::uint64_t end = worker.next;
  for (std::uint64_t first = 0; first < end && !tally.cancelled; first += read_batch) {
    check_block(client, worker, first, std::min(first + read_batch, end), tally);
  }
}

// Reads the acknowledged keys of [first, last), which lie in one slot.
void Probe::check_block(const Client& client, const Worker& worker, std::uint64_t first,
                        std::uint64_t last, Tally& tally) const {
  static_assert(block_size % read_batch == 0);
  Pipeline pipeline = client.pipeline();
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t n = first; n < last; ++n) {
    if (worker.failures.contains(n)) continue;
    (void)pipeline.command<std::optional<std::string>>("GET",
                                                       key(options_.prefix, worker.number, n));
    numbers.push_back(n);
  }
  if (numbers.empty()) return;
  PipelineResults results = pipeline.exec();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto found = results.get<std::optional<std::string>>(i);
    if (!found) {
      ++tally.unread;
      const std::scoped_lock lock(tally.mutex);
      if (tally.failure.empty()) tally.failure = describe(found.error());
    } else if (!*found) {
      ++tally.lost;
    } else if (**found != value(worker.number, numbers[i])) {
      ++tally.wrong;
    }
  }
  tally.done += numbers.size();
}

ProbeTotals Probe::totals() const {
  ProbeTotals totals;
  const Stats stats = client_.stats();
  std::int64_t slowest_ns = 0;
  for (const auto& worker : workers_) {
    totals.acked += worker->acked;
    totals.failed += worker->failed;
    totals.unknown += worker->unknown;
    slowest_ns = std::max(slowest_ns, worker->slowest_ever_ns.load());
  }
  totals.lost = lost_;
  totals.wrong = wrong_;
  totals.unread = unread_;
  totals.read_failure = read_failure_;
  totals.seconds = static_cast<double>(ended_ns_) / 1e9;
  totals.slowest_ms = static_cast<double>(slowest_ns) / 1e6;
  totals.redirects = stats.moved + stats.asked - stats_at_start_.moved - stats_at_start_.asked;
  totals.retries = stats.retries - stats_at_start_.retries;
  totals.refreshes = stats.refreshes - stats_at_start_.refreshes;
  for (std::size_t i = 0; i < shards_.shards().size(); ++i) {
    const double ms = to_ms(gaps_[i].meter.longest());
    totals.gaps.push_back({shards_.shards()[i].name(), ms});
    totals.max_gap_ms = std::max(totals.max_gap_ms, ms);
  }
  const std::scoped_lock lock(failures_mutex_);
  totals.failures = failures_;
  std::sort(totals.failures.begin(), totals.failures.end(),
            [](const auto& a, const auto& b) { return a.count > b.count; });
  return totals;
}

}  // namespace slotwise::cli
