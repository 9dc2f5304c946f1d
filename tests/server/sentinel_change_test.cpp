// Theme 6: the primary changes, and what becomes of connections and calls.
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "server/sentinel_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// Long limits: what happens quickly in such a test happened because the client was told.
Config patient(SentinelScene& s) {
  Config c = s.config(30s);
  c.attempt_timeout = 20s;
  c.sentinel_check_interval = 60s;
  return c;
}

/// Several connections of all kinds to the primary.
void open_several(const Client& client, const CountingServer& primary) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 200; ++n)
        (void)client.get("k");
    });
  }
  for (auto& caller : callers)
    caller.join();
  (void)client.async().get("k").get();
  (void)primary;
}

}  // namespace

TEST_CASE("B31: READONLY drops every connection to that address, and the call moves") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  open_several(client, s.x);
  REQUIRE(s.x.node().open_connections() >= 2);
  std::vector<int> before;
  for (const auto& connection : s.x.node().connections())
    before.push_back(connection.number);

  s.x.demote();  // by hand: connections stay
  const bool told_later = GENERATE(false, true);
  if (!told_later) s.fail_over();
  auto task = client.async().incr("n");
  if (told_later) {
    s.x.node().wait_for({"INCR"});
    s.fail_over();
  }
  CHECK(task.get() == 1);
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 2);
  CHECK(s.x.executed() == 0);
  CHECK(s.x.node().count("INCR") == 1);
  for (const int number : before) {
    kit::wait_until([&] { return !s.x.node().connection(number).open; }, 2s,
                    "an old connection to be closed");
  }
  CHECK(client.stats().failed == 0);
}

TEST_CASE("an answer from before a switch that was told of meanwhile is not used") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  CHECK(client.incr("n") == 1);
  // The next answers still name the old primary, which takes itself for one, but come behind the
  // news; those after them name the new one.
  const std::string switched = resp::push(
      {resp::bulk("message"), resp::bulk("+switch-master"),
       resp::bulk("mymaster " + SentinelScene::words(s.x) + ' ' + SentinelScene::words(s.y))});
  const std::string old =
      resp::array({resp::bulk(s.x.address().host), resp::bulk(std::to_string(s.x.address().port))});
  for (std::size_t i = 0; i < s.sentinels.size(); ++i)
    s.sentinels[i].node().on({"SENTINEL", "GET-MASTER-ADDR-BY-NAME"}, {switched + old});
  s.fail_over();
  s.x.node().close_all();
  kit::wait_until([&] { return client.stats().disconnects > 0; }, 2s, "the cut to be noticed");
  CHECK(client.incr("n") == 1);
  for (std::size_t i = 0; i < s.sentinels.size(); ++i)
    CHECK(s.sentinels[i].node().scripts_left() == 0);
  CHECK(s.x.executed() == 1);
  CHECK(s.y.executed() == 1);
}

TEST_CASE("+switch-master closes all connections to the old primary at once") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  open_several(client, s.x);
  // The old primary has stopped answering, and its connections stay.
  s.x.node().always({"INCR"}, ScriptedReply::silent());
  s.x.node().always({"GET", "slow"}, ScriptedReply::silent());
  std::vector<Task<std::int64_t>> writes;
  std::vector<Task<std::optional<std::string>>> reads;
  for (int i = 0; i < 20; ++i) {
    writes.push_back(client.async().incr("n"));
    reads.push_back(client.async().get("slow"));
  }
  s.x.node().wait_for({"INCR"}, 20);
  const auto start = Clock::now();
  s.fail_over();
  s.tell_switch(s.x, s.y);
  for (auto& write : writes) {
    const auto result = write.wait();
    REQUIRE_FALSE(result);
    CHECK(result.error().outcome() == Outcome::unknown);  // it may have run: never again by itself
    CHECK(result.error().node() == s.x.endpoint());
  }
  for (auto& read : reads)
    CHECK(read.get() == s.y.endpoint());
  CHECK(ms_since(start) < 3000);
  CHECK(s.y.node().count("INCR") == 0);
  kit::wait_until([&] { return s.x.node().open_connections() == 0; }, 2s,
                  "all connections to the old primary to be closed");
  CHECK(client.incr("n") == 1);
  CHECK(s.y.unchecked_writes() == 0);
}

