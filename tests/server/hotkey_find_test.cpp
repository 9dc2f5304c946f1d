// hotkey::find() at real servers and at scripted ones; Client::hot_keys() under real traffic.
#include <slotwise/hotkey_find.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;
using hotkey::FindSource;

namespace {

/// GETs of one key and, for each, one of another key of a thousand, until the end of its life.
class Traffic {
 public:
  Traffic(const std::string& uri, std::string hot)
      : client_(Client::connect(uri)), hot_(std::move(hot)), thread_([this](std::stop_token stop) {
          for (int i = 0; !stop.stop_requested(); ++i) {
            auto pipeline = client_.pipeline();
            for (int n = 0; n < 32; ++n) {
              pipeline.get(hot_);
              if (n % 4 == 0) pipeline.get("cold:" + std::to_string((i * 8 + n / 4) % 1000));
            }
            static_cast<void>(pipeline.exec());
          }
        }) {}

 private:
  Client client_;
  std::string hot_;
  std::jthread thread_;
};

void fill(const Client& client, const std::string& hot) {
  client.set(hot, "value");
  for (int i = 0; i < 1000; ++i)
    client.set("cold:" + std::to_string(i), "value");
}

bool has_note(const hotkey::FindResult& result, std::string_view text) {
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

std::string all_notes(const hotkey::FindResult& result) {
  std::string all;
  for (const std::string& note : result.notes)
    all += note + "\n";
  return all;
}

/// A cluster with an LFU policy or another one; slots are counted if this server can do that.
void set_up(kit::Cluster& cluster, const std::string& policy) {
  for (const std::size_t node : cluster.members()) {
    cluster.server(node).command("CONFIG", "SET", "maxmemory-policy", policy);
    if (cluster.binaries().is_valkey(8))
      cluster.server(node).command("CONFIG", "SET", "cluster-slot-stats-enabled", "yes");
  }
}

/// For a node of a script: the keys of one slot, their counters and sizes.
void answer_questions(ScriptedNode& node, const std::string& policy) {
  node.always({"INFO"}, resp::bulk("# Memory\r\nmaxmemory_policy:" + policy + "\r\n"));
  node.always({"CONFIG", "GET"}, resp::bulks({"lfu-log-factor", "10"}));
  node.always({"COMMAND", "INFO"}, resp::array({resp::nil2()}));
  node.always({"MEMORY", "USAGE"}, resp::integer(56));
}

std::string subcommands(const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const std::string& name : names)
    list.push_back(resp::array({resp::bulk(name), resp::integer(-2)}));
  return resp::array({resp::array({resp::bulk("hotkeys"), resp::integer(-2), resp::array(list)})});
}

std::string slot_stats(int slot, int keys, int usec) {
  return resp::array({resp::array(
      {resp::integer(slot), resp::array({resp::bulk("key-count"), resp::integer(keys),
                                         resp::bulk("cpu-usec"), resp::integer(usec)})})});
}

}  // namespace

