// Nothing piles up, whatever happens how often.
#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kit/scripted_node.hpp"
#include "kit/wait.hpp"
#include "survival/harness.hpp"
#include "survival/process_use.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

constexpr int warm_up = 100;
constexpr int times = 1000;

/// `what` many times, by several threads, since most of its time it waits. It returns what is
/// wrong.
void repeat(int count, const std::function<std::string()>& what) {
  std::mutex mutex;
  std::string wrong;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 10; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < count / 10; ++n) {
          std::string text = what();
          const std::scoped_lock lock(mutex);
          if (!text.empty()) wrong = std::move(text);
        }
      });
    }
  }
  CHECK(wrong.empty());
}

/// `tidy`: what the test's own servers remember is forgotten.
void check_repeated(
    const char* name, const std::function<std::string()>& what,
    const std::function<void()>& tidy = [] {}) {
  repeat(warm_up, what);
  tidy();
  const ProcessUse before = ProcessUse::now();
  const auto start = Clock::now();
  repeat(times, what);
  const double seconds = ms_between(start, Clock::now()) / 1000;
  tidy();
  const ProcessUse after = ProcessUse::now();
  fmt::print("flat: {} times {} in {:.1f} s: {} -> {}\n", times, name, seconds, before.to_string(),
             after.to_string());
  INFO(name);
  check_flat(before, after);
}

/// A client that cannot be made.
void check_connects(const char* name, const Config& config, ErrorCode code) {
  std::atomic<int> expected{0};
  check_repeated(name, [&]() -> std::string {
    try {
      (void)Client::connect(config);
      return "connected";
    } catch (const Error& error) {
      if (error.code() == code) ++expected;
      // Where the machine was busy the client may not have got as far as the reason.
      return error.code() == code || error.message().starts_with("no answer") ? "" : error.what();
    }
  });
  CHECK(expected > times / 2);
}

/// A client that had a connection, and whose node is like that now.
void check_reconnects(const char* name, const Client& client) {
  const auto tries = [&client] {
    const Stats stats = client.stats();
    return stats.connect_failures;
  };
  const auto fail_often = [&](std::uint64_t count) {
    const std::uint64_t before = tries();
    kit::wait_until(
        [&] {
          (void)client.command_words(std::vector<std::string_view>{"SET", "foo", "bar"});
          return tries() >= before + count;
        },
        60s, fmt::format("{} failed connects", count), 0ms);
  };
  fail_often(warm_up);
  const ProcessUse before = ProcessUse::now();
  fail_often(times);
  // Between two attempts: one that is under way has a descriptor, and `before` may have had none.
  ProcessUse after;
  (void)kit::wait_for(
      [&] {
        after = ProcessUse::now();
        return after.descriptors <= before.descriptors;
      },
      2s, 1ms);
  fmt::print("flat: {} reconnects, {}: {} -> {}\n", times, name, before.to_string(),
             after.to_string());
  INFO(name);
  check_flat(before, after);
}

/// Without the connections that the client says it has. How many these are is its own affair, up to
/// its limit: one, and those for callers in place, for each node.
ProcessUse without_connections(ProcessUse use, const Client& client) {
  std::size_t open = 0;
  for (const Stats::Node& node : client.stats().nodes) {
    CHECK(node.connections <= 1 + static_cast<std::size_t>(Config().direct_connections));
    open += node.connections;
  }
  use.descriptors -= open;
  return use;
}

/// Scripted nodes remember every command and connection.
void forget(kit::ScriptedCluster& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i].reset_counts();
}

Config to(const kit::Address& address) {
  Config config;
  config.endpoints = {{address.host, address.port}};
  config.retry_backoff_min = config.retry_backoff_max = 1ms;
  config.timeout = 20ms;
  return config;
}

}  // namespace

TEST_CASE("survive k: 50 failovers in a row") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  const Client client = Client::connect(cluster.uri());
  ProbeRun probe(client, {.rate = 500});
  probe.wait_for_writes(500);
  std::vector<std::size_t> primaries = cluster.primaries();
  const auto fail_over = [&](int count) {
    for (int n = 0; n < count; ++n) {
      // The three shards in turn, so that each replica has the time to sync meanwhile.
      std::size_t& primary = primaries[static_cast<std::size_t>(n) % primaries.size()];
      const auto replicas = cluster.replicas_of(primary);
      REQUIRE_FALSE(replicas.empty());
      kit::wait_until(
          [&] { return cluster.server(replicas.front()).info("master_link_status") == "up"; }, 15s,
          "the replica to be in sync");
      primary = cluster.failover(primary);
    }
  };
  fail_over(6);
  const ProcessUse before = without_connections(ProcessUse::now(), client);
  const auto start = Clock::now();
  fail_over(50);
  const double seconds = ms_between(start, Clock::now()) / 1000;
  probe.wait_until_all_write();
  const ProcessUse after = without_connections(ProcessUse::now(), client);
  const auto totals = probe.finish();
  report("k", totals, static_cast<std::int64_t>(totals.refreshes),
         fmt::format("50 failovers in {:.1f} s: {} -> {}", seconds, before.to_string(),
                     after.to_string()));
  check_clean(totals);
  check_flat(before, after);
}

