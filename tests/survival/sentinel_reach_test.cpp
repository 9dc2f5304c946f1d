// How sentinels and servers are reached: names, addresses that change, credentials and certificates
// of their own.
#include <fmt/format.h>

#include <functional>
#include <string>

#include "kit/error.hpp"
#include "kit/wait.hpp"
#include "survival/sentinel_scene.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

void check_move(const char* scenario, kit::SentinelNames names) {
  auto dns = std::make_shared<kit::DnsResponder>();
  kit::SentinelSet set({.replicas = 1,
                        .sentinels = 3,
                        .own_addresses = true,
                        .names = names,
                        .dns = dns,
                        .config = {{"appendonly", "yes"}, {"appendfsync", "always"}}});
  SentinelScene scene(set);
  const auto old_host = set.sentinel(0).address().host;
  const auto begun = Clock::now();
  set.move_all();
  set.update_dns();
  const auto served = wait_until_serves(set.server(0), "served", 20s);
  const auto works = scene.wait_until_all_write(served, 15s);
  CHECK(set.sentinel(0).address().host != old_host);
  scene.probe().wait_for_writes(500);
  CHECK(ms_between(served, works) <= 3000);

  const auto totals =
      scene.finish(scenario, fmt::format("all moved and served after {:.0f} ms, all wrote {:.0f} "
                                         "ms later",
                                         ms_between(begun, served), ms_between(served, works)));
  CHECK(totals.lost == 0);

  // The client has found them for good: it follows a failover there too.
  set.wait_ready(40s);
  const auto next = set.failover();
  wait_until_believed(scene.client(), set.endpoint(set.server(next)), 5s);
  scene.client().set("k", "v");
  CHECK(set.server(next).command("GET", "k").str() == "v");
}

}  // namespace

TEST_CASE("survive sentinel g: all move, and DNS follows for the names of the sentinels",
          "[alone]") {
  // The client alone uses names; sentinels and servers tell of one another by address, and their
  // configuration is rewritten for the new ones.
  check_move("g (sentinels named)", kit::SentinelNames::uri);
}

TEST_CASE("survive sentinel g: all move, and are announced by their names", "[alone]") {
  if (!kit::can_have_own_hosts()) SKIP("a hosts file of their own takes the right to mount");
  // resolve-hostnames and announce-hostnames: addresses are nowhere but in DNS and hosts files.
  check_move("g (all named)", kit::SentinelNames::announced);
}

namespace {

/// The error of a client that cannot be made; its deadline is short, so that what is waited out
/// shows too.
Error refused(Config config, const std::function<void(Config&)>& change) {
  change(config);
  config.timeout = 3s;
  try {
    const Client client = Client::connect(config);
    client.set("k", "v");
  } catch (const Error& error) {
    return error;
  }
  FAIL("it worked");
  return {ErrorCode::server, Outcome::executed, ""};
}

bool names(const Error& error, const std::string& text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

std::int64_t refused_logins(kit::Server& server) {
  return static_cast<std::int64_t>(server.command("ACL", "LOG").items.size());
}

}  // namespace

TEST_CASE("survive sentinel h: sentinels and servers with other passwords and certificates") {
  kit::SentinelSet set({.replicas = 1,
                        .sentinels = 3,
                        .own_addresses = true,
                        .user = "app",
                        .password = "data-secret",
                        .sentinel_password = "watch-secret",
                        .tls = true,
                        .sentinel_tls = true,
                        .sentinel_authority = true});
  const Config right = Config::parse(set.uri());
  {
    const Client client = Client::connect(right);
    CHECK(set.failover() == 1);
    wait_until_believed(client, set.endpoint(set.server(1)), 5s);
    client.set("k", "v");
    CHECK(client.get("k") == "v");
    // Nobody was ever shown what is for the others.
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(refused_logins(set.server(i)) == 0);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(refused_logins(set.sentinel(i)) == 0);
  }
  const std::string primary = set.endpoint(set.server(1));

  const Error sentinel_password =
      refused(right, [](Config& c) { c.sentinel_credentials.password = "wrong"; });
  INFO("sentinel password: " << sentinel_password.what());
  CHECK(sentinel_password.code() == ErrorCode::auth_failed);
  CHECK(names(sentinel_password, "entinel"));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(names(sentinel_password, set.endpoint(set.sentinel(i))));
  CHECK_FALSE(names(sentinel_password, primary));

  const Error no_sentinel_password = refused(right, [](Config& c) { c.sentinel_credentials = {}; });
  INFO("no sentinel password: " << no_sentinel_password.what());
  CHECK(no_sentinel_password.code() == ErrorCode::auth_failed);
  CHECK(names(no_sentinel_password, "entinel"));

  const Error data_password = refused(right, [](Config& c) { c.credentials.password = "wrong"; });
  INFO("data password: " << data_password.what());
  CHECK(data_password.code() == ErrorCode::auth_failed);
  CHECK(names(data_password, primary));
  CHECK_FALSE(names(data_password, set.endpoint(set.sentinel(0))));

  const Error sentinel_ca =
      refused(right, [](Config& c) { c.sentinel_tls->ca_file = c.tls.ca_file; });
  INFO("sentinels' authority: " << sentinel_ca.what());
  CHECK((sentinel_ca.code() == ErrorCode::tls_failed ||
         sentinel_ca.code() == ErrorCode::sentinels_unreachable));
  CHECK(names(sentinel_ca, set.endpoint(set.sentinel(0))));
  CHECK(names(sentinel_ca, "certificate"));
  CHECK_FALSE(names(sentinel_ca, primary));

  const Error data_ca = refused(right, [](Config& c) { c.tls.ca_file = c.sentinel_tls->ca_file; });
  INFO("servers' authority: " << data_ca.what());
  CHECK(data_ca.code() == ErrorCode::tls_failed);
  CHECK(names(data_ca, primary));

  for (const Error* error :
       {&sentinel_password, &no_sentinel_password, &data_password, &sentinel_ca, &data_ca}) {
    CHECK_FALSE(names(*error, "secret"));
    CHECK(error->outcome() == Outcome::not_sent);
    fmt::print("survive sentinel h: {}: {}\n", to_string(error->code()), error->what());
  }
}

TEST_CASE("survive sentinel h: TLS at the one kind alone") {
  for (const bool at_sentinels : {true, false}) {
    // One sentinel: with more of them TLS is at all or none (see SentinelOptions).
    kit::SentinelSet set(
        {.replicas = 0, .sentinels = 1, .tls = !at_sentinels, .sentinel_tls = at_sentinels});
    const Client client = Client::connect(set.uri());
    client.set("k", "v");
    CHECK(client.get("k") == "v");
  }
}
