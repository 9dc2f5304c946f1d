#include "cli/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

namespace slotwise::cli {

using namespace std::chrono_literals;

namespace {

constexpr auto pause_after_failure = 10ms;  // a dead deployment must not make millions of failures
constexpr auto watch_interval = 100ms;

std::int64_t to_ns(std::chrono::steady_clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

double ns_to_ms(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

void raise_to(std::atomic<std::int64_t>& place, std::int64_t value) {
  std::int64_t seen = place.load(std::memory_order_relaxed);
  while (value > seen && !place.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

struct Probe::Worker {
  int number = 0;
  std::unique_ptr<Writer> writer;
  std::atomic<std::uint64_t> next{0};  // numbers below were tried; written by the worker only
  std::atomic<std::uint64_t> acked{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> unknown{0};
  std::atomic<std::int64_t> slowest_ns{0};         // in this row
  std::atomic<std::int64_t> waiting_since_ns{-1};  // since start; -1: no write is on its way
  Attempts attempts;                               // of the worker; of anybody once it has ended
  Clock::time_point due{};
  std::thread thread;
};

Probe::Probe(const Client& client, ProbeOptions options)
    : client_(client), options_(std::move(options)), keys_(options_.prefix, random_name()) {
  const auto make_writer =
      options_.operation == ProbeOperation::set ? make_set_writer : make_incr_writer;
  for (int i = 0; i < options_.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->number = i;
    workers_.back()->writer = make_writer(keys_, i);
  }
}

Probe::~Probe() {
  request_stop();
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

std::string Probe::key(const std::string& prefix, int worker, std::uint64_t n) {
  return ProbeKeys::single(ProbeKeys(prefix, {}).head(worker, n / ProbeKeys::block_size), n);
}

std::string Probe::current_key(int worker) const {
  return workers_.at(static_cast<std::size_t>(worker))->writer->key(tried(worker));
}

std::uint64_t Probe::tried(int worker) const {
  return workers_.at(static_cast<std::size_t>(worker))->next;
}

void Probe::start() {
  stats_at_start_ = stats_at_row_ = client_.stats();
  started_ = Clock::now();
  shards_.update(client_.topology());
  if (options_.pin_to_shards) {
    auto owners = std::make_unique<ProbeKeys::ShardOfSlot>();
    for (std::uint16_t s = 0; s < slot_count; ++s)
      (*owners)[s] = static_cast<std::uint16_t>(shards_.shard_of(s));
    keys_.pin(*owners);
  }
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch_topology(stop); });
  running_ = options_.workers;
  for (auto& worker : workers_) {
    worker->due = started_;
    worker->thread = std::thread([this, w = worker.get()] { work(*w); });
  }
}

void Probe::watch_topology(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(watch_interval);
    const TopologyInfo topology = client_.topology();
    const std::scoped_lock lock(shards_mutex_);
    shards_.update(topology);
  }
}

void Probe::request_stop() noexcept {
  stop_ = true;
}

double Probe::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Probe::work(Worker& worker) {
  const bool harmless_twice = options_.operation == ProbeOperation::set;
  const Client client = client_.with(
      {.timeout = options_.timeout, .idempotent = harmless_twice, .read_from = {}, .node = {}});
  const auto interval = options_.rate > 0
                            ? std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(options_.workers / options_.rate))
                            : Clock::duration::zero();
  while (pace(worker, interval)) {
    const std::uint64_t n = worker.next.load(std::memory_order_relaxed);
    write(worker, client, n);
    worker.attempts.tried = n + 1;
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
  // The shard that owes the answer is the one that owned the slot when the write was sent.
  ShardMeter& shard = meters_[shards_.shard_of(worker.writer->prepare(n))];
  const auto sent = Clock::now();
  shard.sent(sent);
  worker.waiting_since_ns.store(to_ns(sent - started_), std::memory_order_relaxed);
  const Result<void> result = worker.writer->send(client);
  const auto now = Clock::now();
  worker.waiting_since_ns.store(-1, std::memory_order_relaxed);
  raise_to(worker.slowest_ns, to_ns(now - sent));
  if (result) {
    shard.answered(sent, now);
    latency_.record(static_cast<std::uint64_t>(to_ns(now - sent)));
    worker.acked.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  shard.failed(now, is_fault(result.error()));
  record_failure(worker, n, result.error());
  worker.due = std::max(worker.due, now + pause_after_failure);
}

// An INCR that may have run is what the caller was told; a SET could have been tried again.
bool Probe::is_fault(const Error& error) const noexcept {
  return error.did_not_run() || options_.operation == ProbeOperation::set;
}

void Probe::record_failure(Worker& worker, std::uint64_t n, const Error& error) {
  worker.attempts.failures.add(n);
  if (is_fault(error)) worker.failed.fetch_add(1, std::memory_order_relaxed);
  // `executed` is no promise that the write is there as it was asked for, so it counts as unknown.
  if (!error.did_not_run()) {
    worker.attempts.unknowns.add(n);
    worker.unknown.fetch_add(1, std::memory_order_relaxed);
  }
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
  ProbeRow all;
  std::int64_t slowest_ns = 0;
  for (const auto& worker : workers_) {
    all.acked += worker->acked.load(std::memory_order_relaxed);
    all.failed += worker->failed.load(std::memory_order_relaxed);
    all.unknown += worker->unknown.load(std::memory_order_relaxed);
    slowest_ns = std::max(slowest_ns, worker->slowest_ns.exchange(0, std::memory_order_relaxed));
    const std::int64_t since = worker->waiting_since_ns.load(std::memory_order_relaxed);
    if (since >= 0) slowest_ns = std::max(slowest_ns, now_ns - since);
  }
  ProbeRow row;
  row.at = static_cast<double>(now_ns) / 1e9;
  row.acked = all.acked - at_row_.acked;
  row.failed = all.failed - at_row_.failed;
  row.unknown = all.unknown - at_row_.unknown;
  row.slowest_ms = static_cast<double>(slowest_ns) / 1e6;
  row.redirects = stats.moved + stats.asked - stats_at_row_.moved - stats_at_row_.asked;
  row.retries = stats.retries - stats_at_row_.retries;
  row.acked_total = all.acked;
  at_row_ = all;
  stats_at_row_ = stats;
  return row;
}

std::vector<std::string> Probe::shard_names() const {
  std::vector<std::string> names;
  const std::scoped_lock lock(shards_mutex_);
  for (const auto& shard : shards_.shards())
    names.push_back(shard.name());
  return names;
}

std::vector<ProbeShard> Probe::shard_rows() {
  std::vector<ProbeShard> rows;
  for (std::string& name : shard_names()) {
    rows.push_back(meters_[rows.size()].take());
    rows.back().name = std::move(name);
  }
  return rows;
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

  // Replicas may lag behind, so the primaries are asked whatever the URI says.
  const Client client = client_.with({.timeout = options_.timeout,
                                      .idempotent = false,
                                      .read_from = ReadFrom::primary,
                                      .node = {}});
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> cancelled{false};
  std::atomic<int> readers_left{options_.workers};
  std::vector<Found> found(workers_.size());
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    readers.emplace_back([&, i] {
      const auto seen = [&](std::uint64_t more) {
        done += more;
        return !cancelled;
      };
      found[i] = workers_[i]->writer->read_back(client, workers_[i]->attempts, seen);
      --readers_left;
    });
  }
  while (readers_left > 0) {
    std::this_thread::sleep_for(20ms);
    if (progress && !progress(done, acked)) cancelled = true;
  }
  readers.clear();
  found_ = {};
  for (const Found& one : found)
    found_.add(one);
  found_.unread += acked - done;
}

ProbeTotals Probe::totals() const {
  ProbeTotals totals;
  totals.operation = options_.operation;
  for (const auto& worker : workers_) {
    totals.acked += worker->acked;
    totals.failed += worker->failed;
    totals.unknown += worker->unknown;
  }
  totals.lost = found_.lost;
  totals.wrong = found_.wrong;
  totals.doubled = found_.doubled;
  totals.unread = found_.unread;
  totals.sum = found_.sum;
  totals.ran = found_.ran;
  totals.read_failure = found_.failure;
  totals.seconds = static_cast<double>(ended_ns_) / 1e9;
  totals.p50_ms = ns_to_ms(latency_.quantile(0.5));
  totals.p99_ms = ns_to_ms(latency_.quantile(0.99));
  totals.slowest_ms = ns_to_ms(latency_.max());
  const Stats stats = client_.stats();
  totals.redirects = stats.moved + stats.asked - stats_at_start_.moved - stats_at_start_.asked;
  totals.retries = stats.retries - stats_at_start_.retries;
  totals.refreshes = stats.refreshes - stats_at_start_.refreshes;
  for (std::string& name : shard_names()) {
    totals.shards.push_back(meters_[totals.shards.size()].total());
    totals.shards.back().name = std::move(name);
    totals.max_gap_ms = std::max(totals.max_gap_ms, totals.shards.back().max_gap_ms);
  }
  const std::scoped_lock lock(failures_mutex_);
  totals.failures = failures_;
  std::sort(totals.failures.begin(), totals.failures.end(),
            [](const auto& a, const auto& b) { return a.count > b.count; });
  return totals;
}

}  // namespace slotwise::cli
