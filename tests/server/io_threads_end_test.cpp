// Config::io_threads: callbacks of several loop threads, failures, and how such a client ends.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <catch2/generators/catch_generators.hpp>

#include "kit/cluster.hpp"
#include "server/io_threads_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

struct Scene {
  kit::Cluster cluster{{.primaries = 3, .config = {{"cluster-require-full-coverage", "no"}}}};
  std::vector<std::string> keys = keys_of_all(cluster, 1);  // one for each thread

  Client client(std::chrono::milliseconds timeout = 5s) const {
    Config config = config_of(cluster, 3);
    config.timeout = timeout;
    return Client::connect(config);
  }
};

bool refused(const Error& e) {
  return e.code() == ErrorCode::refused;
}

/// From callback to callback, each on another thread.
struct Hops {
  const Client& client;
  const std::vector<std::string>& keys;
  const int limit;
  std::atomic<int> made{0};
  std::atomic<int> bad{0};

  void go(int n) {
    client.async()
        .incr(keys[static_cast<std::size_t>(n) % keys.size()])
        .then([this, n](Result<std::int64_t> r) {
          if (!r || *r != n / static_cast<int>(keys.size()) + 1) ++bad;
          if (n + 1 < limit) go(n + 1);
          ++made;
        });
  }
};

}  // namespace

TEST_CASE("io_threads: what waits is refused in the callbacks of every thread") {
  const Scene s;
  const Client client = s.client();
  std::atomic<int> good{0};
  const auto count = [&](bool ok) { good += ok ? 1 : 0; };
  for (const std::string& own : s.keys) {
    // It ends after then() was called, so that the callback is for certain on a loop thread.
    const std::string list = "{" + own + "}list";
    auto blocked = client.async().command("BLPOP", list, "0");
    std::move(blocked).then([&, own](const auto&) {
      for (const std::string& key : s.keys) {
        count(refused(error_of([&] { return client.get(key); })));
        const auto waited = client.async().get(key).wait();
        // Another thread may have brought the reply already; then there is nothing to wait for.
        count((waited && key != own) || (!waited && refused(waited.error())));
      }
      Pipeline p = client.pipeline();
      const auto get = p.get(s.keys[0]);
      PipelineResults results = p.exec();
      count(!results[get] && refused(results[get].error()));
      const auto again = client.refresh();
      count(!again && refused(again.error()));
      const auto known = client.reauthenticate();
      count(!known && refused(known.error()));
    });
    client.rpush(list, {"x"});
  }
  kit::wait_until([&] { return good == 3 * 9; }, 5s, "all refusals");
  CHECK(good == 3 * 9);
}

TEST_CASE("io_threads: callbacks of all threads look at the client at the same time") {
  const Scene s;
  const Client client = s.client();
  for (const std::string& key : s.keys)
    client.set(key, "x");
  CHECK(client.stats().nodes.size() == 3);
  std::atomic<int> ended{0};
  std::atomic<int> bad{0};
  for (int i = 0; i < 300; ++i) {
    client.async().get(s.keys[static_cast<std::size_t>(i) % 3]).then([&](const auto&) {
      if (client.topology().covered_slots != slot_count) ++bad;
      if (client.stats().nodes.size() != 3) ++bad;
      ++ended;
    });
  }
  kit::wait_until([&] { return ended == 300; }, 10s, "all callbacks");
  CHECK(bad == 0);
}

TEST_CASE("io_threads: callbacks of one thread start calls of the others") {
  const Scene s;
  const Client client = s.client();
  Hops hops{client, s.keys, 3000};
  hops.go(0);
  kit::wait_until([&] { return hops.made == hops.limit; }, 20s, "all hops");
  CHECK(hops.bad == 0);
}

TEST_CASE("io_threads: close() ends the calls of all threads") {
  const Scene s;
  const bool in_callback = GENERATE(false, true);
  CAPTURE(in_callback);
  auto client = std::make_unique<Client>(s.client(60s));
  for (const std::string& key : s.keys)
    client->set(key, "x");
  std::atomic<int> cancelled{0};
  std::atomic<int> others{0};
  const auto count = [&](const auto& result) {
    ++(!result && result.error().code() == ErrorCode::cancelled ? cancelled : others);
  };
  for (int i = 0; i < 30; ++i) {
    const std::string list = "{" + s.keys[static_cast<std::size_t>(i) % 3] + "}list";
    client->async().command("BLPOP", list, "0").then([&](const auto& r) { count(r); });
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&, i] {
      const std::string list = "{" + s.keys[static_cast<std::size_t>(i) % 3] + "}list";
      const std::vector<std::string_view> words = {"BLPOP", list, "0"};
      count(client->command_words(words));
    });
  }
  const auto blocked = [&] {
    int n = 0;
    for (std::size_t i = 0; i < 3; ++i)
      n += std::stoi(s.cluster.server(i).info("blocked_clients"));
    return n;
  };
  kit::wait_until([&] { return blocked() == 36; }, 10s, "all to be blocked");
  const auto start = Clock::now();
  if (in_callback) {
    client->async().get(s.keys[1]).then([&](const auto&) { client->close(); });
  } else {
    client->close();
    CHECK(cancelled >= 30);  // asynchronous ones; a thread that waited may need a moment
  }
  kit::wait_until([&] { return cancelled + others == 36; }, 5s, "all calls to end");
  for (auto& caller : callers)
    caller.join();
  CHECK(ms_since(start) < 2000);
  CHECK(cancelled == 36);
  for (const std::string& key : s.keys) {
    CHECK(error_of([&] { return client->get(key); }).code() == ErrorCode::cancelled);
    CHECK(client->async().get(key).wait().error().code() == ErrorCode::cancelled);
  }
  CHECK(client->stats().pending == 0);
  client->close();
  client.reset();
  kit::wait_until([&] { return blocked() == 0; }, 5s, "the connections to be closed");
}

