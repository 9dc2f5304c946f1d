// Hot keys: the transparent client, and split keys that others join.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/hotkey.hpp>

#include "server/hotkey_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;

TEST_CASE("hotkey: a key that another client has joined is a plain key") {
  const Scene scene;
  const SplitKey& key = scene.key;
  key.set("split");
  const Splitter other(scene.client);
  other.join(scene.name);
  CHECK(key.get() == "split");
  const WriteResult plain = key.set("plain");
  CHECK(plain.acknowledged);
  CHECK(plain.copies.empty());
  CHECK(scene.client.get(scene.name) == "plain");
  CHECK(key.get() == "plain");
  CHECK(key.expire(100s).existed);
  CHECK(scene.client.command<long>("PTTL", scene.name) > 0);
  CHECK(key.persist().existed);
  CHECK(key.persist().existed);
  CHECK(key.del().existed);
  CHECK_FALSE(key.del().existed);
  CHECK_FALSE(scene.client.get(scene.name));
  // As if the mark of the join were over.
  scene.client.del({manifest_name(scene.name)});
  key.set("plain again");
  CHECK(scene.client.get(scene.name) == "plain again");
  CHECK(key.get() == "plain again");
}

TEST_CASE("hotkey: the transparent client serves split keys and passes all others through") {
  const kit::Cluster cluster;
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client, {.keep = false});
  const TransparentClient all(splitter);
  const std::string hot = "hot";

  all.set("cold", "v");
  CHECK(all.get("cold") == "v");
  CHECK(client.get("cold") == "v");
  CHECK(all.incr("n", 5) == 5);
  CHECK(all.expire("cold", 100s));
  CHECK(all.del("cold"));
  CHECK_FALSE(all.del("cold"));
  CHECK(all.get("cold") == std::nullopt);
  all.set(hot, "from before");

  const Client other = Client::connect(cluster.uri());
  const Splitter others(other, {.keep = false});
  const SplitKey key = others.split(hot);
  CHECK(key.get() == "from before");
  all.set(hot, "split");
  CHECK(held_everywhere(client, hot).value == "split");
  CHECK(all.get(hot) == "split");
  all.set(hot, "split", 100s);
  CHECK(held_everywhere(client, hot).expires > 0);
  CHECK(all.expire(hot, 50s));
  CHECK(held_everywhere(client, hot).value == "split");
  CHECK(error_of([&] { return all.incr(hot); }).code() == ErrorCode::not_split);
  CHECK(all.del(hot));
  CHECK_FALSE(held_everywhere(client, hot).value);
  CHECK(all.get(hot) == std::nullopt);

  const SplitCounter counter = others.split_counter("n");
  CHECK(all.incr("n", 2) == 7);
  CHECK(all.get("n") == "7");
  CHECK(counter.read() == 7);
  CHECK(error_of([&] { all.set("n", "1"); }).code() == ErrorCode::not_split);

  others.join(hot);
  all.set(hot, "joined");
  CHECK(client.get(hot) == "joined");
  CHECK(all.get(hot) == "joined");
}

TEST_CASE("hotkey: a key that is joined and split again by another client") {
  const Scene scene;
  scene.key.set("split");
  const Splitter other(scene.client);
  other.join(scene.name);
  scene.key.set("plain");
  CHECK(scene.key.get() == "plain");
  other.split(scene.name);
  const WriteResult result = scene.key.set("split again");
  CHECK(result.copies.size() == 3);
  CHECK(result.acknowledged);
  CHECK(held_everywhere(scene.client, scene.name).value == "split again");
  CHECK(scene.key.get() == "split again");
}

TEST_CASE("hotkey: transparent clients go on while a key is split and joined by another") {
  const kit::Cluster cluster;
  const std::string hot = "hot";
  std::vector<Client> clients;
  std::vector<Splitter> splitters;
  std::vector<TransparentClient> faces;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Client::connect(cluster.uri()));
    splitters.emplace_back(clients.back(), SplitterOptions{.keep = false});
    faces.emplace_back(splitters.back());
  }
  faces[0].set(hot, "0");
  std::atomic<bool> stop{false};
  std::atomic<int> back{0};
  std::atomic<int> misses{0};
  std::atomic<int> errors{0};
  std::atomic<int> reads{0};
  std::atomic<int> written{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int n = 1; !stop; ++n) {
      try {
        faces[0].set(hot, std::to_string(n));
        written = n;
      } catch (const Error& e) {
        WARN(e.what());
        ++errors;
      }
    }
  });
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      int newest = 0;
      while (!stop) {
        try {
          const int before = written;
          const auto got = faces[static_cast<std::size_t>(1 + i % 2)].get(hot);
          const int n = got ? std::stoi(*got) : -1;
          if (n < 0) ++misses;
          // All that was acknowledged had reached all copies before this read began.
          if (n >= 0 && (n < newest || n < before)) ++back;
          newest = n;
          ++reads;
        } catch (const Error& e) {
          WARN(e.what());
          ++errors;
        }
      }
    });
  }
  const Client other = Client::connect(cluster.uri());
  const Splitter others(other);
  others.split(hot);
  const int split_at = reads;
  kit::wait_until([&] { return reads > split_at + 1000; }, 20s, "reads of the copies");
  others.join(hot);
  const int joined_at = reads;
  kit::wait_until([&] { return reads > joined_at + 1000; }, 20s, "reads of the plain key");
  stop = true;
  for (auto& thread : threads)
    thread.join();
  CHECK(other.get(hot) == std::to_string(written));
  CHECK(back == 0);
  CHECK(misses == 0);
  CHECK(errors == 0);
}
