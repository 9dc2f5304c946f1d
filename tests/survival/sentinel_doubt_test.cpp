// Sentinels that are not heard, not enough, or wrong.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "cli/doctor/checks.hpp"
#include "cli/doctor/gather.hpp"
#include "kit/error.hpp"
#include "kit/wait.hpp"
#include "survival/sentinel_scene.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

/// Writes that clients had the server execute; it must be a primary, since replication counts too.
std::int64_t writes_at(kit::Server& server) {
  return server.command_count("set").calls;
}

/// The old primary stays one for 16 s and more after a failover that it lives through: sentinels
/// put a wrong role right after four of these periods.
void leave_old_primary_alone(const kit::SentinelSet& set) {
  for (std::size_t i = 0; i < set.sentinel_count(); ++i)
    set.sentinel(i).command("SENTINEL", "DEBUG", "PUBLISH-PERIOD", 4000);
}

}  // namespace

TEST_CASE("survive sentinel d: the event connections are cut silently before a failover",
          "[alone]") {
  constexpr auto check_interval = 3s;
  kit::SentinelSet set({.replicas = 1, .sentinels = 3, .proxied = true});
  Config config = Config::parse(set.uri());
  config.sentinel_check_interval = check_interval;
  SentinelScene scene(set, config);
  REQUIRE(believed_primary(scene.client()) == set.endpoint(set.server(0)));
  for (std::size_t i = 0; i < 3; ++i) {
    // Those that are open say nothing any more; new ones are as they should be.
    set.proxy(set.sentinel(i)).swallow();
    set.proxy(set.sentinel(i)).set_faults({}, kit::Direction::both, kit::Scope::new_connections);
  }
  leave_old_primary_alone(set);
  const auto begun = Clock::now();
  set.sentinel(0).command("SENTINEL", "FAILOVER", "mymaster");
  const auto naming = wait_until_named(set, 0, 20s);
  const auto at_old = writes_at(set.server(0));
  const auto moved =
      wait_until_believed(scene.client(), set.endpoint(set.server(naming.primary)), 20s);
  REQUIRE(role_of(set.server(0)) == "master");  // alive, and writable, all the time
  const auto doomed = writes_at(set.server(0)) - at_old;
  scene.wait_until_all_write(moved, 5s);
  const auto settled = writes_at(set.server(0));
  scene.probe().wait_for_writes(500);
  const bool still_primary = role_of(set.server(0)) == "master";
  const auto later = writes_at(set.server(0)) - settled;
  REQUIRE(still_primary);
  CHECK(later == 0);
  CHECK(ms_between(naming.most, moved) <=
        std::chrono::duration<double, std::milli>(check_interval).count() * 1.25 + 1000);
  scene.finish("d", fmt::format("named by most after {:.0f} ms, moved {:.0f} ms later; {} writes "
                                "went to the old primary between, and {} after",
                                ms_between(begun, naming.most), ms_between(naming.most, moved),
                                doomed, later));
}

TEST_CASE("survive sentinel e: three of five sentinels are gone when the primary dies", "[alone]") {
  kit::SentinelSet set({.replicas = 1, .sentinels = 5, .quorum = 2});
  const Config config = Config::parse(set.uri());
  SentinelScene scene(set);
  for (std::size_t i = 2; i < 5; ++i)
    set.kill(set.sentinel(i));
  // Nothing is wrong yet, and calls know nothing of it.
  scene.wait_until_all_write(Clock::now(), 5s);

  std::string said;
  kit::wait_until(
      [&] {
        const auto findings = cli::examine(cli::gather_by_sentinels(config, 2s));
        for (const auto& finding : findings.all()) {
          if (finding.level == cli::Level::problem && finding.check == "quorum") {
            said = finding.what;
          }
        }
        return !said.empty();
      },
      20s, "the doctor to see that no failover could be authorised", 200ms);
  // A client that is made now works, since the primary does.
  CHECK_NOTHROW(Client::connect(config).set("made later", "v"));

  const auto killed = Clock::now();
  set.kill(set.server(0));
  kit::wait_until(
      [&] {
        const auto flags =
            set.sentinel(0).command("SENTINEL", "MASTER", "mymaster").at("flags").text;
        return flags.find("o_down") != std::string::npos;
      },
      10s, "the two that are left to agree that the primary is down");
  const std::array<std::string_view, 3> words{"SET", "k", "v"};
  const auto short_call = scene.client().with({.timeout = 2s, .idempotent = true});
  const auto answer = short_call.command_words(words);
  REQUIRE_FALSE(answer);
  const Error error = answer.error();
  INFO(error.what());
  CHECK((error.code() == ErrorCode::no_primary || error.code() == ErrorCode::connect_failed));
  CHECK(error.outcome() == Outcome::not_sent);
  // Which server it is that is not there.
  CHECK(std::string(error.what()).find(set.endpoint(set.server(0))) != std::string::npos);

  set.restart(set.sentinel(2));
  const auto naming = wait_until_named(set, 0, 20s);
  const auto works = scene.wait_until_all_write(naming.most, 10s);
  scene.finish("e", fmt::format("one sentinel came back; most named the new primary {:.0f} ms "
                                "after the old one had died, all wrote {:.0f} ms later; the doctor "
                                "had said \"{}\"; a call meanwhile: {}",
                                ms_between(killed, naming.most), ms_between(naming.most, works),
                                said, error.what()));
}