TEST_CASE("io_threads: close() from callbacks of all threads and from outside at once") {
  const Scene s;
  for (int round = 0; round < 20; ++round) {
    Client client = s.client();
    std::atomic<int> ended{0};
    for (int i = 0; i < 30; ++i) {
      client.async().get(s.keys[static_cast<std::size_t>(i) % 3]).then([&](const auto&) {
        client.close();
        ++ended;
      });
    }
    client.close();
    CHECK(ended == 30);
  }
}

TEST_CASE("io_threads: destroyed in bounded time, also in a callback and with a dead node") {
  Scene s;
  s.cluster.pause(2);
  auto client = std::make_unique<Client>(s.client(60s));
  std::atomic<int> ended{0};
  for (int i = 0; i < 300; ++i) {
    client->async().incr(s.keys[2]).then([&](const auto&) { ++ended; });
  }
  const auto start = Clock::now();
  SECTION("from outside") {
    client.reset();
    CHECK(ended == 300);
  }
  SECTION("in a callback") {
    std::atomic<bool> done{false};
    client->async().get(s.keys[0]).then([&](const auto&) {
      client.reset();
      done = true;
    });
    kit::wait_until([&] { return done && ended == 300; }, 5s, "the end");
  }
  CHECK(ms_since(start) < 2000);
  s.cluster.resume(2);
  kit::wait_until([&] { return s.cluster.server(0).info("connected_clients") == "1"; }, 5s,
                  "its connections to be closed");  // the one that asks
}

TEST_CASE("io_threads: calls to the other primaries go on while one is dead") {
  Scene s;
  const Client client = s.client(1500ms);
  for (const std::string& key : s.keys)
    client.set(key, "x");
  s.cluster.kill(1);
  const auto start = Clock::now();
  std::vector<Task<std::optional<std::string>>> lost;
  std::chrono::milliseconds slowest{0};
  for (int i = 0; i < 200; ++i) {
    lost.push_back(client.async().get(s.keys[1]));
    for (const std::size_t k : {std::size_t{0}, std::size_t{2}}) {
      const auto before = Clock::now();
      CHECK(client.async().get(s.keys[k]).get() == "x");
      CHECK(client.get(s.keys[k]) == "x");
      slowest = std::max(slowest, std::chrono::milliseconds(ms_since(before)));
    }
  }
  CHECK(slowest < 500ms);
  for (auto& task : lost)
    CHECK_FALSE(task.wait().has_value());
  CHECK(ms_since(start) < 8000);
  s.cluster.restart(1);
  kit::wait_until([&] { return client.async().get(s.keys[1]).wait().has_value(); }, 10s,
                  "the node to be used again");
}

TEST_CASE("io_threads: reauthenticate() is for the connections of all threads") {
  const Scene s;
  for (std::size_t i = 0; i < 3; ++i) {
    s.cluster.server(i).command("ACL", "SETUSER", "old", "on", ">secret", "~*", "+@all");
    s.cluster.server(i).command("ACL", "SETUSER", "new", "on", ">other", "~*", "+@all");
  }
  std::mutex mutex;
  Credentials now{"old", "secret"};
  Config config = config_of(s.cluster, 3);
  config.direct_connections = 0;
  config.credentials_provider = [&] {
    const std::scoped_lock lock(mutex);
    return now;
  };
  const Client client = Client::connect(config);
  for (const std::string& key : s.keys)
    client.set(key, "x");
  const auto users = [&](const std::string& user) {
    int found = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string list(s.cluster.server(i).command("CLIENT", "LIST").text);
      for (std::size_t at = 0; (at = list.find("user=" + user, at)) != std::string::npos; ++at)
        ++found;
    }
    return found;
  };
  const int connections = users("old");
  CHECK(connections >= 3);
  {
    const std::scoped_lock lock(mutex);
    now = {"new", "other"};
  }
  REQUIRE(client.reauthenticate().has_value());
  CHECK(users("old") == 0);
  CHECK(users("new") == connections);
  {
    const std::scoped_lock lock(mutex);
    now = {"new", "wrong"};
  }
  const auto answer = client.reauthenticate();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code() == ErrorCode::auth_failed);
  for (const std::string& key : s.keys)
    CHECK(client.get(key) == "x");
}

TEST_CASE("io_threads: after fork() the child's copy refuses, the parent's goes on") {
  const Scene s;
  Client client = s.client();
  for (const std::string& key : s.keys)
    client.set(key, "x");
  const auto lost = client.stats().disconnects;
  const pid_t child = ::fork();
  if (child == 0) {
    int wrong = 0;
    for (const std::string& key : s.keys) {
      const auto async = client.async().get(key).wait();
      if (async || !refused(async.error())) wrong = 1;
      const auto sync = client.command_words(std::array<std::string_view, 2>{"GET", key});
      if (sync || !refused(sync.error())) wrong = 2;
    }
    if (!client.stats().nodes.empty() || client.refresh().has_value()) wrong = 3;
    { const Client gone = std::move(client); }
    ::_exit(wrong);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  for (const std::string& key : s.keys) {
    CHECK(client.get(key) == "x");
    CHECK(client.async().get(key).get() == "x");
  }
  CHECK(client.stats().disconnects == lost);
}
