// Hot keys: what reads and writes of a split value do.
#include <future>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <slotwise/hotkey.hpp>

#include "server/hotkey_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using State = CopyWrite::State;

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
