#include "kit/fault_proxy.hpp"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "kit/error.hpp"
#include "kit/wait.hpp"
#include "socket_support.hpp"

using namespace kit_test;
using kit::Direction;
using kit::FaultProxy;
using kit::Scope;
using Clock = std::chrono::steady_clock;

namespace {

/// A server, the proxy before it, and connections through both.
struct World {
  struct Pair {
    Peer client;
    Peer server;
  };

  Listening listening;
  FaultProxy proxy{listening.address()};

  Pair connect() const {
    auto client = Peer::connect(proxy.address());
    return {std::move(client), listening.accept()};
  }
  /// Both ways work.
  static void check_alive(const Pair& pair) {
    pair.client.send("ping");
    CHECK(pair.server.receive(4) == "ping");
    pair.server.send("pong");
    CHECK(pair.client.receive(4) == "pong");
  }
};

std::chrono::milliseconds cpu_time() {
  ::rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::milliseconds((used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
}

}  // namespace

TEST_CASE("fault proxy: passes bytes, half-closed streams and resets on, and counts") {
  World w;
  auto pair = w.connect();
  World::check_alive(pair);
  pair.client.finish_sending();
  CHECK(pair.server.end() == "fin");
  pair.server.send("late");
  CHECK(pair.client.receive(4) == "late");
  CHECK(w.proxy.counts().open == 1);
  pair.server.close();
  CHECK(pair.client.end() == "fin");
  kit::wait_until([&] { return w.proxy.counts().open == 0; }, 5s, "the connection to be closed");

  auto second = w.connect();
  World::check_alive(second);
  second.server.reset();
  CHECK(second.client.end() == "rst");
  const auto counts = w.proxy.counts();
  CHECK(counts.accepted == 2);
  CHECK(counts.bytes_to_server == 8);
  CHECK(counts.bytes_to_client == 12);
  CHECK(counts.bytes_swallowed == 0);
}

TEST_CASE("fault proxy: a target that refuses resets the client; the target can change") {
  World w;
  Listening other("127.0.0.2");
  w.listening.close();
  CHECK(Peer::connect(w.proxy.address()).end() == "rst");
  w.proxy.set_target(other.address());
  CHECK(w.proxy.target() == other.address());
  const auto client = Peer::connect(w.proxy.address());
  const auto server = other.accept();
  client.send("hello");
  CHECK(server.receive(5) == "hello");
  CHECK_THROWS_AS(w.proxy.set_target({"localhost", 1}), kit::Error);
}

TEST_CASE("fault proxy: moves to another address") {
  World w;
  const auto before = w.proxy.address();
  w.proxy.move({"127.0.0.3", before.port}, w.listening.address());
  CHECK(Peer::connect(before).refused());
  World::check_alive(w.connect());
  w.proxy.stop_listening();
  w.proxy.move(before, w.listening.address());
  CHECK(Peer::connect(before).refused());
  w.proxy.listen_again();
  World::check_alive(w.connect());
}

TEST_CASE("fault proxy: cut and reset end all connections, and only those there are") {
  World w;
  auto a = w.connect();
  auto b = w.connect();
  World::check_alive(a);
  b.client.send("on its way");
  CHECK(b.server.receive(10) == "on its way");
  w.proxy.cut();
  CHECK(w.proxy.counts().open == 0);
  for (const Peer* peer : {&a.client, &a.server, &b.client, &b.server})
    CHECK(peer->end() == "fin");

  auto c = w.connect();
  World::check_alive(c);
  w.proxy.reset();
  CHECK(c.client.end() == "rst");
  CHECK(c.server.end() == "rst");
  World::check_alive(w.connect());
}

TEST_CASE("fault proxy: swallow is a cut cable, and what was lost ends with it") {
  World w;
  const auto busy = w.connect();
  const auto idle = w.connect();
  auto leaver = w.connect();
  World::check_alive(busy);
  World::check_alive(idle);
  w.proxy.swallow();
  busy.client.send("lost");
  busy.server.send("lost too");
  leaver.client.close();
  const auto during = Peer::connect(w.proxy.address());
  CHECK(during.connected());
  kit::wait_until([&] { return w.proxy.counts().bytes_swallowed == 12; }, 5s, "12 lost bytes");
  CHECK_FALSE(w.listening.somebody_waits(100ms));
  CHECK(busy.server.receive(1, 50ms).empty());
  CHECK(busy.client.receive(1, 50ms).empty());
  CHECK(leaver.server.end(50ms) == "open");
  CHECK(w.proxy.counts().open == 4);

  w.proxy.heal();
  CHECK(busy.client.end() == "rst");
  CHECK(busy.server.end() == "rst");
  CHECK(leaver.server.end() == "rst");
  World::check_alive(idle);
  const auto late = w.listening.accept();  // of `during`, which had lost nothing
  during.send("hello");
  CHECK(late.receive(5) == "hello");
}

TEST_CASE("fault proxy: one direction alone is swallowed") {
  World w;
  const auto pair = w.connect();
  w.proxy.set_faults({.swallow = true}, Direction::to_client);
  pair.client.send("question");
  CHECK(pair.server.receive(8) == "question");
  pair.server.send("answer");
  kit::wait_until([&] { return w.proxy.counts().bytes_swallowed == 6; }, 5s, "the answer's loss");
  CHECK(pair.client.end(50ms) == "open");
  const auto second = w.connect();
  second.client.send("question");
  CHECK(second.server.receive(8) == "question");
  w.proxy.set_faults({}, Direction::to_client);
  CHECK(pair.client.end() == "rst");
  World::check_alive(second);
}

TEST_CASE("fault proxy: connections that give up while swallowed leave nothing open") {
  World w;
  w.proxy.swallow();
  for (int i = 0; i < 20; ++i) {
    auto client = Peer::connect(w.proxy.address());
    client.send("anybody there?");
    if (i % 2 == 0) client.reset();
  }
  kit::wait_until([&] { return w.proxy.counts().accepted == 20; }, 5s, "20 connections");
  kit::wait_until([&] { return w.proxy.counts().open == 0; }, 5s, "all of them to be closed");
}

TEST_CASE("fault proxy: refuses, and listens again on the same port") {
  World w;
  const auto pair = w.connect();
  w.proxy.stop_listening();
  CHECK(Peer::connect(w.proxy.address()).refused());
  World::check_alive(pair);
  w.proxy.listen_again();
  World::check_alive(w.connect());
}

TEST_CASE("fault proxy: delays each direction on its own, and a smaller delay counts at once") {
  World w;
  const auto pair = w.connect();
  w.proxy.set_faults({.delay = 80ms}, Direction::to_server);
  auto start = Clock::now();
  pair.client.send("slow");
  CHECK(pair.server.receive(4) == "slow");
  CHECK(Clock::now() - start >= 80ms);
  w.proxy.set_faults({.delay = 1min}, Direction::to_client);
  pair.server.send("very slow");
  CHECK(pair.client.receive(1, 50ms).empty());
  w.proxy.set_faults({});
  CHECK(pair.client.receive(9) == "very slow");
  w.proxy.set_faults({.delay = 80ms});
  start = Clock::now();
  pair.client.finish_sending();
  CHECK(pair.server.end() == "fin");
  CHECK(Clock::now() - start >= 80ms);
}

TEST_CASE("fault proxy: faults for new connections leave the others alone") {
  World w;
  const auto old = w.connect();
  w.proxy.set_faults({.swallow = true}, Direction::both, Scope::new_connections);
  const auto fresh = Peer::connect(w.proxy.address());
  fresh.send("lost");
  kit::wait_until([&] { return w.proxy.counts().bytes_swallowed == 4; }, 5s, "4 lost bytes");
  World::check_alive(old);
}

TEST_CASE("fault proxy: one byte at a time") {
  World w;
  const auto pair = w.connect();
  const std::string text(100, 'b');
  w.proxy.set_faults({.one_byte = true}, Direction::to_server);
  pair.client.send(text);
  CHECK(pair.server.receive(100) == text);
  // With pauses a reader sees them one by one; without one_byte they would come five at a time.
  w.proxy.set_faults({.one_byte = true, .bytes_per_second = 500}, Direction::to_server);
  pair.client.send(text.substr(0, 40));
  CHECK(pair.server.reads_for(40) > 15);
  pair.server.send(text);
  CHECK(pair.client.reads_for(100) < 10);
}

TEST_CASE("fault proxy: keeps to a rate") {
  World w;
  const auto pair = w.connect();
  w.proxy.set_faults({.bytes_per_second = 20000}, Direction::to_server);
  const auto start = Clock::now();
  pair.client.send(std::string(6000, 'x'));
  CHECK(pair.server.receive(6000).size() == 6000);
  CHECK(Clock::now() - start >= 250ms);  // 300 ms, but for the first portion
}

TEST_CASE("fault proxy: new connections are cut after a number of bytes") {
  World w;
  w.proxy.cut_new_connections({.at_least = 1000, .at_most = 1000, .counted = Direction::to_client});
  const auto pair = w.connect();
  pair.client.send(std::string(2000, 'q'));
  CHECK(pair.server.receive(2000).size() == 2000);
  pair.server.send(std::string(5000, 'a'));
  CHECK(pair.client.receive(5000).size() == 1000);
  CHECK(pair.client.end() == "fin");

  const auto lengths = [&](std::uint64_t seed) {
    w.proxy.cut_new_connections({.at_least = 1, .at_most = 5000, .seed = seed});
    std::vector<std::size_t> all;
    for (int i = 0; i < 5; ++i) {
      const auto random = w.connect();
      random.client.send(std::string(6000, 'q'));
      all.push_back(random.server.receive(6000).size());
    }
    return all;
  };
  const auto first = lengths(7);
  CHECK(std::set<std::size_t>(first.begin(), first.end()).size() > 1);
  for (const auto length : first)
    CHECK((length >= 1 && length <= 5000));
  CHECK(lengths(7) == first);

  w.proxy.cut_new_connections({.at_least = 10, .at_most = 10, .reset = true});
  const auto rude = w.connect();
  rude.client.send("0123456789");
  CHECK(rude.client.end() == "rst");
  w.proxy.heal();
  const auto whole = w.connect();
  whole.client.send(std::string(100000, 'q'));
  CHECK(whole.server.receive(100000).size() == 100000);
}

TEST_CASE("fault proxy: a reader that sleeps stops the writer, and nothing is lost") {
  World w;
  const auto pair = w.connect();
  constexpr std::size_t much = 64 << 20;
  const auto sent = pair.client.send_until_blocked(much);
  CHECK(sent < much);
  const auto before = cpu_time();
  CHECK_FALSE(kit::wait_for([&] { return w.proxy.counts().open == 0; }, 300ms, 100ms));
  CHECK(cpu_time() - before < 150ms);  // it sleeps
  CHECK(pair.server.receive(sent).size() == sent);
  World::check_alive(pair);
}

TEST_CASE("fault proxy: a connection that ended behind a full buffer does not keep it busy") {
  World w;
  auto pair = w.connect();
  w.proxy.set_faults({.delay = 1min});
  (void)pair.client.send_until_blocked(64 << 20);
  pair.server.finish_sending();
  pair.client.reset();
  const auto before = cpu_time();
  CHECK_FALSE(kit::wait_for([] { return false; }, 300ms, 100ms));
  CHECK(cpu_time() - before < 150ms);
}

TEST_CASE("fault proxy: spares connections from some, and blocks others") {
  const Listening listening;
  FaultProxy proxy(listening.address(),
                   {.spared = [](const std::string& host) { return host == "127.0.0.2"; }});
  const auto connect = [&](const char* from) {
    auto client = Peer::connect(proxy.address(), from);
    return World::Pair{std::move(client), listening.accept()};
  };
  const auto spared = connect("127.0.0.2");
  const auto other = connect("127.0.0.1");
  const auto third = connect("127.0.0.3");
  World::check_alive(other);
  proxy.swallow();
  World::check_alive(spared);
  World::check_alive(connect("127.0.0.2"));
  proxy.heal();
  World::check_alive(other);
  proxy.reset();
  CHECK(other.client.end() == "rst");
  CHECK(third.client.end() == "rst");
  World::check_alive(spared);

  // Blocked goes before spared, and heal() does not help.
  const auto fourth = connect("127.0.0.3");
  proxy.block([](const std::string& host) { return host == "127.0.0.2"; });
  proxy.heal();
  const auto late = Peer::connect(proxy.address(), "127.0.0.2");
  CHECK(late.connected());
  spared.client.send("lost");
  late.send("lost");
  World::check_alive(fourth);
  kit::wait_until([&] { return proxy.counts().bytes_swallowed == 8; }, 5s, "8 bytes to be lost");
  proxy.block({});
  CHECK(spared.client.end() == "rst");
  CHECK(late.end() == "rst");
  World::check_alive(connect("127.0.0.2"));
}

TEST_CASE("fault proxy: ends with connections open") {
  auto w = std::make_unique<World>();
  const auto pair = w->connect();
  World::check_alive(pair);
  w.reset();
  CHECK(pair.client.end() == "rst");
  CHECK(pair.server.end() == "rst");
}
