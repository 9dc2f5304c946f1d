// Nothing piles up, whatever happens how often.
#include <fmt/format.h>

#include <functional>
#include <thread>
#include <vector>

#include "kit/wait.hpp"
#include "survival/harness.hpp"
#include "survival/process_use.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

constexpr int warm_up = 100;
constexpr int times = 1000;

/// `what` many times, by four threads.
void repeat(int count, const std::function<void()>& what) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < count / 4; ++n)
        what();
    });
  }
}

void check_repeated(const char* name, const std::function<void()>& what) {
  repeat(warm_up, what);
  const ProcessUse before = ProcessUse::now();
  const auto start = Clock::now();
  repeat(times, what);
  const double seconds = ms_between(start, Clock::now()) / 1000;
  const ProcessUse after = ProcessUse::now();
  fmt::print("survive k: {} times {} in {:.1f} s: {} -> {}\n", times, name, seconds,
             before.to_string(), after.to_string());
  INFO(name);
  check_flat(before, after);
}

/// A client that cannot be made.
void check_connects(const char* name, const Config& config, ErrorCode code) {
  check_repeated(name, [&] {
    try {
      (void)Client::connect(config);
      FAIL("connected");
    } catch (const Error& error) {
      if (error.code() != code) FAIL(error.what());
    }
  });
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
  const ProcessUse after = ProcessUse::now();
  fmt::print("survive k: {} reconnects, {}: {} -> {}\n", times, name, before.to_string(),
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
  config.timeout = 30ms;
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
