#include "survival/harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace slotwise::survival {

namespace {

cli::ProbeOptions with_workers(cli::ProbeOptions options, int workers) {
  options.workers = workers;
  options.timeout = 20s;
  return options;
}

}  // namespace

ProbeRun::ProbeRun(const Client& client, cli::ProbeOptions options)
    : probe_(client, with_workers(std::move(options), workers)) {
  probe_.start();
}

void ProbeRun::wait_for_writes(std::uint64_t more) {
  const std::uint64_t wanted = probe_.row().acked_total + more;
  kit::wait_until([&] { return probe_.row().acked_total >= wanted; }, 30s, "the probe to write");
}

void ProbeRun::wait_until_all_write() {
  std::vector<std::uint64_t> before;
  for (int worker = 0; worker < workers; ++worker)
    before.push_back(probe_.tried(worker));
  kit::wait_until(
      [&] {
        for (int worker = 0; worker < workers; ++worker) {
          if (probe_.tried(worker) == before[static_cast<std::size_t>(worker)]) return false;
        }
        return true;
      },
      30s, "every worker of the probe to get an answer");
}

cli::ProbeTotals ProbeRun::finish() {
  probe_.verify();
  return probe_.totals();
}

void report(std::string_view scenario, const cli::ProbeTotals& totals, std::int64_t map_requests,
            std::string_view more) {
  fmt::print(
      "survive {}: acked {}, failed {}, unknown {}, lost {}, wrong {}, unread {}, slowest write "
      "{:.0f} ms, longest gap {:.0f} ms, map requests {}{}{}\n",
      scenario, totals.acked, totals.failed, totals.unknown, totals.lost, totals.wrong,
      totals.unread, totals.slowest_ms, totals.max_gap_ms, map_requests, more.empty() ? "" : "; ",
      more);
  for (const cli::ProbeFailure& failure : totals.failures) {
    fmt::print("survive {}: {} times {} ({}): {}\n", scenario, failure.count,
               to_string(failure.code), to_string(failure.outcome), failure.example);
  }
  std::fflush(stdout);
}

void check_clean(const cli::ProbeTotals& totals) {
  CHECK(totals.failed == 0);
  CHECK(totals.lost == 0);
  CHECK(totals.wrong == 0);
  CHECK(totals.unread == 0);
  CHECK(totals.acked > 0);
}

std::string check_unaffected(const ShardCallers& callers, const ShardCallers& bare,
                             std::size_t shard, Clock::time_point event, Clock::time_point end) {
  const Latency before = callers.between(shard, event - 2s, event - 1ms);
  const Latency during = callers.between(shard, event, end);
  const Latency machine = bare.between(shard, event, end);
  const std::string figures = fmt::format(
      "shard {}: {} calls, p99 {:.2f} -> {:.2f} ms (bare {:.2f}), slowest {:.1f} -> "
      "{:.1f} ms (bare {:.1f})",
      shard, during.calls, before.p99_ms, during.p99_ms, machine.p99_ms, before.slowest_ms,
      during.slowest_ms, machine.slowest_ms);
  INFO(figures);
  CHECK(during.failed == 0);
  CHECK(during.calls > 100);
  // Under a millisecond it is the scheduler of the machine that is measured.
  CHECK(during.p99_ms <= 2 * std::max({before.p99_ms, machine.p99_ms, 1.0}));
  CHECK(during.slowest_ms <= 100 + machine.slowest_ms);
  return figures;
}

Clock::time_point wait_until_serves(const kit::Server& server, const std::string& key,
                                    std::chrono::milliseconds limit) {
  std::optional<kit::Connection> connection;
  kit::ConnectionOptions options = server.connection_options();
  options.connect_limit = options.command_limit = 200ms;
  std::string last = "nothing";
  const auto serves = [&] {
    try {
      if (!connection) connection.emplace(server.address(), options);
      const kit::Reply reply = connection->try_command("SET", key, "served");
      last = reply.to_string();
      return !reply.is_error();
    } catch (const kit::Error& error) {
      last = error.what();
      connection.reset();
      return false;
    }
  };
  kit::wait_until(
      serves, limit,
      [&] { return fmt::format("{} to take a write; it said: {}", server.name(), last); }, 2ms);
  return Clock::now();
}

std::size_t wait_for_heir(const kit::Cluster& cluster, int slot, std::size_t dead,
                          std::chrono::milliseconds limit) {
  const std::string dead_id = cluster.id(dead);
  std::optional<std::size_t> heir;
  const auto taken_over = [&] {
    std::string owner_id;
    for (const std::size_t member : cluster.members()) {
      const kit::Server& server = cluster.server(member);
      if (member == dead || !server.running() || server.paused()) continue;
      const auto seen = cluster.view(member);
      const auto* owner = seen.owners().at(static_cast<std::size_t>(slot));
      if (owner == nullptr || owner->id == dead_id || owner->in_trouble()) return false;
      if (!owner_id.empty() && owner->id != owner_id) return false;
      owner_id = owner->id;
    }
    heir = cluster.index_of(owner_id);
    return heir.has_value();
  };
  kit::wait_until(taken_over, limit, fmt::format("another owner of slot {}", slot));
  return *heir;
}

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace slotwise::survival