TEST_CASE("pipelines in flight: what was not executed moves, the rest is unknown") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  s.x.node().always({"SET", "done"}, resp::simple("OK"));
  s.x.node().always({"SET", "later"},
                    resp::error("READONLY You can't write against a read only replica."));
  s.x.node().always({"SET", "lost"}, ScriptedReply::silent());
  s.x.node().always({"GET", "read"}, ScriptedReply::silent());
  s.x.demote();
  std::optional<PipelineResults> results;
  std::size_t done = 0;
  std::size_t later = 0;
  std::size_t lost = 0;
  std::size_t read = 0;
  std::thread caller([&] {
    Pipeline p = client.pipeline();
    done = p.set("done", "v").index;
    later = p.set("later", "v").index;
    lost = p.set("lost", "v").index;
    read = p.get("read").index;
    results = p.exec();
  });
  s.x.node().wait_for({"GET", "read"});
  s.fail_over();
  s.tell_switch(s.x, s.y);
  caller.join();
  const auto& all = *results;
  CHECK(all.at(done).has_value());
  INFO((all.at(later) ? "" : all.at(later).error().what()));
  CHECK(all.at(later).has_value());
  REQUIRE_FALSE(all.at(lost).has_value());
  CHECK(all.at(lost).error().outcome() == Outcome::unknown);
  CHECK(all.at(read).has_value());
  CHECK(s.y.node().count("SET", "done") == 0);
  CHECK(s.y.node().count("SET", "later") == 1);
  CHECK(s.y.node().count("SET", "lost") == 0);
  CHECK(s.y.node().count("GET", "read") == 1);
}

TEST_CASE("events of another primary are not ours, not even of one whose name begins so") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  (void)client.refresh();
  const std::size_t asked = s.sentinels[0].node().count("SENTINEL", "MASTER");
  ScriptedNode& node = s.sentinels[0].node();
  s.sentinels[0].publish("+switch-master", "mymaster2 127.0.0.1 1 127.0.0.1 2");
  s.sentinels[0].publish("+switch-master", "mymaste 127.0.0.1 1 127.0.0.1 2");
  s.sentinels[0].publish("+sdown", "master mymaster2 127.0.0.1 1");
  s.sentinels[0].publish("+odown", "master other 127.0.0.1 1 #quorum 2/2");
  // Behind them on the same connection, so that they have been seen when this shows an effect.
  s.sentinels[0].publish("+sdown", "master mymaster " + SentinelScene::words(s.x));
  node.wait_for({"SENTINEL", "MASTER"}, asked + 1);
  (void)client.refresh();
  CHECK(node.count("SENTINEL", "MASTER") <= asked + 2);
  CHECK(client.incr("n") == 1);
  CHECK(s.x.executed() == 1);
}

TEST_CASE("an event is a hint, never proof") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  s.tell_switch(s.x, s.y);  // and yet all of them name X
  (void)client.refresh();
  CHECK(client.incr("n") == 1);
  CHECK(s.x.executed() == 1);
  CHECK(s.y.node().accepts() == 0);
}

TEST_CASE("B36: without any event the periodic check finds the new primary") {
  SentinelScene s;
  Config config = patient(s);
  config.sentinel_check_interval = 500ms;
  const Client client = s.listening_client(config);
  CHECK(client.incr("n") == 1);
  const auto start = Clock::now();
  s.fail_over();  // X lives, and would take every write
  wait_for_primary(client, s.y, 3s);
  CHECK(ms_since(start) < 1500);
  const int before = s.x.executed();
  for (int i = 0; i < 20; ++i)
    CHECK(client.incr("n") == 1);
  CHECK(s.x.executed() == before);
  CHECK(s.y.executed() == 20);
  kit::wait_until([&] { return s.x.node().open_connections() == 0; }, 2s,
                  "all connections to the old primary to be closed");
}

TEST_CASE("B36: an event connection that went silent is noticed") {
  SentinelScene s;
  Config config = patient(s);
  config.sentinel_timeout = 200ms;
  config.health_check_interval = 300ms;
  const Client client = s.listening_client(config);
  for (std::size_t i = 0; i < 3; ++i)
    s.sentinels[i].node().mute(true);  // half-open: no bytes, no end
  s.fail_over();
  // Whether by PING or by the next question: connections are made anew, and those answer.
  for (std::size_t i = 0; i < 3; ++i) {
    kit::wait_until([&] { return !s.sentinels[i].node().connection(1).open; }, 5s,
                    "the silent connection to be given up");
    s.sentinels[i].node().mute(false);
  }
  wait_for_primary(client, s.y, 5s);
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 1);
}

TEST_CASE("a primary that answers late gets nothing once the sentinels have changed their mind") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  CHECK(client.incr("n") == 1);
  s.y.promote();
  const std::string master = resp::array({resp::bulk("master"), resp::integer(0), resp::array({})});
  s.y.node().always({"ROLE"}, ScriptedReply(master).delayed(800ms));
  s.name(s.y, 2);
  s.tell_switch(s.x, s.y);
  s.y.node().wait_for({"ROLE"});
  auto task = client.async().incr("n");
  s.name(s.x, 3);
  const bool told = GENERATE(true, false);
  CAPTURE(told);
  if (told) s.tell_switch(s.y, s.x);
  CHECK(task.get() == 1);
  CHECK(s.x.executed() == 2);
  CHECK(s.y.node().count("INCR") == 0);
}