TEST_CASE("hotkey find: the hot key of a cluster, by the CPU time of its slot") {
  kit::Cluster cluster({.primaries = 3});
  if (!cluster.binaries().is_valkey(8)) SKIP("this server counts nothing a slot");
  const Client client = Client::connect(cluster.uri());
  const std::string hot("hot\0\xff key", 9);
  for (const std::string policy : {"noeviction", "allkeys-lfu"}) {
    CAPTURE(policy);
    set_up(cluster, policy);
    fill(client, hot);
    // It was busy once, and is not now: a cold key of another slot.
    for (int i = 0; i < 20'000; ++i)
      client.async().get("cold:1").detach();
    const Traffic traffic(cluster.uri(), hot);
    kit::wait_until([&] { return client.stats().pending == 0; }, 20s, "the old traffic's end");
    const auto result = hotkey::find(client, {.look = 500ms});
    INFO(all_notes(result));
    REQUIRE(!result.keys.empty());
    const hotkey::FoundKey& first = result.keys[0];
    CHECK(first.key == hot);
    CHECK(first.node == cluster.client_address(cluster.owner_of(slot(hot))).to_string());
    REQUIRE(first.share);
    CHECK(*first.share > 0.5);
    CHECK(*first.share <= 1);
    CHECK(first.size.value_or(0) > 10);
    CHECK(first.counter.has_value() == (policy == "allkeys-lfu"));
    CHECK(has_note(result, "CLUSTER SLOT-STATS"));
    // Half a second on a busy machine: some other slot may have had a slow moment.
    if (result.keys.size() > 1) CHECK(result.keys[1].share.value_or(0) < *first.share / 2);
    CHECK(result.keys.size() <= 20);
    CHECK(!has_note(result, "no statistics of slots"));
  }
}

TEST_CASE("hotkey find: keys that share a hot slot") {
  kit::Cluster cluster({.primaries = 3});
  if (!cluster.binaries().is_valkey(8)) SKIP("this server counts nothing a slot");
  const Client client = Client::connect(cluster.uri());
  set_up(cluster, "noeviction");
  client.set("{s}hot", "1");
  client.set("{s}other", "2");
  for (int i = 0; i < 1000; ++i)
    client.set("cold:" + std::to_string(i), "value");
  {
    const Traffic traffic(cluster.uri(), "{s}hot");
    // Both were used a moment ago: nobody knows which of them it is.
    auto result = hotkey::find(client, {.limit = 5, .look = 300ms});
    INFO(all_notes(result));
    REQUIRE(result.keys.size() >= 2);
    CHECK(result.keys[0].source == FindSource::slot_stats_idle);
    CHECK(!result.keys[0].share);
    CHECK(has_note(result, "2 of its 2 keys were used lately"));
    // The other one comes to rest.
    kit::wait_until(
        [&] { return client.command<std::int64_t>("OBJECT", "IDLETIME", "{s}other") >= 3; }, 20s,
        "the other key's rest", 100ms);
    result = hotkey::find(client, {.limit = 5, .look = 300ms});
    REQUIRE(!result.keys.empty());
    CHECK(result.keys[0].key == "{s}hot");
    CHECK(result.keys[0].source == FindSource::slot_stats_idle);
    CHECK(result.keys[0].share.value_or(0) > 0.5);
  }
  set_up(cluster, "allkeys-lfu");
  client.del({"{s}hot", "{s}other"});
  client.set("{s}hot", "1");
  client.set("{s}other", "2");
  const Traffic traffic(cluster.uri(), "{s}hot");
  const auto result = hotkey::find(client, {.limit = 5, .look = 500ms});
  REQUIRE(!result.keys.empty());
  CHECK(result.keys[0].key == "{s}hot");
  CHECK(result.keys[0].source == FindSource::slot_stats_freq);
  CHECK(result.keys[0].share.value_or(0) > 0.5);
  CHECK(has_note(result, "divided among its keys"));
}

TEST_CASE("hotkey find: without statistics of slots all keys are gone through, with LFU") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  const Client client = Client::connect(cluster.uri());
  for (const std::size_t node : cluster.members()) {
    cluster.server(node).command("CONFIG", "SET", "maxmemory-policy", "volatile-lfu");
    cluster.server(node).command("CONFIG", "SET", "lfu-decay-time", "0");
  }
  fill(client, "hot");
  for (int i = 0; i < 3000; ++i)
    client.async().get("hot").detach();
  kit::wait_until([&] { return client.stats().pending == 0; }, 20s, "the traffic's end");
  const auto result = hotkey::find(client, {.limit = 10});
  INFO(all_notes(result));
  REQUIRE(result.keys.size() == 10);
  CHECK(result.keys[0].key == "hot");
  CHECK(result.keys[0].source == FindSource::object_freq);
  CHECK(!result.keys[0].share);
  CHECK(result.keys[0].counter.value_or(0) > result.keys[1].counter.value_or(0));
  CHECK(result.keys[0].size.value_or(0) > 10);
  CHECK(has_note(result, "cluster-slot-stats-enabled yes"));
  CHECK(has_note(result, "it ranks keys, it does not count requests"));
  CHECK(has_note(result, "what replicas serve"));
}

TEST_CASE("hotkey find: a server that knows nothing says how that is mended") {
  kit::Server server;
  const Client client = Client::connect("valkey://" + server.address().to_string());
  client.set("key", "value");
  const auto result = hotkey::find(client);
  INFO(all_notes(result));
  CHECK(result.keys.empty());
  CHECK(has_note(result, "maxmemory-policy is noeviction"));
  CHECK(has_note(result, "CONFIG SET maxmemory-policy allkeys-lfu"));
  CHECK(!has_note(result, "cluster-slot-stats-enabled"));
}

