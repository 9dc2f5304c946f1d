// Nodes come back elsewhere, and somebody else comes to where they were.
#include <fmt/format.h>

#include <future>
#include <thread>
#include <vector>

#include "kit/wait.hpp"
#include "survival/outage.hpp"

using namespace slotwise;
using namespace slotwise::survival;

TEST_CASE("survive f: SIGKILL, restart on another address, TLS, DNS names the old one", "[alone]") {
  auto dns = std::make_shared<kit::DnsResponder>();
  kit::Cluster cluster({.primaries = 3,
                        .node_timeout = 15s,
                        .appendonly = true,
                        .own_addresses = true,
                        .hostnames = true,
                        .dns = dns,
                        .tls = true});
  Outage outage(cluster);

  outage.begin([&] { cluster.kill(outage.victim()); });
  std::this_thread::sleep_until(outage.begun() + 2s);
  cluster.restart(outage.victim(), cluster.spare_address());
  outage.wait_until_restored(15s);
  outage.wait_until_all_work(15s);
  outage.probe().wait_for_writes(1000);

  const auto figures = outage.finish("f", cluster.command_count("cluster|slots"));
  check_clean(figures.totals);
  CHECK(figures.first_write_ms <= 2000);
  // The name leads to the old address all the time.
  CHECK(dns->a(cluster.node(outage.victim()).hostname).ips !=
        std::vector{cluster.server(outage.victim()).address().host});
}

namespace {

/// All nodes of the cluster die at once and come back at these addresses.
void move_all(kit::Cluster& cluster, const Client& client, const std::vector<kit::Address>& later,
              const char* how) {
  ShardCallers callers(client, cluster);
  ProbeRun probe(client, {.rate = 4000});
  probe.wait_for_writes(2000);

  std::vector<std::string> keys;
  for (std::size_t node = 0; node < 3; ++node)
    keys.push_back(keys_of_shard(cluster, node, "served", 1).front());
  const auto killed = Clock::now();
  for (std::size_t node = 0; node < 3; ++node)
    cluster.kill(node);
  std::this_thread::sleep_until(killed + 2s);
  for (std::size_t node = 0; node < 3; ++node)
    cluster.restart(node, later[node]);
  if (cluster.options().dns) {
    for (std::size_t node = 0; node < 3; ++node)
      cluster.update_dns(node);
  }
  // From several threads, since the kit's own waiting may end later than a node begins to serve.
  std::vector<std::future<Clock::time_point>> served;
  for (std::size_t node = 0; node < 3; ++node) {
    served.push_back(std::async(std::launch::async, [&cluster, &keys, node] {
      return wait_until_serves(cluster.server(node), keys[node], 20s);
    }));
  }
  cluster.meet_again();
  auto serves = Clock::time_point::max();
  for (auto& moment : served)
    serves = std::min(serves, moment.get());
  probe.wait_until_all_write();
  const auto works = Clock::now();
  for (const std::size_t shard : callers.shards()) {
    kit::wait_until([&] { return callers.answered_since(shard, serves); }, 10s,
                    "calls to every shard to be answered");
  }
  probe.wait_for_writes(1000);

  callers.stop();
  const auto totals = probe.finish();
  std::string figures =
      fmt::format("the first node served after {:.0f} ms, all wrote {:.0f} ms later",
                  ms_between(killed, serves), ms_between(serves, works));
  for (const std::size_t shard : callers.shards()) {
    const auto first = callers.first_write_after(shard, killed + 200ms);
    REQUIRE(first);
    figures += fmt::format("; shard {}: {:.0f} ms", shard, ms_between(serves, *first));
    CHECK(ms_between(serves, *first) <= 3000);
  }
  report(how, totals, cluster.command_count("cluster|slots"), figures);
  check_clean(totals);
  CHECK(callers.failed() == 0);
  CHECK(ms_between(serves, works) <= 3000);
}

std::vector<kit::Address> three_addresses(kit::Cluster& cluster) {
  return {cluster.spare_address(), cluster.spare_address(), cluster.spare_address()};
}

}  // namespace

