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
  CHECK(set.server(second).command("ROLE").at(0).str() == "slave");
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
  CHECK(set.server(second).command("ROLE").at(0).str() == "master");
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