TEST_CASE("survive k: 1,000 connects to a refused port") {
  kit::Server server;
  const Client client = Client::connect(to(server.address()));
  client.set("foo", "bar");
  server.kill();
  check_connects("refused", to(server.address()), ErrorCode::connect_failed);
  check_reconnects("refused", client);
}

TEST_CASE("survive k: 1,000 connects to a server whose certificate does not verify") {
  const kit::TempDir folder("k");
  const auto right = std::make_shared<const kit::CertificateAuthority>(folder.path() / "right");
  const auto wrong = std::make_shared<const kit::CertificateAuthority>(folder.path() / "wrong");
  std::optional<kit::Server> server;
  server.emplace(kit::ServerOptions{.ca = right});
  Config config = to(server->address());
  config.timeout = 1s;
  config.tls.enabled = true;
  config.tls.ca_file = right->ca_file().string();
  const Client client = Client::connect(config);
  client.set("foo", "bar");
  const std::uint16_t port = server->address().port;
  server.reset();
  server.emplace(kit::ServerOptions{.port = port, .ca = wrong});
  config.retry_backoff_min = config.retry_backoff_max = 10ms;
  config.timeout = 60ms;
  check_connects("TLS fails", config, ErrorCode::tls_failed);
  check_reconnects("TLS fails", client);
}

TEST_CASE("survive k: 1,000 connects with a wrong password") {
  kit::Server server({.password = "right"});
  Config config = to(server.address());
  config.timeout = 1s;
  config.credentials.password = "right";
  const Client client = Client::connect(config);
  client.set("foo", "bar");
  server.command("CONFIG", "SET", "requirepass", "another");
  server.command("CLIENT", "KILL", "USER", "default");
  check_connects("wrong password", config, ErrorCode::auth_failed);
  check_reconnects("wrong password", client);
}

TEST_CASE("B56: nodes leave the map and come back 1,000 times") {
  kit::ScriptedCluster nodes(3);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].always({"SET"}, "+OK\r\n");
    // Every question is answered with another map: all three nodes, or only the first.
    nodes[i].handle({"CLUSTER", "SLOTS"}, [&](int, const kit::Command&) {
      static std::atomic<unsigned> asked{0};
      if (++asked % 2 == 0) {
        nodes.map().share_among({&nodes[0], &nodes[1], &nodes[2]});
      } else {
        nodes.map().set({{0, 16383, {nodes[0].map_node()}}});
      }
      return std::optional<kit::ScriptedReply>();
    });
  }
  Config config = Config::parse(nodes.uri());
  config.refresh_interval = config.refresh_min_interval = 1ms;
  const Client client = Client::connect(config);
  const auto change_often = [&](std::uint64_t count) {
    const std::uint64_t before = client.stats().refreshes;
    for (int n = 0; client.stats().refreshes < before + count; ++n)
      client.set(fmt::format("key{}", n % 100), "v");
    forget(nodes);
  };
  change_often(warm_up);
  const ProcessUse before = without_connections(ProcessUse::now(), client);
  change_often(2 * times);
  const ProcessUse after = without_connections(ProcessUse::now(), client);
  fmt::print("flat: {} changes of the map: {} -> {}\n", 2 * times, before.to_string(),
             after.to_string());
  check_flat(before, after);
  nodes.map().set({{0, 16383, {nodes[0].map_node()}}});
}

TEST_CASE("B56: 1,000 clients come and go") {
  kit::ScriptedCluster nodes(3);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i].always({"GET"}, "$1\r\n1\r\n");
  const auto come_and_go = [&]() -> std::string {
    const Client client = Client::connect(nodes.uri());
    for (const char* key : {"foo", "bar", "k"}) {
      if (client.get(key) != "1") return "another value";
    }
    return {};
  };
  check_repeated("clients made and destroyed", come_and_go, [&] { forget(nodes); });
}

TEST_CASE("B56: 1,000 connects to a server that is full") {
  kit::ScriptedNode node;
  node.always({"HELLO"},
              kit::ScriptedReply("-ERR max number of clients + cluster connections reached\r\n")
                  .then_close());
  const auto fail = [&]() -> std::string {
    try {
      (void)Client::connect(to(node.address()));
      return "connected";
    } catch (const Error& error) {
      return error.outcome() == Outcome::not_sent ? "" : error.what();
    }
  };
  check_repeated("full", fail, [&] { node.reset_counts(); });
}

TEST_CASE("B57: a million calls while the server is down take no memory") {
  kit::ScriptedCluster nodes(1);
  std::atomic<int> full{0};
  std::atomic<int> ended{0};
  Config config = Config::parse(nodes.uri());
  config.max_pending = 1000;
  const Client client = Client::connect(config);
  nodes[0].stop_listening();
  nodes[0].close_all();
  const auto call = [&](int count) {
    for (int i = 0; i < count; ++i) {
      client.async().get("foo").then([&](Result<std::optional<std::string>> r) {
        ++ended;
        full += !r && r.error().code() == ErrorCode::queue_full ? 1 : 0;
      });
    }
  };
  call(2000);
  const ProcessUse before = ProcessUse::now();
  call(1'000'000);
  CHECK(full > 900'000);
  check_flat(before, ProcessUse::now());
  kit::wait_until([&] { return ended == 1'002'000; }, 10s, "every call to end");
}