TEST_CASE("hotkey find: a node that does not answer is named, the others are heard") {
  kit::ScriptedCluster cluster(3);
  for (std::size_t i = 0; i < 3; ++i) {
    answer_questions(cluster[i], "allkeys-lfu");
    cluster[i].always({"CLUSTER", "SLOT-STATS"}, resp::error("ERR Unrecognized sort metric"));
    cluster[i].always({"SCAN"},
                      resp::array({resp::bulk("0"), resp::bulks({"k" + std::to_string(i)})}));
    cluster[i].always({"OBJECT", "FREQ"}, resp::integer(10 + static_cast<int>(i)));
  }
  cluster[1].always({"INFO"}, ScriptedReply::silent());
  const Client client = Client::connect(cluster.uri());
  const auto start = Clock::now();
  const auto result = hotkey::find(client, {.timeout = 500ms});
  CHECK(ms_since(start) < 4000);
  INFO(all_notes(result));
  REQUIRE(result.keys.size() == 2);
  CHECK(result.keys[0].key == "k2");
  CHECK(result.keys[0].counter == 12U);
  CHECK(result.keys[1].key == "k0");
  CHECK(has_note(result, cluster[1].endpoint() + ": no answer"));
}

TEST_CASE("hotkey find: HOTKEYS of Redis is started, read, ended and cleared") {
  kit::ScriptedCluster cluster(2);
  for (std::size_t i = 0; i < 2; ++i) {
    answer_questions(cluster[i], "noeviction");
    cluster[i].always({"COMMAND", "INFO", "HOTKEYS"},
                      subcommands({"hotkeys|start", "hotkeys|get", "hotkeys|stop"}));
    cluster[i].always({"HOTKEYS", "START"}, resp::simple("OK"));
    cluster[i].always({"HOTKEYS", "STOP"}, resp::simple("OK"));
    cluster[i].always({"HOTKEYS", "RESET"}, resp::simple("OK"));
    cluster[i].always({"HOTKEYS", "GET"},
                      resp::array({resp::bulk("tracking-active"), resp::integer(0),
                                   resp::bulk("all-commands-all-slots-us"), resp::integer(500),
                                   resp::bulk("by-cpu-time-us"),
                                   resp::array({resp::bulk(i == 0 ? "a" : "b"),
                                                resp::integer(i == 0 ? 100 : 400)})}));
  }
  const Client client = Client::connect(cluster.uri());
  const auto result = hotkey::find(client, {.look = 100ms});
  INFO(all_notes(result));
  REQUIRE(result.keys.size() == 2);
  CHECK(result.keys[0].key == "b");
  CHECK(result.keys[0].share == 0.4);
  CHECK(result.keys[0].source == FindSource::hotkeys);
  CHECK(result.keys[0].size == 56U);
  CHECK(result.keys[1].share == 0.1);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::string> order;
    for (const auto& command : cluster[i].commands({"HOTKEYS"}))
      order.push_back(command.words[1]);
    CHECK(order == std::vector<std::string>{"START", "STOP", "GET", "RESET"});
  }
}

TEST_CASE("hotkey find: a session of somebody else is left alone, and other sources are used") {
  kit::ScriptedCluster cluster(1);
  ScriptedNode& node = cluster[0];
  answer_questions(node, "noeviction");
  node.always({"COMMAND", "INFO", "HOTKEYS"}, subcommands({"hotkeys|start", "hotkeys|get"}));
  node.always({"HOTKEYS", "START"}, resp::error("ERR hotkey tracking session in progress"));
  node.on({"CLUSTER", "SLOT-STATS"}, {slot_stats(5, 1, 1000), slot_stats(5, 1, 4000)});
  node.always({"CLUSTER", "GETKEYSINSLOT"}, resp::bulks({"k"}));
  const Client client = Client::connect(cluster.uri());
  const auto result = hotkey::find(client, {.look = 50ms});
  INFO(all_notes(result));
  REQUIRE(result.keys.size() == 1);
  CHECK(result.keys[0].key == "k");
  CHECK(result.keys[0].source == FindSource::slot_stats);
  CHECK(result.keys[0].share == 1.0);
  CHECK(has_note(result, "session in progress"));
  CHECK(node.count("HOTKEYS", "STOP") + node.count("HOTKEYS", "RESET") == 0);
}