TEST_CASE("while a failover promotes a replica nothing more is sent to the old primary") {
  SentinelScene s;
  const Client client = s.listening_client(patient(s));
  CHECK(client.incr("n") == 1);
  const std::string replica = "slave " + s.y.endpoint() + ' ' + SentinelScene::words(s.y) +
                              " @ mymaster " + SentinelScene::words(s.x);
  s.sentinels[1].publish("+failover-state-send-slaveof-noone", replica);
  kit::wait_until([&] { return primary_of(client).empty(); }, 2s, "calls to be held");
  auto task = client.async().incr("n");
  SECTION("it succeeds") {
    s.fail_over();
    s.tell_switch(s.x, s.y);
    CHECK(task.get() == 1);
    CHECK(s.x.executed() == 1);
    CHECK(s.y.executed() == 1);
  }
  SECTION("it is given up") {
    const auto start = Clock::now();
    s.sentinels[1].publish("-failover-abort-slave-timeout",
                           "master mymaster " + SentinelScene::words(s.x));
    CHECK(task.get() == 1);
    CHECK(ms_since(start) < 2000);
    CHECK(s.x.executed() == 2);
  }
  SECTION("nobody ever says how it ended") {
    CHECK(task.get() == 1);
    CHECK(s.x.executed() == 2);
  }
}

TEST_CASE("all sentinels down while the primary works: nobody notices") {
  SentinelScene s;
  Config config = s.config();
  config.sentinel_check_interval = 200ms;
  const Client client = Client::connect(config);
  s.sentinels.stop_listening();
  for (std::size_t i = 0; i < 3; ++i)
    s.sentinels[i].node().close_all();
  const std::uint64_t asked = client.stats().refreshes;
  int calls = 0;
  kit::wait_until(
      [&] {
        ++calls;
        return client.incr("n") == 1 && client.stats().refreshes >= asked + 3;
      },
      10s, "three rounds without an answer");
  CHECK(s.x.executed() == calls);
  CHECK(client.stats().failed == 0);
  CHECK(primary_of(client) == s.x.endpoint());

  // A connection that is lost is not made anew without their word.
  const std::size_t accepts = s.x.node().accepts();
  s.x.node().close_all();
  kit::wait_until([&] { return primary_of(client).empty(); }, 2s, "the loss to be noticed");
  auto task = client.async().incr("n");
  const std::uint64_t now = client.stats().refreshes;
  kit::wait_until([&] { return client.stats().refreshes >= now + 2; }, 5s, "two more rounds");
  CHECK(s.x.node().accepts() == accepts);
  const Error e = error_of([&] { return client.with({.timeout = 100ms}).incr("n"); });
  CHECK(e.code() == ErrorCode::sentinels_unreachable);
  s.sentinels.listen_again();
  CHECK(task.get() == 1);
}

TEST_CASE("no write before ROLE, however often and however the primary changes") {
  SentinelScene s;
  const Client client = s.client(20s);
  std::atomic<bool> stop{false};
  std::atomic<int> acknowledged{0};
  std::atomic<int> unknown{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i] {
      while (!stop) {
        try {
          if (i % 2 == 0) {
            (void)client.incr("n");
          } else {
            (void)client.async().incr("n").get();
          }
          ++acknowledged;
        } catch (const Error& e) {
          ++(e.outcome() == Outcome::unknown ? unknown : failed);
        }
      }
    });
  }
  CountingServer* now = &s.x;
  CountingServer* next = &s.y;
  for (std::uint64_t epoch = 2; epoch < 12; ++epoch) {
    switch (epoch % 3) {
      case 0:  // by hand
        now->demote();
        next->promote();
        s.name(*next, epoch);
        break;
      case 1:  // the old primary dies
        now->node().close_all(true);
        now->demote();
        next->promote();
        s.name(*next, epoch);
        break;
      default:  // a failover that is told
        next->promote();
        s.name(*next, epoch);
        s.tell_switch(*now, *next);
        wait_for_primary(client, *next);
        now->demote();
        break;
    }
    std::swap(now, next);
    wait_for_primary(client, *now);
    const int before = now->executed();
    kit::wait_until([&] { return now->executed() > before + 20; }, 5s, "writes at the new primary");
  }
  stop = true;
  for (auto& caller : callers)
    caller.join();
  CHECK(failed == 0);
  CHECK(s.x.unchecked_writes() == 0);
  CHECK(s.y.unchecked_writes() == 0);
  const int executed = s.x.executed() + s.y.executed();
  CHECK(executed >= acknowledged);
  CHECK(executed <= acknowledged + unknown);
}
