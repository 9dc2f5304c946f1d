// Hot keys: many writers at once, while connections are killed and primaries die.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/hotkey.hpp>

#include "server/hotkey_killer.hpp"
#include "server/hotkey_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;

namespace {

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

void raise(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  std::uint64_t before = most;
  while (before < value && !most.compare_exchange_weak(before, value)) {
  }
}

/// What one client has seen, and what was written by all.
struct Record {
  std::atomic<std::uint64_t> seen[4] = {};
  std::atomic<long> backwards{0};
  std::atomic<long> misses{0};
  std::atomic<long> read_errors{0};
  std::atomic<long> reads{0};
  std::atomic<long> writes{0};
  std::atomic<long> write_errors{0};
  std::mutex mutex;
  std::map<std::uint64_t, std::string> written;  // by version, those that were acknowledged
  std::set<std::string> tried;                   // without an answer
  std::string first_error;
};

void write_until(std::atomic<bool>& stop, const SplitKey& key, int client, int writer,
                 Record& record) {
  for (int n = 0; !stop; ++n) {
    const std::string value = std::to_string(writer) + ":" + std::to_string(n);
    try {
      const WriteResult result = key.set(value);
      raise(record.seen[client], result.version);
      ++record.writes;
      const std::lock_guard lock(record.mutex);
      record.written.emplace(result.version, value);
      if (record.written.size() > 1000) record.written.erase(record.written.begin());
    } catch (const Error& e) {
      ++record.write_errors;
      const std::lock_guard lock(record.mutex);
      if (!e.did_not_run()) record.tried.insert(value);
    }
  }
}

void read_until(std::atomic<bool>& stop, const SplitKey& key, int client, Record& record) {
  while (!stop) {
    const std::uint64_t floor = record.seen[client];
    try {
      const VersionedValue got = key.get_with_version();
      if (got.version < floor) ++record.backwards;
      if (!got.value) ++record.misses;
      raise(record.seen[client], got.version);
      ++record.reads;
    } catch (const Error& e) {
      ++record.read_errors;
      const std::lock_guard lock(record.mutex);
      record.first_error = e.what();
    }
  }
}

}  // namespace

TEST_CASE("hotkey: a primary dies under writers, and its replica takes over") {
  kit::ClusterOptions options{.replicas = 1};
  options.config.emplace_back("cluster-require-full-coverage", "no");
  Scene scene({}, options);
  const std::size_t home = scene.cluster.owner_of_key(scene.name);
  std::size_t dead = home;
  SECTION("that of the original") {}
  SECTION("that of a copy") {
    dead = home == 0 ? 1 : 0;
  }
  scene.key.set("first");
  Record record;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { write_until(stop, scene.key, 0, i, record); });
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { read_until(stop, scene.key, 0, record); });
  kit::wait_until([&] { return record.writes > 200; }, 10s, "writes before");
  const int lost_slot = scene.cluster.node(dead).slots.front().first;
  scene.cluster.kill(dead);
  scene.cluster.wait_for_new_owner(lost_slot, dead, 20s);
  const long before = record.writes;
  kit::wait_until([&] { return record.writes > before + 200; }, 20s, "writes after it");
  stop = true;
  for (auto& thread : threads)
    thread.join();
  INFO(record.writes << " writes, " << record.write_errors << " without success, " << record.reads
                     << " reads");
  INFO(record.first_error);
  const Held end = scene.everywhere();
  CHECK(end.version >= record.written.rbegin()->first);
  CHECK(record.backwards == 0);
  CHECK(record.misses == 0);
  CHECK(record.read_errors == 0);
}

TEST_CASE("hotkey: 16 writers on 4 clients, connections killed: all copies end equal") {
  // SLOTWISE_HOTKEY_ROUNDS=100 SLOTWISE_HOTKEY_SECONDS=10 for the long run.
  const int rounds = setting("SLOTWISE_HOTKEY_ROUNDS", 1);
  const int seconds = setting("SLOTWISE_HOTKEY_SECONDS", 3);
  kit::Cluster cluster;
  Config config = Config::parse(cluster.uri());
  config.client_name = "writer";
  const Client looker = Client::connect(cluster.uri());
  for (int round = 0; round < rounds; ++round) {
    const std::string name = "hot:" + std::to_string(round);
    looker.set(name, "first");
    split_now(looker, name);
    Record record;
    std::vector<Client> clients;
    std::vector<Splitter> splitters;
    std::vector<SplitKey> keys;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(Client::connect(config));
      splitters.emplace_back(clients.back(), SplitterOptions{.keep = false});
      keys.push_back(splitters.back().open(name));
    }
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&, i] { write_until(stop, keys[i / 4], i / 4, i, record); });
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] { read_until(stop, keys[i], i, record); });
    Killer killer(cluster, "writer");
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    killer.end();
    stop = true;
    for (auto& thread : threads)
      thread.join();

    const Held end = held_everywhere(looker, name);
    INFO("round " << round << ": " << record.writes << " writes, " << record.write_errors
                  << " without success, " << record.reads << " reads, " << killer.killed()
                  << " connections killed");
    INFO(record.first_error);
    REQUIRE_FALSE(record.written.empty());
    const auto& [version, value] = *record.written.rbegin();
    CHECK(end.version >= version);
    REQUIRE(end.value);
    if (end.version == version) {
      CHECK(*end.value == value);
    } else {
      CHECK(record.tried.contains(*end.value));
    }
    CHECK(record.backwards == 0);
    CHECK(record.misses == 0);
    CHECK(record.read_errors == 0);
    CHECK(record.writes > 100);
    CHECK(killer.killed() > 10);
    if (rounds > 1)
      WARN("round " << round << ": " << record.writes << " writes, " << record.reads << " reads");
  }
}
