// Config::io_threads: several loop threads in one client. A slot stays with its thread, whatever
// moves; what needs all of them works as with one. How such a client ends: io_threads_end_test.cpp.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "server/io_threads_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// How many threads of this process are loop threads of clients.
int loop_threads() {
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    found += name.starts_with("slotwise-io") ? 1 : 0;
  }
  return found;
}

/// The thread on which the calls that `start` makes end.
template <class Start>
std::thread::id thread_of(const Start& start) {
  std::thread::id thread;
  do {
    std::atomic<bool> ended{false};
    start().then([&](const auto&) {
      thread = std::this_thread::get_id();
      ended = true;
    });
    kit::wait_until([&] { return ended.load(); }, 10s, "a reply", 0ms);
  } while (thread == std::this_thread::get_id());  // it had ended before then() was called
  return thread;
}

std::map<std::string, std::thread::id> threads_of(const Client& client,
                                                  const std::vector<std::string>& keys) {
  std::map<std::string, std::thread::id> found;
  for (const std::string& key : keys)
    found[key] = thread_of([&] { return client.async().get(key); });
  return found;
}

/// Hears events, and whether two of them came at once.
struct Ear : EventSink {
  void on_event(const Event& event) override {
    if (inside.exchange(true)) ++collisions;
    std::this_thread::sleep_for(1ms);  // long enough to be met by another one
    {
      const std::scoped_lock lock(mutex);
      ++count[event.kind];
    }
    inside = false;
  }
  int heard(Event::Kind kind) {
    const std::scoped_lock lock(mutex);
    return count[kind];
  }
  std::atomic<bool> inside{false};
  std::atomic<int> collisions{0};
  std::mutex mutex;
  std::map<Event::Kind, int> count;
};

}  // namespace

TEST_CASE("io_threads: as many loops as asked for, but not more than primaries") {
  kit::Cluster cluster({.primaries = 3});
  const auto threads = [&](int wanted) {
    const Client client = Client::connect(config_of(cluster, wanted));
    CHECK(client.get("k") == std::nullopt);
    return loop_threads();
  };
  CHECK(threads(1) == 1);
  CHECK(threads(2) == 2);
  CHECK(threads(3) == 3);
  CHECK(threads(64) == 3);
  CHECK(loop_threads() == 0);
  kit::Server server;
  const Client single =
      Client::connect("valkey://" + server.address().to_string() + "?io_threads=4");
  single.set("k", "v");
  CHECK(single.async().get("k").get() == "v");
  CHECK(loop_threads() == 1);
}

TEST_CASE("io_threads: a slot's calls end on the same thread before and after it has moved") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(config_of(cluster, 3));
  const auto keys = keys_of_all(cluster, 20);
  const auto before = threads_of(client, keys);
  std::map<std::size_t, std::set<std::thread::id>> of_node;
  std::set<std::thread::id> all;
  for (const auto& [key, thread] : before) {
    of_node[cluster.owner_of_key(key)].insert(thread);
    all.insert(thread);
  }
  CHECK(all.size() == 3);
  for (const auto& [node, threads] : of_node)
    CHECK(threads.size() == 1);

  cluster.migrate(0, 2999, 1);
  cluster.migrate(8000, 9999, 2);
  CHECK(threads_of(client, keys) == before);
  CHECK(client.refresh().has_value());
  const auto moved = client.stats().moved;
  CHECK(threads_of(client, keys) == before);
  CHECK(client.stats().moved == moved);  // each thread has the new map
}

TEST_CASE("io_threads: every key's asynchronous calls keep their order") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(config_of(cluster, 3));
  const auto keys = keys_of_all(cluster, 4);
  // From several threads, each with keys of all nodes, and in between as one waits for its call.
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        for (std::size_t k = t; k < keys.size(); k += 3) {
          client.async().rpush(keys[k], {std::to_string(i)}).then([&](const auto& r) {
            if (!r) ++bad;
          });
          // It must not overtake what was given before it.
          if (i % 50 == 0 && client.llen(keys[k]) != i + 1) ++bad;
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (const std::string& key : keys)
    CHECK(client.async().lrange(key, 0, -1).get() == numbers(500));
  CHECK(bad == 0);
}

