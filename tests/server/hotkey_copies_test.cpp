// Hot keys: what reads and writes of a split key do, and that copies never stay different.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <slotwise/hotkey.hpp>

#include "hotkey/manifest.hpp"
#include "hotkey/names.hpp"
#include "hotkey/placement.hpp"
#include "hotkey/store.hpp"
#include "kit/cluster.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using State = CopyWrite::State;

namespace {

/// What a split comes to, without its two seconds in which all clients learn of it.
void split_now(const Client& client, const std::string& key) {
  const Store store(client);
  const auto number = [&] { return store.look(key, 0, false).wait().value().manifest->number; };
  REQUIRE(store.create(key, Kind::value, 1, 0).wait().value().status == Home::Status::ok);
  std::vector<CopyPlace> copies;
  for (const std::uint16_t slot : place_copies(key, {}, 1, client.topology()).add) {
    store.open(key, slot, Kind::value, number()).wait().value();
    copies.push_back({slot, CopyPlace::State::joining});
  }
  const auto change = [&] {
    Store::Change step;
    step.expected = number();
    step.token = "test";
    step.copies = copies;
    REQUIRE(store.change(key, step).wait().value().status == Home::Status::ok);
  };
  change();
  const Home home = store.look(key, 0, true).wait().value();
  for (CopyPlace& copy : copies) {
    store.put(key, copy.slot, home.version, home.expires, home.value).wait().value();
    copy.state = CopyPlace::State::ready;
  }
  change();
}

/// What lies at one place.
struct Held {
  std::optional<std::string> value;
  std::uint64_t version = 0;
  std::int64_t expires = 0;
  friend bool operator==(const Held&, const Held&) = default;
};

/// The original first, then all copies. An answer that says nothing has version 0.
std::vector<Held> held(const Client& client, const std::string& key) {
  const Store store(client);
  const Home home = store.look(key, 0, true).wait().value();
  std::vector<Held> out{{home.value, home.version, home.expires}};
  for (const CopyPlace& place : home.manifest->copies) {
    const auto copy = store.look_copy(key, place.slot, true).wait();
    Held one;
    const auto status = copy ? copy->status : Copy::Status::lost;
    if (status == Copy::Status::value || status == Copy::Status::deleted ||
        status == Copy::Status::expired) {
      one = {copy->value, copy->version, copy->expires};
    }
    out.push_back(one);
  }
  return out;
}

bool equal(const std::vector<Held>& all) {
  return std::all_of(all.begin(), all.end(), [&](const Held& one) { return one == all[0]; });
}

/// Of all places, once they are equal.
Held held_everywhere(const Client& client, const std::string& key,
                     std::chrono::milliseconds limit = 10s) {
  std::vector<Held> all;
  kit::wait_until(
      [&] {
        all = held(client, key);
        return equal(all);
      },
      limit,
      [&] {
        std::string text = "all copies to be equal:";
        for (const Held& one : all)
          text += " " + std::to_string(one.version);
        return text;
      });
  return all[0];
}

std::vector<std::uint16_t> slots_of(const Client& client, const std::string& key) {
  std::vector<std::uint16_t> out;
  const Home home = Store(client).look(key, 0, false).wait().value();
  for (const CopyPlace& place : home.manifest->copies)
    out.push_back(place.slot);
  return out;
}

int count(const WriteResult& result, State state) {
  return static_cast<int>(std::count_if(result.copies.begin(), result.copies.end(),
                                        [&](const CopyWrite& c) { return c.state == state; }));
}

/// A cluster of three with one key that is split.
struct Scene {
  kit::Cluster cluster;
  Client client;
  std::string name;
  Splitter splitter;
  SplitKey key;

  explicit Scene(SplitterOptions options = {}, kit::ClusterOptions cluster_options = {},
                 std::string of_key = "hot:product:1")
      : cluster(cluster_options),
        client(Client::connect(cluster.uri())),
        name(std::move(of_key)),
        splitter(client, without_keeping(std::move(options))),
        key(open()) {}

  static SplitterOptions without_keeping(SplitterOptions options) {
    options.keep = false;
    return options;
  }
  SplitKey open() {
    split_now(client, name);
    return splitter.open(name);
  }
  std::vector<Held> all() const { return held(client, name); }
  Held everywhere() const { return held_everywhere(client, name); }
  std::size_t node_of(std::uint16_t slot) const { return cluster.owner_of(slot); }
};

}  // namespace

