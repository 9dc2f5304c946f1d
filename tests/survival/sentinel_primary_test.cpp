// The primary goes, comes back, and gives its role to another.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "kit/error.hpp"
#include "kit/wait.hpp"
#include "survival/sentinel_scene.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

/// How long callers waited for the new primary, and what became of what the old one acknowledged.
std::string figures(const Naming& naming, Clock::time_point event, SentinelScene& scene,
                    kit::Server& primary_now) {
  scene.writer().stop();
  const auto first = scene.writer().first_answer_since(naming.first);
  REQUIRE(first);
  const auto missing = scene.writer().missing_at(primary_now);
  const auto late = std::count_if(missing.begin(), missing.end(),
                                  [&](Clock::time_point acked) { return acked > naming.most; });
  std::string text = fmt::format(
      "named by one after {:.0f} ms, by most after {:.0f} ms, first write {:.0f} ms later; of the "
      "writer's writes {} are lost",
      ms_between(event, naming.first), ms_between(event, naming.most),
      ms_between(naming.most, *first), missing.size());
  if (!missing.empty()) {
    const auto [least, most] = std::minmax_element(missing.begin(), missing.end());
    text += fmt::format(", acknowledged {:.0f} to {:.0f} ms before most named the new one",
                        ms_between(*most, naming.most), ms_between(*least, naming.most));
  }
  INFO(text);
  CHECK(ms_between(naming.most, *first) <= 1000);
  // What the old primary acknowledged before anybody named another is the servers' to lose:
  // replication is asynchronous. Afterwards nothing must go there.
  CHECK(late == 0);
  return text;
}

}  // namespace

TEST_CASE("survive sentinel a: SIGKILL of the primary", "[alone]") {
  kit::SentinelSet set({.replicas = 2, .sentinels = 3});
  SentinelScene scene(set);
  const auto killed = Clock::now();
  set.kill(set.server(0));
  const auto naming = wait_until_named(set, 0, 20s);
  scene.wait_until_all_write(naming.most, 10s);
  scene.probe().wait_for_writes(1000);
  const auto text = figures(naming, killed, scene, set.server(naming.primary));
  scene.finish("a", text);
}