TEST_CASE("survive sentinel f: an isolated sentinel names the old primary") {
  // Really isolated: no sentinel and no server reaches it, or is reached by it; clients do.
  kit::SentinelSet set({.replicas = 1, .sentinels = 3, .proxied = true});
  SentinelScene scene(set);
  kit::Server& old = set.server(0);
  const std::string next = set.endpoint(set.server(1));
  set.isolate(set.sentinel(2));
  kit::wait_until(
      [&] {
        return set.sentinel(2)
                   .command("SENTINEL", "MASTER", "mymaster")
                   .at("flags")
                   .text.find("s_down") != std::string::npos;
      },
      10s, "the sentinel to be alone");
  leave_old_primary_alone(set);
  set.sentinel(0).command("SENTINEL", "FAILOVER", "mymaster");
  const auto naming = wait_until_named(set, 0, 20s);
  const auto moved = wait_until_believed(scene.client(), next, 5s);
  CHECK(ms_between(naming.most, moved) <= 1000);
  scene.wait_until_all_write(moved, 5s);
  CHECK(set.primary_according_to(2) == 0);

  ServerWatch watch(old);
  int cuts = 0;
  int clients = 0;
  Config only_the_lonely = Config::parse(set.uri());
  only_the_lonely.endpoints = {only_the_lonely.endpoints.at(2)};
  const auto until = Clock::now() + 5s;
  while (Clock::now() < until) {
    REQUIRE(role_of(old) == "master");
    REQUIRE(set.primary_according_to(2) == 0);
    set.reset_clients();
    ++cuts;
    // It comes first, or is all that a new client has to begin with: it tells of the others.
    for (const bool alone : {false, true}) {
      Config config = alone ? only_the_lonely : Config::parse(set.uri());
      std::reverse(config.endpoints.begin(), config.endpoints.end());
      const Client fresh = Client::connect(config);
      fresh.set("fresh", "v");
      CHECK(believed_primary(fresh) == next);
      ++clients;
    }
    scene.wait_until_all_write(Clock::now(), 5s);
  }
  // The other two fall silent to clients: what the lonely one says has the lower epoch, and is one
  // voice of three.
  for (std::size_t i = 0; i < 2; ++i)
    set.proxy(set.sentinel(i)).swallow();
  set.reset_clients();
  const auto silent_until = Clock::now() + 2s;
  while (Clock::now() < silent_until) {
    REQUIRE(role_of(old) == "master");
    REQUIRE(believed_primary(scene.client()) != set.endpoint(old));
    std::this_thread::sleep_for(20ms);
  }
  for (std::size_t i = 0; i < 2; ++i)
    set.proxy(set.sentinel(i)).heal();
  scene.wait_until_all_write(Clock::now(), 15s);
  const bool until_the_end = role_of(old) == "master";
  const auto seen = watch.finish();
  INFO(seen.first);
  CHECK(seen.writes == 0);
  CHECK(until_the_end);
  scene.finish("f", fmt::format("{} clients made and {} cuts while one sentinel named the old "
                                "primary, which executed {} writes and {} times ROLE",
                                clients, cuts, seen.writes, seen.roles));
}
