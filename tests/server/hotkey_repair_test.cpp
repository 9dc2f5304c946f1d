// Hot keys: copies that were harmed, missed a write or cannot be reached do not stay different.
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <slotwise/hotkey.hpp>

#include "server/hotkey_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using State = CopyWrite::State;

TEST_CASE("hotkey: a copy that was harmed by hand is read over, and repaired") {
  const Scene scene;
  const SplitKey& key = scene.key;
  const WriteResult written = key.set("value");
  const std::uint16_t slot = slots_of(scene.client, scene.name)[1];
  const std::string copy = copy_name(scene.name, slot);
  const std::string mark = mark_name(scene.name, slot);
  SECTION("deleted") {
    scene.client.del({copy});
  }
  SECTION("overwritten") {
    scene.client.set(copy, "rubbish");
  }
  SECTION("of another type") {
    scene.client.del({copy});
    scene.client.command("RPUSH", copy, "a", "b");
  }
  SECTION("with its mark deleted") {
    scene.client.command("DEL", copy, mark);
  }
  SECTION("older") {
    scene.client.set(copy, "17:older");
    scene.client.set(mark, "17:0:1");
  }
  SECTION("deleted long ago, by what it knows") {
    scene.client.del({copy});
    scene.client.set(mark, "17:-1:1");
  }
  CHECK_FALSE(equal(scene.all()));
  // Reads find it, so they are what has it repaired.
  kit::wait_until(
      [&] {
        for (int i = 0; i < 20; ++i) {
          if (key.get() != "value") FAIL("a read gave something else");
        }
        return equal(scene.all());
      },
      10s, "the repair");
  CHECK(scene.everywhere() == Held{"value", written.version, 0});
}

TEST_CASE("hotkey: the original and all copies but one are lost, and nothing is missed") {
  const Scene scene;
  const WriteResult written = scene.key.set("value");
  const auto slots = slots_of(scene.client, scene.name);
  scene.client.del({scene.name});
  scene.client.command("DEL", copy_name(scene.name, slots[0]));
  scene.client.command("DEL", copy_name(scene.name, slots[2]));
  for (int i = 0; i < 20; ++i)
    CHECK(scene.key.get() == "value");
  CHECK(scene.everywhere() == Held{"value", written.version, 0});
}

TEST_CASE("hotkey: a value that nobody has any more is missing at last") {
  const Scene scene;
  scene.key.set("value");
  scene.client.del({scene.name});
  for (const std::uint16_t slot : slots_of(scene.client, scene.name))
    scene.client.command("DEL", copy_name(scene.name, slot));
  CHECK(scene.key.get() == std::nullopt);
  const Held none = scene.everywhere();
  CHECK_FALSE(none.value);
  CHECK(none.expires == -1);
  CHECK(scene.key.set("again").acknowledged);
  CHECK(scene.key.get() == "again");
}

TEST_CASE("hotkey: a home slot that has forgotten writes gets them back") {
  const Scene scene;
  const SplitKey& key = scene.key;
  const WriteResult first = key.set("first");
  const WriteResult second = key.set("second");
  // As a replica that missed the second write.
  scene.client.set(scene.name, "first");
  scene.client.command("HSET", manifest_name(scene.name), "version", std::to_string(first.version));
  for (int i = 0; i < 50; ++i)
    CHECK(key.get() == "second");
  SECTION("by the refresh of any client") {
    CHECK(scene.everywhere() == Held{"second", second.version, 0});
  }
  SECTION("unless a later write comes first") {
    const WriteResult third = key.set("third");
    CHECK(third.version > second.version);
    CHECK(scene.everywhere() == Held{"third", third.version, 0});
  }
}

TEST_CASE("hotkey: a write is made again if copies have a later version that home has forgotten") {
  const Scene scene;
  const SplitKey& key = scene.key;
  const WriteResult first = key.set("first");
  // The clock of the home server was an hour ahead before a failover.
  const std::uint64_t ahead = first.version + 3'600'000'000ULL;
  const Store store(scene.client);
  for (const std::uint16_t slot : slots_of(scene.client, scene.name))
    store.put(scene.name, slot, ahead, 0, "from before the failover").wait().value();
  std::uint64_t version = 0;
  std::optional<std::string> expected;
  SECTION("set") {
    version = key.set("after it").version;
    expected = "after it";
  }
  SECTION("del") {
    version = key.del().version;
    CHECK(key.get() == std::nullopt);
  }
  SECTION("expire") {
    version = key.expire(100s).version;
    expected = "from before the failover";
  }
  SECTION("set with a level that does not wait") {
    const Splitter hasty(scene.client, {.acknowledge = Acknowledge::home, .keep = false});
    hasty.open(scene.name).set("after it");
    expected = "after it";
  }
  kit::wait_until([&] { return scene.all()[0].value == expected; }, 5s, "the write at home");
  const Held now = scene.everywhere();
  CHECK(now.version > ahead);
  if (version != 0) CHECK(now.version == version);
  CHECK(now.value == expected);
}

TEST_CASE("hotkey: a forgotten version that another client gives back does not hide a write") {
  Scene scene({.copy_timeout = 1s});
  const WriteResult first = scene.key.set("first");
  const std::uint64_t ahead = first.version + 3'600'000'000ULL;
  const Store store(scene.client);
  const std::size_t home = scene.cluster.owner_of_key(scene.name);
  std::size_t silent = home;
  for (const std::uint16_t slot : slots_of(scene.client, scene.name)) {
    store.put(scene.name, slot, ahead, 0, "from before the failover").wait().value();
    if (scene.node_of(slot) != home) silent = scene.node_of(slot);
  }
  // The write waits for this copy while the others have said that they have a later version.
  scene.cluster.pause(silent);
  auto write = std::async(std::launch::async, [&] { return scene.key.set("after it"); });
  kit::wait_until([&] { return scene.client.get(scene.name) == "after it"; }, 5s, "the write");
  CHECK(store.restore(scene.name, ahead, 0, "from before the failover").wait().value().status ==
        Home::Status::ok);
  const WriteResult result = write.get();
  scene.cluster.resume(silent);
  CHECK(result.version > ahead);
  CHECK(scene.everywhere() == Held{"after it", result.version, 0});
}

