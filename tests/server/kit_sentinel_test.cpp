// The kit's sentinel set, on real servers.
#include <catch2/catch_test_macros.hpp>

#include "kit/error.hpp"
#include "kit/sentinel.hpp"
#include "kit/wait.hpp"

namespace kit = slotwise::kit;
using namespace std::chrono_literals;

TEST_CASE("kit: sentinels watch, fail over, and take a primary back as a replica") {
  kit::SentinelSet set({.replicas = 2, .sentinels = 3});
  CHECK(set.primary() == 0);
  CHECK(set.uri().starts_with("valkey+sentinel://127.0.0.1:"));
  CHECK(set.uri().ends_with("/mymaster"));
  const auto second = set.failover();
  CHECK(second != 0);
  set.wait_ready();

  set.kill(set.server(second));
  const auto third = set.wait_for_new_primary(second, 20s);
  CHECK(third != second);
  set.restart(set.server(second));
  set.wait_ready(40s);
  CHECK(set.server(second).role() == "slave");
  for (std::size_t i = 0; i < 3; ++i) {
    kit::wait_until([&] { return set.primary_according_to(i) == third; }, 10s,
                    "all sentinels to name the new primary");
  }

  // Behind the sentinels' back; clients keep their connections.
  kit::Connection client(set.server(third).address());
  for (std::size_t i = 0; i < 3; ++i)
    set.sentinel(i).pause();
  set.swap_roles_by_hand(second);
  CHECK(client.try_command("SET", "k", "v").is_error("READONLY"));
  CHECK(set.server(second).role() == "master");
}

TEST_CASE("kit: sentinels with passwords and TLS of their own") {
  kit::SentinelSet set({.replicas = 1,
                        .sentinels = 3,
                        .own_addresses = true,
                        .user = "app",
                        .password = "data",
                        .sentinel_password = "watch",
                        .tls = true,
                        .sentinel_tls = true});
  CHECK(set.uri().find("valkeys+sentinel://app:data@127.") == 0);
  CHECK(set.uri().find("sentinel_password=watch") != std::string::npos);
  auto tls = std::make_shared<kit::ClientTls>();
  tls->ca_file = set.ca()->ca_file().string();
  CHECK(kit::Connection(set.sentinel(0).address(), {.tls = tls})
            .try_command("PING")
            .is_error("NOAUTH"));
  kit::Connection right(set.sentinel(0).address(), {.password = "watch", .tls = tls});
  CHECK(right.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").at(0).str() ==
        set.server(0).address().host);
  CHECK(set.failover() == 1);
}

TEST_CASE("kit: one sentinel without a quorum of its own is ready too") {
  kit::SentinelSet set({.replicas = 0, .sentinels = 1});
  CHECK(set.primary() == 0);
  CHECK(set.server_count() == 1);
}

TEST_CASE("kit: sentinels and servers behind proxies, which touch clients alone") {
  kit::SentinelSet set({.replicas = 1, .sentinels = 3, .proxied = true});
  kit::Server& primary = set.server(0);
  // Whatever a client is told leads through a proxy.
  CHECK(set.uri().find(set.client_address(set.sentinel(0)).to_string()) != std::string::npos);
  kit::Connection watch(set.client_address(set.sentinel(0)));
  const auto named = watch.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").strings();
  CHECK(named.at(0) + ":" + named.at(1) == set.client_address(primary).to_string());
  CHECK(set.client_address(primary) != primary.address());
  const auto replicas = watch.command("SENTINEL", "REPLICAS", "mymaster");
  CHECK(replicas.at(0).at("name").text == set.client_address(set.server(1)).to_string());
  for (const auto& other : watch.command("SENTINEL", "SENTINELS", "mymaster").items) {
    const auto port = other.at("port").num();
    CHECK(port == set.client_address(set.sentinel(0)).port);
  }

  // Clients are cut, servers are not: the link stays, and nobody is called down.
  kit::Connection client(set.client_address(primary));
  client.command("SET", "k", "v");
  const auto resyncs = primary.info("sync_full");
  set.reset_clients();
  CHECK_THROWS_AS(client.command("GET", "k"), kit::Error);
  set.proxy(primary).swallow();
  set.proxy(set.sentinel(1)).swallow();
  kit::wait_until([&] { return std::stoll(primary.info("uptime_in_seconds")) >= 4; }, 10s,
                  "longer than down-after");
  CHECK(set.server(1).info("master_link_status") == "up");
  CHECK(primary.info("sync_full") == resyncs);
  set.wait_ready(1s);
  kit::Connection silent(set.client_address(primary), {.command_limit = 100ms});
  CHECK_THROWS_AS(silent.command("PING"), kit::Error);
  set.proxy(primary).heal();
  set.proxy(set.sentinel(1)).heal();
  CHECK(kit::Connection(set.client_address(primary)).command("GET", "k").str() == "v");
  CHECK(set.failover() == 1);
}