TEST_CASE("io_threads: calls go through a migration, each exactly once") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(config_of(cluster, 3));
  const auto keys = keys_of_all(cluster, 4);
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::map<std::string, int> calls;
  std::thread caller([&] {
    // One after the other for each key, all keys at once.
    while (!stop) {
      std::vector<Task<std::int64_t>> round;
      for (const std::string& key : keys)
        round.push_back(client.async().rpush(key, {std::to_string(calls[key])}));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (round[i].wait().value_or(-1) != ++calls[keys[i]]) ++bad;
      }
    }
  });
  for (const std::string& key : keys) {
    const int slot = cluster.slot_of(key);
    const std::size_t to = (cluster.owner_of(slot) + 1) % 3;
    if (slot % 2 == 0) {
      cluster.migrate(slot, slot, to);
    } else {
      cluster.migrate_legacy(slot, slot, to);
    }
  }
  stop = true;
  caller.join();
  CHECK(bad == 0);
  for (const std::string& key : keys)
    CHECK(client.lrange(key, 0, -1) == numbers(calls[key]));
}

TEST_CASE("io_threads: commands over several nodes") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(config_of(cluster, 3));
  const auto keys = keys_of_all(cluster, 10);
  for (const std::string& key : keys)
    client.set(key, key);
  const std::vector<std::optional<std::string>> values(keys.begin(), keys.end());
  kit::wait_until([&] { return client.command<std::int64_t>("DBSIZE") == 30; }, 5s, "thirty keys");
  std::vector<std::string_view> views(keys.begin(), keys.end());
  CHECK(client.mget(views) == values);
  CHECK(client.async().mget(views).get() == values);
  CHECK(client.command<std::string>("SCRIPT", "LOAD", "return 1").size() == 40);
  for (const std::string& key : keys)
    CHECK(client.command<std::int64_t>("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", 1,
                                       key) == 1);
  const auto node = client.topology().nodes.at(1).endpoint;
  CHECK(client.with({.node = node}).command<std::string>("PING") == "PONG");
  CHECK(client.del(views) == 30);
  CHECK(client.command<std::int64_t>("DBSIZE") == 0);
}

TEST_CASE("io_threads: a command that the table does not know goes on at its key's thread") {
  auto map = std::make_shared<kit::ScriptedMap>();
  std::vector<std::unique_ptr<ScriptedNode>> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.push_back(std::make_unique<ScriptedNode>(kit::ScriptedNodeOptions{.map = map}));
  map->share_among({nodes[0].get(), nodes[1].get(), nodes[2].get()});
  const std::string info = resp::array({resp::bulk("mod.get"), resp::integer(-2),
                                        resp::array({resp::simple("readonly")}), resp::integer(1),
                                        resp::integer(1), resp::integer(1), resp::array({}),
                                        resp::array({}), resp::array({}), resp::array({})});
  for (const auto& node : nodes) {
    node->always({"COMMAND", "INFO"}, resp::array({info}));
    node->handle({"COMMAND", "GETKEYS"},
                 [](int, const kit::Command& c) -> std::optional<ScriptedReply> {
                   return resp::bulks({c[3]});
                 });
    node->always({"MOD.GET"}, resp::bulk("x"));
    node->always({"GET"}, resp::bulk("x"));
  }
  Config config;
  config.mode = Mode::cluster;
  config.endpoints = {{nodes[0]->host(), nodes[0]->port()}};
  config.io_threads = 3;
  const Client client = Client::connect(config);
  for (const std::string key : {"a", "foo", "b", "k", "l"}) {
    const auto get = [&] { return client.async().get(key); };
    const auto mod_get = [&] { return client.async().command<std::string>("MOD.GET", key); };
    CHECK(thread_of(get) == thread_of(mod_get));
  }
  // Callers that wait move too.
  std::vector<std::thread> callers;
  std::atomic<int> bad{0};
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string key = std::to_string(t * 100 + i);
        if (client.command<std::string>("MOD.GET", key) != "x") ++bad;
      }
    });
  }
  for (auto& caller : callers)
    caller.join();
  CHECK(bad == 0);
}