TEST_CASE("hotkey: a write reaches all copies and says so for each") {
  const Scene scene;
  const SplitKey& key = scene.key;
  CHECK(key.get() == std::nullopt);

  const WriteResult first = key.set("one");
  CHECK(first.acknowledged);
  REQUIRE(first.copies.size() == 3);
  std::set<std::string> nodes;
  for (const CopyWrite& copy : first.copies) {
    CHECK(copy.state == State::written);
    CHECK_FALSE(copy.error);
    CHECK(copy.name == copy_name(scene.name, static_cast<std::uint16_t>(copy.slot)));
    CHECK(slot(copy.name) == copy.slot);
    nodes.insert(copy.node);
  }
  CHECK(nodes.size() == 3);
  CHECK(scene.all() == std::vector<Held>(4, Held{"one", first.version, 0}));
  const VersionedValue got = key.get_with_version();
  CHECK(got.value == "one");
  CHECK(got.version == first.version);
  // Who knows nothing of it finds the newest value.
  CHECK(scene.client.get(scene.name) == "one");

  const WriteResult second = key.set("two");
  CHECK(second.version > first.version);
  for (int i = 0; i < 50; ++i)
    CHECK(key.get() == "two");
}

TEST_CASE("hotkey: times to live, expire, persist and del reach all copies at the same moment") {
  const Scene scene;
  const SplitKey& key = scene.key;
  key.set("brief", 300ms);
  const Held brief = scene.everywhere();
  CHECK(brief.value == "brief");
  CHECK(brief.expires > 0);
  kit::wait_until([&] { return key.get() == std::nullopt; }, 2s, "the value to expire");
  for (const Held& one : scene.all())
    CHECK_FALSE(one.value);

  CHECK_FALSE(key.expire(10s).existed);
  CHECK_FALSE(key.persist().existed);

  key.set("long");
  const WriteResult expires = key.expire(200s);
  CHECK(expires.existed);
  CHECK(count(expires, State::written) == 3);
  Held now = scene.everywhere();
  CHECK(now.value == "long");
  CHECK(now.version == expires.version);
  CHECK(now.expires > 0);
  for (const std::uint16_t slot : slots_of(scene.client, scene.name)) {
    const auto left = scene.client.command<long>("PTTL", copy_name(scene.name, slot));
    CHECK(left > 190'000);
    CHECK(left <= 200'000);
  }

  const WriteResult persists = key.persist();
  CHECK(persists.existed);
  now = scene.everywhere();
  CHECK(now.expires == 0);
  CHECK(now.value == "long");
  for (const std::uint16_t slot : slots_of(scene.client, scene.name))
    CHECK(scene.client.command<long>("PTTL", copy_name(scene.name, slot)) == -1);

  const WriteResult deletes = key.del();
  CHECK(deletes.existed);
  CHECK(count(deletes, State::written) == 3);
  CHECK(scene.everywhere() == Held{std::nullopt, deletes.version, -1});
  CHECK(key.get() == std::nullopt);
  CHECK_FALSE(key.del().existed);

  CHECK(error_of([&] { return key.set("v", 0ms); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE("hotkey: what was deleted does not come back by a late write") {
  const Scene scene;
  const Store store(scene.client);
  const WriteResult old = scene.key.set("old");
  const WriteResult gone = scene.key.del();
  for (const std::uint16_t slot : slots_of(scene.client, scene.name)) {
    const auto late = store.put(scene.name, slot, old.version, 0, "old").wait().value();
    CHECK(late.status == Copy::Status::newer);
    CHECK(late.version == gone.version);
  }
  CHECK(scene.key.get() == std::nullopt);
  CHECK(equal(scene.all()));
}

TEST_CASE("hotkey: quorum and home return earlier, and the rest is written all the same") {
  const auto level = GENERATE(Acknowledge::quorum, Acknowledge::home);
  const Scene scene({.acknowledge = level});
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i);
    const WriteResult result = scene.key.set(value);
    CHECK(result.acknowledged);
    CHECK(result.copies.size() == 3);
    if (level == Acknowledge::quorum) CHECK(count(result, State::written) >= 2);
    CHECK(scene.key.get() == value);  // the own write, whatever the copies have
  }
  CHECK(scene.everywhere().value == "19");
}

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

TEST_CASE("hotkey: keys and values of any bytes") {
  const kit::Cluster cluster;
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client, {.keep = false});
  const std::string zeros("\0\0:\r\n\xff", 6);
  for (const std::string& name :
       {std::string("plain"), std::string("{tag}rest"), std::string("a{b}c"), std::string("{}x"),
        std::string("}{"), std::string("{"), zeros, "{" + zeros + "}", std::string("1:2:3")}) {
    INFO("key of " << name.size() << " bytes: " << name);
    split_now(client, name);
    const SplitKey key = splitter.open(name);
    for (const std::string& value : {std::string(), zeros, std::string("12:34"), std::string(":"),
                                     std::string(100'000, 'x')}) {
      CHECK(key.set(value).acknowledged);
      for (int i = 0; i < 6; ++i)
        CHECK(key.get() == value);
      CHECK(client.get(name) == value);
    }
  }
}

TEST_CASE("hotkey: a value of 10 MB") {
  const Scene scene({.copy_timeout = 5s});
  std::string value(10'000'000, 'a');
  for (std::size_t i = 0; i < value.size(); ++i)
    value[i] = static_cast<char>(i * 31 % 251);
  CHECK(scene.key.set(value).acknowledged);
  for (int i = 0; i < 6; ++i)
    CHECK(scene.key.get() == value);
  CHECK(scene.key.expire(100s).acknowledged);
  CHECK(scene.everywhere().value == value);
}

TEST_CASE("hotkey: a read with a callback does what one in place does") {
  const Scene scene;
  const WriteResult written = scene.key.set("value");
  const auto slots = slots_of(scene.client, scene.name);
  const auto read_some = [&] {
    std::vector<std::promise<Result<VersionedValue>>> promises(100);
    for (auto& promise : promises)
      scene.key.get([&promise](Result<VersionedValue> got) { promise.set_value(std::move(got)); });
    std::vector<Result<VersionedValue>> out;
    for (auto& promise : promises)
      out.push_back(promise.get_future().get());
    return out;
  };
  const auto check_all = [&](const std::vector<Result<VersionedValue>>& all) {
    for (const auto& got : all) {
      REQUIRE(got);
      CHECK(got->value == "value");
      CHECK(got->version == written.version);
    }
  };
  check_all(read_some());
  scene.client.command("DEL", copy_name(scene.name, slots[0]));
  scene.client.set(copy_name(scene.name, slots[1]), "rubbish");
  scene.client.del({scene.name});
  check_all(read_some());
  CHECK(scene.everywhere() == Held{"value", written.version, 0});
  // From a callback too.
  std::promise<Result<VersionedValue>> inner;
  scene.key.get([&](const Result<VersionedValue>& /*first*/) {
    scene.key.get([&](Result<VersionedValue> got) { inner.set_value(std::move(got)); });
  });
  CHECK(inner.get_future().get()->value == "value");

  scene.key.del();
  for (const auto& got : read_some()) {
    REQUIRE(got);
    CHECK_FALSE(got->value);
  }
}

TEST_CASE("hotkey: copies share the reads evenly, and the original has none") {
  Scene scene;
  scene.key.set("value");
  scene.cluster.reset_counts();
  for (int i = 0; i < 3000; ++i)
    scene.key.get();
  for (const std::size_t node : scene.cluster.primaries()) {
    const auto gets = scene.cluster.command_count("get", node);
    CHECK(gets > 800);
    CHECK(gets < 1200);
  }
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

TEST_CASE("hotkey: a manifest damaged by hand is an error, and nothing is written") {
  const Scene scene;
  scene.key.set("value");
  const std::string manifest = manifest_name(scene.name);
  SECTION("a field") {
    scene.client.command("HSET", manifest, "copies", "7000x");
  }
  SECTION("another type") {
    scene.client.set(manifest, "text");
  }
  const auto before = scene.client.get(scene.name);
  const Error error = error_of([&] { return scene.key.set("other"); });
  CHECK(error.code() == ErrorCode::damaged);
  CHECK(error.did_not_run());
  CHECK(std::string(error.what()).find(scene.name) != std::string::npos);
  CHECK(scene.client.get(scene.name) == before);
  const Splitter other(scene.client);
  CHECK(error_of([&] { return other.open(scene.name); }).code() == ErrorCode::damaged);
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

// --- many writers ------------------------------------------------------------------------------

namespace {

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// Kills a random connection of the clients at a random node, again and again.
class Killer {
 public:
  explicit Killer(kit::Cluster& cluster) : cluster_(cluster), thread_([this] { run(); }) {}
  ~Killer() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int killed() const { return killed_; }

 private:
  void run() {
    std::mt19937 random(std::random_device{}());
    while (!stop_) {
      const auto nodes = cluster_.primaries();
      kit::Server& server = cluster_.server(nodes[random() % nodes.size()]);
      std::vector<std::string> ids;
      const std::string list(server.command("CLIENT", "LIST").text);
      for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = (std::min)(list.find('\n', at), list.size());
        const std::string line = list.substr(at, end - at);
        if (line.find(" name=writer ") != std::string::npos) {
          ids.push_back(line.substr(3, line.find(' ') - 3));
        }
        at = end + 1;
      }
      if (!ids.empty()) {
        server.command("CLIENT", "KILL", "ID", ids[random() % ids.size()]);
        ++killed_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    }
  }

  kit::Cluster& cluster_;
  std::atomic<bool> stop_{false};
  std::atomic<int> killed_{0};
  std::thread thread_;
};

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
    Killer killer(cluster);
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