TEST_CASE("kit: an isolated sentinel does not hear of a failover") {
  kit::SentinelSet set({.replicas = 1, .sentinels = 3, .proxied = true});
  set.isolate(set.sentinel(2));
  const auto flags_of = [&](std::size_t sentinel) {
    return set.sentinel(sentinel).command("SENTINEL", "MASTER", "mymaster").at("flags").text;
  };
  kit::wait_until([&] { return flags_of(2).find("s_down") != std::string::npos; }, 10s,
                  "the isolated sentinel to lose its primary");
  CHECK(set.failover() == 1);
  CHECK(set.primary_according_to(0) == 1);
  kit::wait_until([&] { return set.primary_according_to(1) == 1; }, 10s, "the other one to know");
  CHECK(set.primary_according_to(2) == 0);
  // A client asks it as before.
  kit::Connection client(set.client_address(set.sentinel(2)));
  CHECK(client.command("PING").text == "PONG");
  set.rejoin();
  kit::wait_until([&] { return set.primary_according_to(2) == 1; }, 20s, "it to hear of it");
}

TEST_CASE("kit: sentinels and servers move, what is announced is addresses") {
  auto dns = std::make_shared<kit::DnsResponder>();
  kit::SentinelSet set({.replicas = 1,
                        .sentinels = 3,
                        .own_addresses = true,
                        .names = kit::SentinelNames::uri,
                        .dns = dns,
                        .config = {{"appendonly", "yes"}}});
  CHECK(set.uri().find('@') == std::string::npos);
  CHECK(set.uri().find("//w1.lab.test:") != std::string::npos);
  CHECK(set.uri().find("dns_servers=") != std::string::npos);
  set.server(0).command("SET", "k", "v");
  const auto before = set.sentinel(0).address().host;
  CHECK(dns->a("w1.lab.test").ips == std::vector{before});
  set.move_all();
  CHECK(set.sentinel(0).address().host != before);
  CHECK(dns->a("w1.lab.test").ips == std::vector{before});
  set.update_dns();
  CHECK(dns->a("w1.lab.test").ips == std::vector{set.sentinel(0).address().host});
  set.wait_ready(40s);
  CHECK(set.primary() == 0);
  CHECK(set.server(0).command("GET", "k").str() == "v");
  CHECK(set.failover() == 1);
}

TEST_CASE("kit: sentinels and servers by their names") {
  if (!kit::can_have_own_hosts()) SKIP("a hosts file of their own takes the right to mount");
  kit::SentinelSet set({.replicas = 1,
                        .sentinels = 3,
                        .own_addresses = true,
                        .names = kit::SentinelNames::announced,
                        .config = {{"appendonly", "yes"}}});
  CHECK(set.sentinel(0).command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster").at(0).str() ==
        "s1.lab.test");
  const auto replica = set.sentinel(0).command("SENTINEL", "REPLICAS", "mymaster").at(0);
  CHECK(replica.at("name").text.starts_with("s2.lab.test:"));
  const auto other = set.sentinel(0).command("SENTINEL", "SENTINELS", "mymaster").at(0);
  CHECK(other.at("ip").text.starts_with("w"));
  const auto before = set.server(0).address().host;
  set.move_all();
  CHECK(set.server(0).address().host != before);
  set.wait_ready(40s);
  CHECK(set.primary() == 0);
  CHECK(set.failover() == 1);
}

TEST_CASE("kit: sentinels trust two authorities, clients need to trust one for each kind") {
  kit::SentinelSet set({.replicas = 1,
                        .sentinels = 3,
                        .sentinel_password = "watch",
                        .tls = true,
                        .sentinel_tls = true,
                        .sentinel_authority = true});
  const auto trusting = [](const kit::CertificateAuthority& ca) {
    return std::make_shared<const kit::ClientTls>(kit::ClientTls{.ca_file = ca.ca_file().string()});
  };
  const auto sentinel = set.sentinel(0).address();
  CHECK_NOTHROW(kit::Connection(sentinel, {.tls = trusting(*set.sentinel_ca())}));
  CHECK_THROWS_AS(kit::Connection(sentinel, {.tls = trusting(*set.ca())}), kit::Error);
  CHECK_NOTHROW(kit::Connection(set.server(0).address(), {.tls = trusting(*set.ca())}));
  CHECK(set.failover() == 1);
}