TEST_CASE("hotkey: a writer that dies before it has written the copies") {
  const Scene scene;
  const SplitKey& key = scene.key;
  const WriteResult old = key.set("old");
  const Store store(scene.client);
  std::optional<std::string> expected;
  Home home;
  SECTION("set") {
    home = store.set(scene.name, 0, "new", std::nullopt).wait().value();
    expected = "new";
  }
  SECTION("set, at one copy only") {
    home = store.set(scene.name, 0, "new", std::nullopt).wait().value();
    store.put(scene.name, slots_of(scene.client, scene.name)[1], home.version, 0, "new")
        .wait()
        .value();
    expected = "new";
  }
  SECTION("del") {
    home = store.del(scene.name, 0).wait().value();
  }
  // Readers find out by the version that the home slot tells, within a second or so.
  std::uint64_t newest = 0;
  kit::wait_until(
      [&] {
        const VersionedValue got = key.get_with_version();
        CHECK(got.version >= newest);
        CHECK(got.value == (got.version == old.version ? "old" : expected));
        newest = got.version;
        return equal(scene.all());
      },
      3s, "the copies to be repaired");
  CHECK(scene.everywhere() == Held{expected, home.version, home.expires});
}

TEST_CASE("hotkey: the level decides how long a write waits for a copy that is silent") {
  const auto level = GENERATE(Acknowledge::all, Acknowledge::quorum, Acknowledge::home);
  Scene scene({.acknowledge = level});
  scene.key.set("before");
  const std::size_t home = scene.cluster.owner_of_key(scene.name);
  std::uint16_t silent = 0;
  for (const std::uint16_t slot : slots_of(scene.client, scene.name)) {
    if (scene.node_of(slot) != home) silent = slot;
  }
  const std::size_t node = scene.node_of(silent);
  scene.cluster.pause(node);
  const auto began = test::Clock::now();
  const WriteResult result = scene.key.set("after");
  const long took = ms_since(began);
  CHECK(result.acknowledged == (level != Acknowledge::all));
  if (level == Acknowledge::all) {
    CHECK(took >= 450);
    CHECK(count(result, State::failed) == 1);
  } else {
    CHECK(took < 400);
    CHECK(count(result, State::failed) == 0);
  }
  for (int i = 0; i < 10; ++i)
    CHECK(scene.key.get() == "after");
  scene.cluster.resume(node);
  CHECK(scene.everywhere().value == "after");
}

TEST_CASE("hotkey: with one primary dead reads go on, writes name the copy, and all is repaired") {
  kit::ClusterOptions options{.appendonly = true};
  options.config.emplace_back("cluster-require-full-coverage", "no");
  Scene scene({}, options);
  const SplitKey& key = scene.key;
  key.set("before");
  const std::size_t home = scene.cluster.owner_of_key(scene.name);
  std::size_t dead = 0;
  SECTION("of a copy") {
    dead = home == 0 ? 1 : 0;
  }
  SECTION("of the original") {
    dead = home;
  }
  const std::string address = [&] {
    for (const CopyWrite& copy : key.set("before").copies) {
      if (scene.node_of(static_cast<std::uint16_t>(copy.slot)) == dead) return copy.node;
    }
    return std::string();
  }();
  scene.cluster.kill(dead);

  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        try {
          const auto got = key.get();
          if (!got || (*got != "before" && *got != "after")) ++wrong;
          ++reads;
        } catch (const Error& e) {
          WARN(e.what());
          ++wrong;
        }
      }
    });
  }
  std::string last = "before";
  if (dead != home) {
    const WriteResult result = key.set("after");
    last = "after";
    CHECK_FALSE(result.acknowledged);
    CHECK(count(result, State::written) == 2);
    for (const CopyWrite& copy : result.copies) {
      if (copy.state == State::written) continue;
      CHECK(copy.state == State::failed);
      CHECK(copy.node == address);
      REQUIRE(copy.error);
    }
  } else {
    std::this_thread::sleep_for(1s);  // reads go on meanwhile
  }
  const int before = reads;
  kit::wait_until([&] { return reads > before + 200; }, 10s, "reads to go on");
  stop = true;
  for (auto& reader : readers)
    reader.join();
  CHECK(wrong == 0);
  scene.cluster.restart(dead);
  scene.cluster.wait_ready_to_serve();
  CHECK(scene.everywhere().value == last);
  CHECK(key.set("again").acknowledged);
  CHECK(scene.everywhere().value == "again");
}

TEST_CASE("hotkey: a copy that a write did not reach is repaired though nobody reads") {
  kit::ClusterOptions options{.appendonly = true};
  options.config.emplace_back("cluster-require-full-coverage", "no");
  Scene scene({}, options);
  scene.key.set("before");
  const std::size_t dead = scene.cluster.owner_of_key(scene.name) == 0 ? 1 : 0;
  scene.cluster.kill(dead);
  CHECK(count(scene.key.set("after"), State::failed) == 1);
  scene.cluster.restart(dead);
  scene.cluster.wait_ready_to_serve();
  CHECK(scene.everywhere().value == "after");
}