TEST_CASE("hotkey find: HOTKEYS of Valkey is read as it is, or its switch is named") {
  kit::ScriptedCluster cluster(2);
  for (std::size_t i = 0; i < 2; ++i) {
    answer_questions(cluster[i], "noeviction");
    cluster[i].always({"COMMAND", "INFO", "HOTKEYS"},
                      subcommands({"hotkeys|reset", "hotkeys|get"}));
    cluster[i].always({"CLUSTER", "SLOT-STATS"}, resp::error("ERR Unrecognized sort metric"));
  }
  cluster[0].always({"HOTKEYS", "GET"},
                    resp::array({resp::map({{resp::bulk("key"), resp::bulk("k")},
                                            {resp::bulk("db"), resp::integer(0)},
                                            {resp::bulk("qps"), resp::integer(5000)}})}));
  cluster[1].always({"HOTKEYS", "GET"}, resp::error("ERR Hotkey detection is disabled"));
  const Client client = Client::connect(cluster.uri());
  const auto result = hotkey::find(client, {.look = 50ms});
  INFO(all_notes(result));
  REQUIRE(result.keys.size() == 1);
  CHECK(result.keys[0].key == "k");
  CHECK(result.keys[0].counter == 5000U);
  CHECK(result.keys[0].node == cluster[0].endpoint());
  CHECK(has_note(result, cluster[1].endpoint()));
  CHECK(has_note(result, "CONFIG SET hotkey-top-k 16"));
  CHECK(has_note(result, "uses a second"));
}

// --- Client::hot_keys() ------------------------------------------------------------------------

TEST_CASE("hot_keys: a client knows what it uses most, in every kind of call") {
  const kit::Cluster cluster({.primaries = 3});
  Config config = Config::parse(cluster.uri());
  CHECK(Client::connect(config).hot_keys().empty());
  config.hot_key_sampling = 32;
  const Client client = Client::connect(config);
  CHECK(client.hot_keys().empty());
  // Zipf's law, in order of rank: key 0 is used 1,000,000 / 14.4 times.
  constexpr int keys = 100'000;
  std::vector<double> up_to;
  double sum = 0;
  for (int i = 0; i < keys; ++i)
    up_to.push_back(sum += 1.0 / (i + 1));
  std::mt19937_64 random(5);
  const auto draw = [&] {
    const double at = static_cast<double>(random() >> 11) * 0x1.0p-53 * sum;
    return std::upper_bound(up_to.begin(), up_to.end() - 1, at) - up_to.begin();
  };
  const auto start = Clock::now();
  constexpr int calls = 300'000;
  for (int done = 0; done < calls;) {
    auto pipeline = client.pipeline();
    for (int i = 0; i < 200; ++i)
      pipeline.get("key:" + std::to_string(draw()));
    static_cast<void>(pipeline.exec());
    std::vector<Task<std::optional<std::string>>> tasks;
    for (int i = 0; i < 195; ++i)
      tasks.push_back(client.async().get("key:" + std::to_string(draw())));
    for (auto& task : tasks)
      static_cast<void>(task.wait());
    for (int i = 0; i < 5; ++i)
      client.set("key:" + std::to_string(draw()), "v");
    done += 400;
  }
  const double seconds = static_cast<double>(ms_since(start)) / 1000;
  const auto hot = client.hot_keys();
  REQUIRE(!hot.empty());
  std::vector<bool> found(keys);
  for (const HotKey& key : hot) {
    CAPTURE(key.key, key.share, key.per_second);
    const int rank = std::stoi(key.key.substr(4));
    const double share = 1.0 / (rank + 1) / sum;
    found[static_cast<std::size_t>(rank)] = true;
    CHECK(share >= 0.002);
    // Six standard deviations of the calls that were looked at, of those of a window at least.
    const double looked_at = share * calls / config.hot_key_sampling * std::min(1.0, 5 / seconds);
    const double most_off = share * 6 / std::sqrt(looked_at);
    CHECK(std::abs(key.share - share) < most_off);
    CHECK(key.node == cluster.client_address(cluster.owner_of(slot(key.key))).to_string());
    // What was lately is all there was, if that took less than a window.
    if (seconds < 5) CHECK(std::abs(key.per_second * seconds - share * calls) < most_off * calls);
  }
  for (std::size_t rank = 0; 1.0 / (static_cast<double>(rank) + 1) / sum > 0.01; ++rank)
    CHECK(found[rank]);
  CHECK(client.hot_keys(2).empty());
}