TEST_CASE("survive g: all nodes move while all are down, and DNS follows", "[alone]") {
  kit::Cluster cluster({.primaries = 3,
                        .appendonly = true,
                        .own_addresses = true,
                        .hostnames = true,
                        .dns = std::make_shared<kit::DnsResponder>()});
  const Client client = Client::connect(cluster.uri());
  move_all(cluster, client, three_addresses(cluster), "g (names)");
}

TEST_CASE("survive g: all nodes move while all are down, to where other seeds were", "[alone]") {
  kit::Cluster cluster({.primaries = 3, .appendonly = true, .own_addresses = true});
  const auto later = three_addresses(cluster);
  Config config = Config::parse(cluster.uri());
  for (const kit::Address& address : later)
    config.endpoints.push_back({address.host, address.port});
  const Client client = Client::connect(config);
  move_all(cluster, client, later, "g (addresses)");
}

TEST_CASE("survive j: a node of another cluster answers at the address of one of ours") {
  kit::Cluster ours({.primaries = 3, .node_timeout = 15s});
  kit::Cluster theirs({.primaries = 3, .node_timeout = 15s});
  Config config = Config::parse(ours.uri());
  const Client client = Client::connect(config);
  ShardCallers callers(client, ours);
  const std::size_t victim = ours.owner_of(0);
  const std::string key = keys_of_shard(ours, victim, "key", 1).front();
  client.set(key, "ours");

  const kit::Address address = ours.server(victim).address();
  const std::size_t stranger = theirs.owner_of(0);
  ours.kill(victim);
  theirs.restart(stranger, address);
  theirs.wait_ready_to_serve();
  theirs.reset_counts();

  // Long enough for several tries, and for a fresh map.
  const auto answer = [&](std::initializer_list<std::string_view> words) {
    const std::vector<std::string_view> all(words);
    return client.with({.timeout = 3s, .idempotent = true, .read_from = {}, .node = {}})
        .command_words(all);
  };
  const auto write = answer({"SET", key, "to a stranger"});
  const auto read = answer({"GET", key});
  REQUIRE_FALSE(write);
  REQUIRE_FALSE(read);
  for (const Error& error : {write.error(), read.error()}) {
    INFO(error.what());
    CHECK(error.code() == ErrorCode::wrong_node);
    CHECK(error.did_not_run());
    CHECK(error.message().find(ours.id(victim)) != std::string_view::npos);
    CHECK(error.message().find(theirs.id(stranger)) != std::string_view::npos);
  }
  for (const char* command : {"set", "get", "cluster|slots"})
    CHECK(theirs.command_count(command) == 0);

  // The node comes back elsewhere: all is well again.
  ours.restart(victim, ours.spare_address());
  const auto serves = wait_until_serves(ours.server(victim), key, 15s);
  kit::wait_until([&] { return callers.answered_since(victim, serves); }, 10s,
                  "calls to the node to be answered");
  CHECK(theirs.command_count("set") == 0);
  callers.stop();
  fmt::print("survive j: {}\n", write.error().what());
}

TEST_CASE("survive j: a seed leads to another cluster while ours is down") {
  kit::Cluster ours({.primaries = 4, .node_timeout = 15s, .appendonly = true});
  kit::Cluster theirs({.primaries = 3, .node_timeout = 15s});
  const Client client = Client::connect(ours.uri());
  const std::size_t leaver = ours.owner_of(0);
  const kit::Address address = ours.server(leaver).address();
  ours.remove_shard(leaver);
  client.refresh().value();
  client.set("foo", "ours");

  // The seed's address is in nobody's map any more, so its id alone tells nothing.
  const std::size_t stranger = theirs.owner_of(0);
  theirs.restart(stranger, address);
  theirs.wait_ready_to_serve();
  theirs.reset_counts();
  for (const std::size_t node : ours.members())
    ours.kill(node);
  const auto during = client.with({.timeout = 4s, .idempotent = true, .read_from = {}, .node = {}})
                          .command_words(std::vector<std::string_view>{"SET", "foo", "stranger"});
  CHECK_FALSE(during);
  CHECK(theirs.command_count("set") == 0);

  for (const std::size_t node : ours.members())
    ours.restart(node);
  ours.wait_ready_to_serve();
  client.set("foo", "ours again");
  CHECK(theirs.command_count("set") == 0);
  CHECK(theirs.error_count("MOVED") == 0);
  fmt::print("survive j: {}\n", during ? "it was written" : during.error().what());
}