TEST_CASE("io_threads: counters are sums, events come one at a time and changes once") {
  kit::Cluster cluster({.primaries = 3});
  Config config = config_of(cluster, 3);
  const auto ear = std::make_shared<Ear>();
  config.events = ear;
  const Client client = Client::connect(config);
  const auto keys = keys_of_all(cluster, 20);
  std::vector<Task<std::optional<std::string>>> tasks;
  for (int i = 0; i < 10; ++i) {
    for (const std::string& key : keys)
      tasks.push_back(client.async().get(key));
  }
  for (auto& task : tasks)
    CHECK(task.wait().has_value());
  for (const std::string& key : keys)
    CHECK(client.get(key) == std::nullopt);
  const Stats stats = client.stats();
  CHECK(stats.commands == 11 * keys.size());
  CHECK(stats.succeeded == stats.commands + 2 * stats.refreshes);  // CLUSTER SLOTS and NODES
  CHECK(stats.failed == 0);
  CHECK(stats.pending == 0);
  REQUIRE(stats.nodes.size() == 3);
  std::uint64_t replies = 0;
  std::uint64_t connections = 0;
  for (const Stats::Node& node : stats.nodes) {
    CHECK(node.replies >= 11 * keys.size() / 3);
    replies += node.replies;
    connections += node.connections;
  }
  CHECK(replies == stats.succeeded);
  CHECK(connections == stats.connects - stats.disconnects);
  CHECK(stats.refreshes >= 3);
  CHECK(ear->heard(Event::Kind::topology_changed) == 1);
  CHECK(ear->heard(Event::Kind::connected) == static_cast<int>(stats.connects));

  cluster.migrate(0, 100, 1);
  CHECK(client.refresh().has_value());
  kit::wait_until([&] { return ear->heard(Event::Kind::primary_changed) > 0; }, 5s, "the news");
  CHECK(ear->heard(Event::Kind::primary_changed) == 1);
  CHECK(ear->heard(Event::Kind::topology_changed) == 2);
  CHECK(ear->collisions == 0);
}

TEST_CASE("io_threads: what one thread learns of the topology the client tells of") {
  kit::Cluster cluster({.primaries = 3});
  Config config = config_of(cluster, 3);
  const auto ear = std::make_shared<Ear>();
  config.events = ear;
  const Client client = Client::connect(config);
  const int moving = slot("foo");  // of the last primary, and so of the last thread
  cluster.migrate(moving, moving, 0);
  CHECK(client.get("foo") == std::nullopt);
  CHECK(client.stats().moved == 1);
  const auto owner = [&] {
    for (const auto& node : client.topology().nodes) {
      for (const auto& range : node.slots) {
        if (range.first <= moving && moving <= range.last) return cluster.index_of(node.endpoint);
      }
    }
    return std::optional<std::size_t>();
  };
  kit::wait_until([&] { return owner() == 0U; }, 5s, "topology() to name the new owner");
  kit::wait_until([&] { return ear->heard(Event::Kind::primary_changed) == 1; }, 5s, "the event");
}

TEST_CASE("io_threads: seeds of two clusters give one of them, or an error") {
  kit::Cluster one({.primaries = 2});
  kit::Cluster two({.primaries = 2});
  const std::string uri = one.uri({0}) + "," + two.client_address(0).to_string();
  for (int i = 0; i < 10; ++i) {
    try {
      const Client client = Client::connect(uri + "?io_threads=2");
      const std::size_t first = one.index_of(client.topology().nodes.at(0).endpoint) ? 1 : 2;
      for (const std::string& key : keys_of_all(one, 5))
        client.set(key, std::to_string(first));
      for (const auto& node : client.stats().nodes) {
        const bool in_one = one.index_of(node.endpoint).has_value();
        if (in_one != (first == 1)) CHECK(node.replies < 5);  // only asked for its view
      }
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::invalid_argument);
      CHECK(std::string(e.what()).find("different clusters") != std::string::npos);
    }
  }
}
