#include "survival/shard_callers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <slotwise/slot.hpp>

#include "kit/connection.hpp"
#include "kit/error.hpp"

namespace slotwise::survival {

using namespace std::chrono_literals;

namespace {

constexpr auto between_calls = 1ms;
constexpr std::size_t keys_each = 16;

double to_ms(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace

struct ShardCallers::Caller {
  std::size_t shard = 0;
  std::vector<std::string> keys;
  Call call;
  std::vector<CallSample> samples;                  // of the thread; of all after it has ended
  std::atomic<Clock::rep> last_good_write_sent{0};  // since the clock's epoch
  std::jthread thread;

  void run(const std::stop_token& stop) {
    for (std::size_t n = 0; !stop.stop_requested(); ++n) {
      CallSample sample;
      sample.write = n % 2 == 0;
      sample.sent = Clock::now();
      try {
        sample.ok = call(sample.write, keys[n / 2 % keys.size()]);
      } catch (const kit::Error&) {
        return;  // a bare connection that broke
      }
      sample.ended = Clock::now();
      samples.push_back(sample);
      if (sample.write && sample.ok) last_good_write_sent = sample.sent.time_since_epoch().count();
      std::this_thread::sleep_for(between_calls);
    }
  }
};

ShardCallers::ShardCallers(const Client& client, const kit::Cluster& cluster) {
  for (const std::size_t shard : cluster.primaries()) {
    auto through = std::make_shared<const Client>(
        client.with({.timeout = 20s, .idempotent = true, .read_from = {}, .node = {}}));
    add(shard, keys_of_shard(cluster, shard, "caller", keys_each),
        [through](bool write, const std::string& key) {
          const std::array<std::string_view, 3> words{write ? "SET" : "GET", key, "value"};
          return through->command_words(std::span(words).first(write ? 3 : 2)).has_value();
        });
  }
}

ShardCallers ShardCallers::bare(const kit::Cluster& cluster) {
  ShardCallers callers;
  for (const std::size_t shard : cluster.primaries()) {
    auto connection = std::make_shared<kit::Connection>(cluster.server(shard).connect());
    callers.add(shard, keys_of_shard(cluster, shard, "bare", keys_each),
                [connection](bool write, const std::string& key) {
                  const kit::Reply reply = write ? connection->try_command("SET", key, "value")
                                                 : connection->try_command("GET", key);
                  return !reply.is_error();
                });
  }
  return callers;
}

ShardCallers::ShardCallers(ShardCallers&&) noexcept = default;

ShardCallers::~ShardCallers() {
  stop();
}

void ShardCallers::add(std::size_t shard, std::vector<std::string> keys, Call call) {
  auto& caller = *callers_.emplace_back(std::make_unique<Caller>());
  caller.shard = shard;
  caller.keys = std::move(keys);
  caller.call = std::move(call);
  caller.samples.reserve(100'000);  // growing would be seen as a slow call
  caller.thread = std::jthread([&caller](const std::stop_token& stop) { caller.run(stop); });
}

void ShardCallers::stop() {
  for (const auto& caller : callers_)
    caller->thread.request_stop();
  for (const auto& caller : callers_) {
    if (caller->thread.joinable()) caller->thread.join();
  }
}

std::vector<std::size_t> ShardCallers::shards() const {
  std::vector<std::size_t> all;
  for (const auto& caller : callers_)
    all.push_back(caller->shard);
  return all;
}

const ShardCallers::Caller& ShardCallers::of(std::size_t shard) const {
  for (const auto& caller : callers_) {
    if (caller->shard == shard) return *caller;
  }
  throw kit::Error(fmt::format("no caller for shard {}", shard));
}

Latency ShardCallers::between(std::size_t shard, Clock::time_point from,
                              Clock::time_point to) const {
  Latency latency;
  std::vector<double> times;
  for (const CallSample& sample : of(shard).samples) {
    if (sample.ended < from || sample.sent > to) continue;
    times.push_back(to_ms(sample.ended - sample.sent));
    if (!sample.ok) ++latency.failed;
  }
  latency.calls = times.size();
  if (times.empty()) return latency;
  std::sort(times.begin(), times.end());
  latency.p99_ms = times[(times.size() - 1) * 99 / 100];
  latency.slowest_ms = times.back();
  return latency;
}

std::optional<Clock::time_point> ShardCallers::first_write_after(std::size_t shard,
                                                                 Clock::time_point moment) const {
  for (const CallSample& sample : of(shard).samples) {
    if (sample.write && sample.ok && sample.ended >= moment) return sample.ended;
  }
  return std::nullopt;
}

bool ShardCallers::answered_since(std::size_t shard, Clock::time_point moment) const {
  return of(shard).last_good_write_sent.load() >= moment.time_since_epoch().count();
}

std::size_t ShardCallers::failed() const {
  std::size_t sum = 0;
  for (const auto& caller : callers_) {
    sum += static_cast<std::size_t>(
        std::count_if(caller->samples.begin(), caller->samples.end(),
                      [](const CallSample& sample) { return !sample.ok; }));
  }
  return sum;
}

std::vector<std::string> keys_of_shard(const kit::Cluster& cluster, std::size_t node,
                                       const std::string& prefix, std::size_t count) {
  const auto seen = cluster.view(node);
  const auto owners = seen.owners();
  const std::string id = cluster.id(node);
  std::vector<std::string> keys;
  for (int n = 0; keys.size() < count; ++n) {
    std::string key = fmt::format("{}:{}", prefix, n);
    const auto* owner = owners[slot(key)];
    if (owner != nullptr && owner->id == id) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace slotwise::survival