TEST_CASE("survive sentinel b: the old primary comes back as one, 20 times") {
  constexpr int rounds = 20;
  constexpr double long_enough_ms = 1500;
  kit::SentinelSet set(
      {.replicas = 2, .sentinels = 3, .failover_timeout = 2000ms, .proxied = true});
  SentinelScene scene(set);
  ServerWatch::Seen all;
  double was_primary_ms = 0;
  double shortest_ms = 1e9;
  int cuts = 0;
  int cut_short = 0;
  for (int round = 0; round < rounds;) {
    INFO("round " << round);
    // An instance in the wrong role is put right after four periods of publishing.
    for (std::size_t i = 0; i < 3; ++i) {
      set.sentinel(i).command("SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "600");
    }
    const auto old = set.primary();
    kit::Server& server = set.server(old);
    set.kill(server);
    wait_until_named(set, old, 20s);
    set.restart(server);
    ServerWatch watch(server);
    const auto back = Clock::now();
    REQUIRE(role_of(server) == "master");
    CHECK(server.command_count("set").calls == 0);  // until MONITOR watched
    auto next_cut = back;
    auto still = back;
    NamingLog log(set);
    while (role_of(server) == "master") {
      still = Clock::now();
      REQUIRE(still < back + 20s);
      log.look();
      if (still >= next_cut) {
        next_cut = still + 300ms;
        ++cuts;
        set.reset_clients();
        // In every other round the client must reach the sentinels anew as well.
        for (std::size_t i = 0; i < 3 && round % 2 == 1; ++i)
          set.proxy(set.sentinel(i)).reset();
      }
      std::this_thread::sleep_for(5ms);
    }
    const auto seen = watch.finish();
    INFO(seen.first);
    // Now and then a second failover follows the first at once. Then the old primary is soon put in
    // its place, or is even chosen.
    const double ms = ms_between(back, still);
    const bool chosen = log.most_named(old);
    if (ms >= long_enough_ms && !chosen) {
      ++round;
      was_primary_ms += ms;
      shortest_ms = std::min(shortest_ms, ms);
    } else {
      REQUIRE(++cut_short < rounds);
    }
    INFO(log.text());
    if (!chosen) {
      CHECK(seen.writes == 0);
      all.writes += seen.writes;
    }
    all.roles += seen.roles;
    scene.wait_until_all_write(Clock::now(), 10s);
    set.wait_ready(30s);
  }
  scene.finish("b", fmt::format("old primaries were primaries again for {:.1f} s in {} rounds "
                                "({:.0f} ms or more; {} rounds cut short), while clients were cut "
                                "{} times; they executed {} writes of clients and {} times ROLE",
                                was_primary_ms / 1000, rounds, shortest_ms, cut_short, cuts,
                                all.writes, all.roles));
}

namespace {

void check_failover(const char* scenario, kit::SentinelSet& set,
                    const std::vector<std::string>& command) {
  SentinelScene scene(set);
  const auto begun = Clock::now();
  set.sentinel(0).command_words(command);
  const auto naming = wait_until_named(set, 0, 20s);
  scene.wait_until_all_write(naming.most, 10s);
  set.wait_ready(30s);  // the old one is a replica now, and has lost what it alone had
  scene.probe().wait_for_writes(1000);
  const auto text = figures(naming, begun, scene, set.server(set.primary()));
  const auto totals = scene.finish(scenario, text);
  CHECK(totals.lost == 0);
}

}  // namespace

TEST_CASE("survive sentinel c: SENTINEL FAILOVER", "[alone]") {
  kit::SentinelSet set({.replicas = 2, .sentinels = 3});
  // Sentinels promote the replica while the old primary still serves, and name the new one only
  // when the other replicas follow it. What is acknowledged between is lost, so the client must
  // hold its calls when the sentinels announce it.
  check_failover("c (FAILOVER)", set, {"SENTINEL", "FAILOVER", "mymaster"});
}

TEST_CASE("survive sentinel c: SENTINEL FAILOVER COORDINATED", "[alone]") {
  if (!kit::ServerBinaries::find().is_valkey(9, 1)) SKIP("Valkey 9.1 has it");
  kit::SentinelSet set({.replicas = 2, .sentinels = 3});
  check_failover("c (COORDINATED)", set, {"SENTINEL", "FAILOVER", "mymaster", "COORDINATED"});
}

TEST_CASE("survive sentinel c: roles are swapped by hand, and the sentinels choose anew",
          "[alone]") {
  // At the quick pace: sentinels wait for a primary that says it is a replica as long as
  // down-after and two of the periods of INFO, which are ten seconds at the usual one.
  kit::SentinelSet set({.replicas = 2, .sentinels = 3, .quick = true});
  SentinelScene scene(set);
  const auto begun = Clock::now();
  set.swap_roles_by_hand(1);
  const auto naming = wait_until_named(set, 0, 20s);
  scene.wait_until_all_write(naming.most, 15s);
  set.wait_ready(30s);
  scene.probe().wait_for_writes(1000);
  const auto text = figures(naming, begun, scene, set.server(set.primary()));
  CHECK(scene.finish("c (by hand)", text).lost == 0);
}

TEST_CASE("survive sentinel c: roles are swapped by hand, and the sentinels are told", "[alone]") {
  kit::SentinelSet set({.replicas = 2, .sentinels = 3});
  (void)set.failover();  // so that the epoch of what they are told is lower than the one before
  set.wait_ready(30s);
  const auto old = set.primary();
  const std::size_t next = old == 1 ? 2 : 1;
  SentinelScene scene(set);
  const auto begun = Clock::now();
  set.swap_roles_by_hand(next);
  const auto address = set.client_address(set.server(next));
  for (std::size_t i = 0; i < 3; ++i) {
    kit::Server& sentinel = set.sentinel(i);
    sentinel.command("SENTINEL", "REMOVE", "mymaster");
    sentinel.command("SENTINEL", "MONITOR", "mymaster", address.host, address.port, 2);
    sentinel.command("SENTINEL", "SET", "mymaster", "down-after-milliseconds", 1000);
    sentinel.command("SENTINEL", "SET", "mymaster", "failover-timeout", 5000);
  }
  const auto naming = wait_until_named(set, old, 5s);
  CHECK(naming.primary == next);
  scene.wait_until_all_write(naming.most, 15s);
  scene.probe().wait_for_writes(1000);
  const auto text = figures(naming, begun, scene, set.server(next));
  CHECK(scene.finish("c (by hand, told)", text).lost == 0);
}
