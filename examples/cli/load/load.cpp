#include "cli/load/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "cli/load/lane.hpp"

namespace slotwise::cli {

using namespace std::chrono_literals;

namespace {

constexpr auto quick_error = 1ms;  // one that came sooner was no answer of a server
constexpr auto pause_after_quick_error = 10ms;
constexpr auto learn_interval = 250ms;

std::int64_t to_ns(std::chrono::steady_clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

double to_ms(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

LoadTotals::Latency summary(const observe::Histogram& h) {
  return {to_ms(h.quantile(0.5)), to_ms(h.quantile(0.99)), to_ms(h.quantile(0.999)),
          to_ms(h.max())};
}

void raise_to(std::atomic<std::int64_t>& place, std::int64_t value) {
  std::int64_t seen = place.load(std::memory_order_relaxed);
  while (value > seen && !place.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// Bytes that do not compress, the same in every run.
std::string some_bytes(std::uint64_t size) {
  std::string bytes(size, '\0');
  std::mt19937_64 random(1);
  for (char& c : bytes)
    c = static_cast<char>('!' + random() % 94);
  return bytes;
}

}  // namespace

Load::Load(const Client& client, LoadOptions options)
    : client_(client), options_(std::move(options)), value_(some_bytes(options_.value_size)) {
  const int count = options_.threads * options_.in_flight;
  for (int i = 0; i < count; ++i)
    lanes_.push_back(std::make_unique<Lane>(*this, i));
}

Load::~Load() {
  request_stop();
  for (std::thread& thread : threads_)
    thread.join();
  // Lanes without a thread end when their calls do, and every call has a deadline.
  while (!finished())
    std::this_thread::sleep_for(5ms);
}

void Load::start() {
  stats_at_start_ = client_.stats();
  started_ = Clock::now();
  learn_owners();
  lanes_left_ = static_cast<int>(lanes_.size());
  watcher_ = std::jthread([this](const std::stop_token& stop) { keep_watch(stop); });
  for (auto& lane : lanes_) {
    if (options_.in_flight == 1) {
      threads_.emplace_back([this, l = lane.get()] { run_sync(*l); });
    } else {
      lane->drive();
    }
  }
}

double Load::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Load::run_sync(Lane& lane) {
  while (lane.prepare()) {
    if (!lane.completed(client_.command_words(lane.words()))) {
      std::this_thread::sleep_for(pause_after_quick_error);
    }
  }
}

void Load::park(Lane& lane) {
  const std::scoped_lock lock(parked_mutex_);
  parked_.push_back(&lane);
}

void Load::unpark() {
  std::vector<Lane*> lanes;
  {
    const std::scoped_lock lock(parked_mutex_);
    lanes.swap(parked_);
  }
  for (Lane* lane : lanes)
    lane->drive();
}

void Load::keep_watch(const std::stop_token& stop) {
  auto learn_at = Clock::now() + learn_interval;
  while (!stop.stop_requested() || !finished()) {
    std::this_thread::sleep_for(pause_after_quick_error);
    unpark();
    if (Clock::now() < learn_at) continue;
    learn_at = Clock::now() + learn_interval;
    learn_owners();
  }
}

void Load::learn_owners() {
  const TopologyInfo topology = client_.topology();
  for (const auto& node : topology.nodes) {
    if (!node.primary || (topology.mode == Mode::cluster && node.slots.empty())) continue;
    const auto index = static_cast<std::uint16_t>(node_index(node.endpoint));
    if (node.slots.empty()) {
      for (auto& owner : owner_of_slot_)
        owner.store(index, std::memory_order_release);
    }
    for (const auto& range : node.slots) {
      for (int s = std::max(range.first, 0); s <= std::min(range.last, slot_count - 1); ++s) {
        // Release: who reads the index finds the node.
        owner_of_slot_[static_cast<std::size_t>(s)].store(index, std::memory_order_release);
      }
    }
  }
  if (node_count_ == 0) (void)node_index("?");
}

std::size_t Load::node_index(const std::string& endpoint) {
  const std::size_t count = node_count_;
  for (std::size_t i = 0; i < count; ++i) {
    if (nodes_[i]->endpoint == endpoint) return i;
  }
  if (count == max_nodes) return count - 1;
  nodes_[count] = std::make_unique<Node>();
  nodes_[count]->endpoint = endpoint;
  node_count_ = count + 1;
  return count;
}

bool Load::count(std::uint16_t slot, bool set, const Result<Reply>& result,
                 Clock::time_point sent) {
  const auto now = Clock::now();
  if (!result) {
    count_error(result.error());
    return now - sent >= quick_error;
  }
  const auto took = static_cast<std::uint64_t>(to_ns(now - sent));
  nodes_[owner_of_slot_[slot].load(std::memory_order_acquire)]->latency.record(took);
  row_latency_[row_index_.load(std::memory_order_relaxed)].record(took);
  ops_.fetch_add(1, std::memory_order_relaxed);
  if (set) sets_.fetch_add(1, std::memory_order_relaxed);
  if (!set && !result->is_nil()) hits_.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t now_ns = to_ns(now - started_);
  raise_to(max_pause_ns_, now_ns - last_good_ns_.exchange(now_ns, std::memory_order_relaxed));
  return true;
}

void Load::count_error(const Error& error) {
  errors_.fetch_add(1, std::memory_order_relaxed);
  const std::scoped_lock lock(codes_mutex_);
  ++codes_[std::string(to_string(error.code()))];
}

void Load::lane_ended() {
  raise_to(ended_ns_, to_ns(Clock::now() - started_));
  --lanes_left_;
}

LoadRow Load::row() {
  const std::size_t index = row_index_.load();
  row_index_ = 1 - index;
  observe::Histogram& latency = row_latency_[index];
  LoadRow row;
  row.at = elapsed();
  const std::uint64_t ops = ops_;
  const std::uint64_t errors = errors_;
  row.ops = ops - std::exchange(ops_at_row_, ops);
  row.errors = errors - std::exchange(errors_at_row_, errors);
  row.p50_ms = to_ms(latency.quantile(0.5));
  row.p99_ms = to_ms(latency.quantile(0.99));
  row.max_ms = to_ms(latency.max());
  latency.reset();
  return row;
}

LoadTotals Load::totals() const {
  LoadTotals totals;
  const Stats stats = client_.stats();
  totals.seconds = static_cast<double>(ended_ns_) / 1e9;
  totals.ops = ops_;
  totals.sets = sets_;
  totals.gets = totals.ops - totals.sets;
  totals.hits = hits_;
  totals.errors = errors_;
  totals.redirects = stats.moved + stats.asked - stats_at_start_.moved - stats_at_start_.asked;
  totals.retries = stats.retries - stats_at_start_.retries;
  totals.max_pause_ms = static_cast<double>(max_pause_ns_) / 1e6;
  const auto all = std::make_unique<observe::Histogram>();
  for (std::size_t i = 0; i < node_count_; ++i) {
    const Node& node = *nodes_[i];
    const std::uint64_t ops = node.latency.count();
    all->add(node.latency);
    if (ops > 0) totals.nodes.push_back({node.endpoint, ops, summary(node.latency)});
  }
  totals.latency = summary(*all);
  const std::scoped_lock lock(codes_mutex_);
  totals.errors_by_code = codes_;
  return totals;
}

}  // namespace slotwise::cli
