// The kit's cluster, on real servers.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "kit/cluster.hpp"
#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace kit = slotwise::kit;
using namespace std::chrono_literals;

namespace {

int slots_in_all(const kit::Cluster& cluster) {
  int sum = 0;
  for (const auto& node : cluster.nodes())
    sum += node.slot_total;
  return sum;
}

/// Writes a key per number to its owner; the same to be read back after whatever happens.
void fill(kit::Cluster& cluster, int keys) {
  for (int i = 0; i < keys; ++i) {
    const auto key = "key:" + std::to_string(i);
    cluster.server(cluster.owner_of_key(key)).command("SET", key, i);
  }
}

int keys_found(kit::Cluster& cluster, int keys) {
  int found = 0;
  for (int i = 0; i < keys; ++i) {
    const auto key = "key:" + std::to_string(i);
    const auto reply = cluster.server(cluster.owner_of_key(key)).command("GET", key);
    found += !reply.is_nil() && reply.str() == std::to_string(i) ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("kit: a cluster is up in seconds, ready to fail over, and gone with its object") {
  std::vector<kit::ProcessId> processes;
  {
    const auto start = std::chrono::steady_clock::now();
    kit::Cluster cluster({.primaries = 3, .replicas = 1});
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took < 15s);  // about 2.3 s; a machine under load gets time
    for (const auto& state : cluster.state())
      processes.push_back(state.process);

    const auto nodes = cluster.nodes();
    REQUIRE(nodes.size() == 6);
    CHECK(nodes[0].slots == std::vector<kit::SlotRange>{{0, 5460}});
    CHECK(nodes[1].slots == std::vector<kit::SlotRange>{{5461, 10922}});
    CHECK(nodes[3].primary == 0U);
    CHECK(cluster.primaries() == std::vector<std::size_t>{0, 1, 2});
    CHECK(cluster.replicas_of(2) == std::vector<std::size_t>{5});
    CHECK(cluster.slot_of("foo") == 12182);
    CHECK(cluster.owner_of(12182) == 2);
    CHECK(cluster.index_of("n2") == 1U);
    CHECK(cluster.index_of(cluster.id(4)) == 4U);
    CHECK_FALSE(cluster.index_of("n7"));
    CHECK(cluster.uri({1}) == "valkey+cluster://" + cluster.server(1).address().to_string());
    for (std::size_t i = 3; i < 6; ++i) {
      CHECK(cluster.server(i).info("master_link_status") == "up");
    }
    // Ready to fail over: a primary may die right now.
    cluster.kill(0);
    CHECK(cluster.wait_for_new_owner(0, 0, 15s) == 3);
    cluster.restart(0);
    cluster.wait_ready_to_fail_over();
    CHECK(cluster.node(0).primary == 3U);
  }
  CHECK(std::none_of(processes.begin(), processes.end(), kit::is_running));
}

TEST_CASE("kit: slots move, atomically where the server can, and key by key") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  fill(cluster, 300);
  cluster.migrate(0, 999, 1);
  CHECK(cluster.node(1).slots.front() == kit::SlotRange{0, 999});
  cluster.migrate_legacy(500, 700, 2);
  CHECK(cluster.owner_of(500) == 2);
  CHECK(cluster.owner_of(701) == 1);
  std::set<int> slots;
  cluster.migrate_legacy(0, 2, 0, [&](int slot, kit::SlotMigration::Step) { slots.insert(slot); });
  CHECK(slots == std::set<int>{0, 1, 2});
  CHECK(slots_in_all(cluster) == kit::slot_count);
  CHECK(keys_found(cluster, 300) == 300);
}

TEST_CASE("kit: a slot can be left half moved: ASK and TRYAGAIN") {
  kit::Cluster cluster({.primaries = 2});
  const int slot = cluster.slot_of("{t}1");
  const auto from = cluster.owner_of(slot);
  const std::size_t to = 1 - from;
  auto& source = cluster.server(from);
  auto& target = cluster.server(to);
  for (int i = 1; i <= 10; ++i)
    source.command("SET", "{t}" + std::to_string(i), i);

  auto move = cluster.begin_migration(slot, to);
  CHECK(source.command("GET", "{t}1").str() == "1");
  CHECK(source.try_command("GET", "{t}none").is_error("ASK"));
  move.move_key("{t}1");
  CHECK(move.keys_left() == 9);
  CHECK(source.try_command("MGET", "{t}1", "{t}2").is_error("TRYAGAIN"));
  CHECK(source.try_command("GET", "{t}1").is_error("ASK"));
  CHECK(target.try_command("GET", "{t}1").is_error("MOVED"));
  auto asking = target.connect();
  asking.command("ASKING");
  CHECK(asking.command("GET", "{t}1").str() == "1");

  SECTION("and then back") {
    move.cancel();
    CHECK(source.command("MGET", "{t}1", "{t}2").strings() == std::vector<std::string>{"1", "2"});
  }
  SECTION("and then to the end, step by step") {
    std::vector<kit::SlotMigration::Step> steps;
    move.finish([&](int, kit::SlotMigration::Step step) {
      steps.push_back(step);
      if (step == kit::SlotMigration::Step::target_owns) {
        CHECK(target.command("GET", "{t}1").str() == "1");
      }
    });
    CHECK(steps.size() == 5);
    CHECK(source.try_command("GET", "{t}1").is_error("MOVED"));
    CHECK(target.command("MGET", "{t}1", "{t}9").strings() == std::vector<std::string>{"1", "9"});
  }
}

TEST_CASE("kit: shards come and go") {
  std::vector<std::string> events;
  kit::Cluster cluster({.primaries = 2, .replicas = 1, .progress = [&](const std::string& text) {
                          events.push_back(text);
                        }});
  fill(cluster, 200);
  const auto added = cluster.add_shards(2);
  REQUIRE(added.size() == 2);
  CHECK(cluster.primaries().size() == 4);
  for (const auto& node : cluster.nodes()) {
    if (node.is_primary) CHECK(node.slot_total == kit::slot_count / 4);
  }
  CHECK(cluster.replicas_of(added[1]).size() == 1);
  CHECK(keys_found(cluster, 200) == 200);

  cluster.remove_shards(2);
  CHECK(cluster.primaries() == std::vector<std::size_t>{0, 1});
  CHECK(cluster.members().size() == 4);
  CHECK(cluster.size() == 8);
  CHECK(cluster.removed(added[0]));
  CHECK_FALSE(cluster.server(added[0]).running());
  CHECK(slots_in_all(cluster) == kit::slot_count);
  CHECK(keys_found(cluster, 200) == 200);
  CHECK(cluster.view(0).nodes.size() == 4);
  CHECK(std::find(events.begin(), events.end(), "2 shards added") != events.end());
}

TEST_CASE("kit: failover on request, and a primary restarted on another address") {
  kit::Cluster cluster({.primaries = 2, .replicas = 1, .own_addresses = true});
  CHECK(cluster.server(0).address().host != cluster.server(1).address().host);
  CHECK(cluster.server(0).address().port == cluster.server(1).address().port);
  CHECK(cluster.failover(0) == 2);
  CHECK(cluster.failover(0) == 0);  // named as a replica: it takes its place back
  CHECK(cluster.owner_of(0) == 0);

  const auto elsewhere = cluster.spare_address();
  cluster.restart(1, elsewhere);
  kit::wait_until(
      [&] {
        const auto seen = cluster.view(0);
        return seen.find(cluster.id(1))->host == elsewhere.host;
      },
      10s, "the others to see the new address");
  cluster.wait_ready_to_fail_over();
  CHECK(cluster.owner_of(16383) == 1);
}

TEST_CASE("kit: all nodes move at once and are introduced again") {
  kit::Cluster cluster({.primaries = 3, .own_addresses = true});
  fill(cluster, 20);
  for (const auto node : cluster.members())
    cluster.kill(node);
  for (const auto node : cluster.members())
    cluster.restart(node, cluster.spare_address());
  cluster.meet_again();
  cluster.wait_ready_to_serve();
  CHECK(slots_in_all(cluster) == kit::slot_count);
}

TEST_CASE("kit: TLS, names and an ACL user together") {
  kit::Cluster cluster({.primaries = 2,
                        .replicas = 1,
                        .own_addresses = true,
                        .hostnames = true,
                        .tls = true,
                        .user = "app",
                        .password = "p@ss w"});
  CHECK(cluster.uri({0}) == "valkeys+cluster://app:p%40ss%20w@n1.lab.test:" +
                                std::to_string(cluster.server(0).address().port) +
                                "?ca=" + cluster.ca()->ca_file().string());
  const auto slots = cluster.server(0).command("CLUSTER", "SLOTS");
  CHECK(slots.at(0).at(2).at(0).str() == "n1.lab.test");
  CHECK(slots.at(0).at(2).at(3).at("ip").str() == cluster.server(0).address().host);

  auto tls = std::make_shared<kit::ClientTls>();
  tls->ca_file = cluster.ca()->ca_file().string();
  tls->server_name = "n1.lab.test";
  kit::Connection app(cluster.server(0).address(),
                      {.user = "app", .password = "p@ss w", .tls = tls});
  CHECK(app.command("ACL", "WHOAMI").str() == "app");
  fill(cluster, 20);
  cluster.migrate(0, 100, 1);
  cluster.migrate_legacy(101, 200, 1);
  CHECK(cluster.failover(0) == 2);
  CHECK(keys_found(cluster, 20) == 20);
}

TEST_CASE("kit: counts over all nodes") {
  kit::Cluster cluster({.primaries = 2});
  cluster.reset_counts();
  const auto owner = cluster.owner_of_key("foo");
  kit::Connection right(cluster.server(owner).address());
  kit::Connection wrong(cluster.server(1 - owner).address());
  right.command("SET", "foo", "1");
  right.command("GET", "foo");
  CHECK(wrong.try_command("GET", "foo").is_error("MOVED"));
  CHECK(cluster.command_count("get") == 1);
  CHECK(cluster.command_count("get", owner) == 1);
  CHECK(cluster.error_count("MOVED") == 1);
  CHECK(cluster.connections_received() == 2);
  CHECK(cluster.connections_received(owner) == 1);
}

TEST_CASE("kit: nodes are killed while another thread moves slots") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  std::thread killer([&] {
    cluster.kill(1);
    cluster.wait_for_new_owner(8000, 1, 20s);
    cluster.restart(1);
  });
  std::string trouble;
  try {
    for (int round = 0; round < 10; ++round) {
      cluster.migrate(100, 200, 2);
      cluster.migrate(100, 200, 0);
      static_cast<void>(cluster.nodes());
    }
  } catch (const kit::Error& error) {
    trouble = error.what();  // allowed: a cluster without one of its nodes may refuse
  }
  killer.join();
  cluster.wait_ready_to_fail_over();
  CHECK(slots_in_all(cluster) == kit::slot_count);
  INFO(trouble);
}

TEST_CASE("kit: what is not ready is named, with the tail of the log") {
  kit::Cluster cluster({.primaries = 3});
  cluster.kill(2);
  try {
    cluster.wait_ready_to_serve(300ms);
    FAIL("no exception");
  } catch (const kit::Error& error) {
    const std::string text = error.what();
    CHECK(text.find("waited 300 ms for the cluster to be ready to serve: n") == 0);
    CHECK(text.find("its log ends with") != std::string::npos);
  }
}
