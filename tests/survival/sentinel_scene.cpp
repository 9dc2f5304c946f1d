#include "survival/sentinel_scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace slotwise::survival {

namespace {

constexpr auto between_writes = 2ms;

std::string key_of(std::size_t n) {
  return fmt::format("writer:{}", n);
}

}  // namespace

SentinelWriter::SentinelWriter(const Client& client)
    : client_(std::make_unique<const Client>(
          client.with({.timeout = 20s, .idempotent = true, .read_from = {}, .node = {}}))),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

SentinelWriter::~SentinelWriter() {
  stop();
}

void SentinelWriter::run(const std::stop_token& stop) {
  for (std::size_t n = 0; !stop.stop_requested(); ++n) {
    const std::string key = key_of(n);
    const std::array<std::string_view, 3> words{"SET", key, "value"};
    Write write;
    write.sent = Clock::now();
    const auto reply = client_->command_words(words);
    write.ended = Clock::now();
    write.ok = reply.has_value();
    {
      const std::scoped_lock lock(mutex_);
      writes_.push_back(write);
      if (!write.ok && failure_.empty()) failure_ = reply.error().what();
    }
    std::this_thread::sleep_for(between_writes);
  }
}

void SentinelWriter::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

bool SentinelWriter::answered_since(Clock::time_point moment) const {
  const std::scoped_lock lock(mutex_);
  return !writes_.empty() && writes_.back().ok && writes_.back().sent >= moment;
}

std::size_t SentinelWriter::failed() const {
  return static_cast<std::size_t>(
      std::count_if(writes_.begin(), writes_.end(), [](const Write& w) { return !w.ok; }));
}

std::optional<Clock::time_point> SentinelWriter::first_answer_since(
    Clock::time_point moment) const {
  // One that waited since before counts too: it is the moment of its answer that matters.
  for (const Write& write : writes_) {
    if (write.ok && write.ended >= moment) return write.ended;
  }
  return std::nullopt;
}

std::vector<Clock::time_point> SentinelWriter::missing_at(kit::Server& server) const {
  std::vector<std::vector<std::string>> reads;
  std::vector<Clock::time_point> ended;
  for (std::size_t n = 0; n < writes_.size(); ++n) {
    if (!writes_[n].ok) continue;
    reads.push_back({"EXISTS", key_of(n)});
    ended.push_back(writes_[n].ended);
  }
  const auto there = server.pipeline(reads);
  std::vector<Clock::time_point> missing;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (there[i].num() == 0) missing.push_back(ended[i]);
  }
  return missing;
}

SentinelScene::SentinelScene(kit::SentinelSet& set, std::optional<Config> config)
    : client_(Client::connect(config ? std::move(*config) : Config::parse(set.uri()))),
      writer_(client_),
      probe_(client_, {.rate = 2000}) {
  probe_.wait_for_writes(1000);
}

Clock::time_point SentinelScene::wait_until_all_write(Clock::time_point moment,
                                                      std::chrono::milliseconds limit) {
  kit::wait_until([&] { return writer_.answered_since(moment); }, limit,
                  [&] {
                    return fmt::format("writes to be answered; the client believes in '{}'",
                                       believed_primary(client_));
                  });
  probe_.wait_until_all_write();
  return Clock::now();
}

cli::ProbeTotals SentinelScene::finish(std::string_view scenario, std::string_view more) {
  writer_.stop();
  auto totals = probe_.finish();
  report(fmt::format("sentinel {}", scenario), totals, static_cast<std::int64_t>(totals.refreshes),
         more);
  INFO(writer_.first_failure());
  CHECK(totals.failed == 0);
  CHECK(totals.wrong == 0);
  CHECK(totals.unread == 0);
  CHECK(totals.acked > 0);
  CHECK(writer_.failed() == 0);
  return totals;
}

Naming wait_until_named(const kit::SentinelSet& set, std::size_t old,
                        std::chrono::milliseconds limit) {
  Naming naming;
  const auto named = [&] {
    std::map<std::size_t, std::size_t> votes;
    for (std::size_t i = 0; i < set.sentinel_count(); ++i) {
      if (!set.sentinel(i).running() || set.sentinel(i).paused()) continue;
      const std::size_t named_by_it = set.primary_according_to(i);
      if (named_by_it == old) continue;
      if (naming.first == Clock::time_point()) naming.first = Clock::now();
      if (++votes[named_by_it] <= set.sentinel_count() / 2) continue;
      naming.primary = named_by_it;
      naming.most = Clock::now();
      return true;
    }
    return false;
  };
  kit::wait_until(named, limit, "most sentinels to name another primary", 2ms);
  return naming;
}

void NamingLog::look() {
  std::map<std::size_t, std::size_t> votes;
  std::string names;
  for (std::size_t i = 0; i < set_.sentinel_count(); ++i) {
    if (!set_.sentinel(i).running() || set_.sentinel(i).paused()) continue;
    const std::size_t named = set_.primary_according_to(i);
    if (++votes[named] > set_.sentinel_count() / 2) most_.insert(named);
    names += fmt::format(" {}: {}", set_.sentinel(i).name(), set_.server(named).name());
  }
  if (std::exchange(last_, names) == names) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  text_ += fmt::format("{:.3f}{}\n", std::chrono::duration<double>(now).count(), names);
}

std::string believed_primary(const Client& client) {
  for (const TopologyInfo::Node& node : client.topology().nodes) {
    if (node.primary && !node.slots.empty()) return node.endpoint;
  }
  return {};
}

Clock::time_point wait_until_believed(const Client& client, const std::string& endpoint,
                                      std::chrono::milliseconds limit) {
  kit::wait_until([&] { return believed_primary(client) == endpoint; }, limit,
                  [&] {
                    return fmt::format("the client to believe in {} rather than '{}'", endpoint,
                                       believed_primary(client));
                  },
                  1ms);
  return Clock::now();
}

ServerWatch::ServerWatch(kit::Server& server) : server_(server), monitor_(server.connect()) {
  monitor_.command("MONITOR");
}

ServerWatch::Seen ServerWatch::finish() {
  Seen seen;
  // MONITOR tells nothing of what sentinels and servers say to one another, and this is the kit's.
  const std::string marker = fmt::format("watched-{}", Clock::now().time_since_epoch().count());
  try {
    server_.command("ECHO", marker);
  } catch (const kit::Error&) {  // NOLINT: its connection was closed with the others
    server_.command("ECHO", marker);
  }
  try {
    while (true) {
      // 1700000000.123456 [0 127.0.0.1:40000] "SET" "key" "value"
      const std::string line = monitor_.read().text;
      if (line.find(marker) != std::string::npos) break;
      if (line.find(" 127.0.0.1:") == std::string::npos) continue;
      if (line.find("] \"SET\"") != std::string::npos) {
        if (seen.writes++ == 0) seen.first = line;
      }
      seen.roles += line.find("] \"ROLE\"") != std::string::npos ? 1 : 0;
    }
  } catch (const kit::Error&) {  // NOLINT: closed by the server
  }
  return seen;
}

std::string role_of(kit::Server& server) {
  try {
    return server.role();
  } catch (const kit::Error&) {
    return {};
  }
}

}  // namespace slotwise::survival
