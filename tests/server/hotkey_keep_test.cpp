// Hot keys: splits, and copies that follow the cluster.
#include "server/hotkey_keep_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using namespace slotwise::test::keeping;

TEST_CASE("hotkey: split, status, keys, join") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  const std::string name = "hot:{product}:1";
  client.set(name, "first");

  const SplitKey key = splitter.split(name);
  Status status = splitter.status(name);
  INFO(text_of(status));
  CHECK(settled(status));
  CHECK(counts(status) == std::vector{1, 1, 1});
  CHECK(status.kind == Kind::value);
  CHECK(status.copies_per_primary == 1);
  for (const Status::Copy& copy : status.copies)
    CHECK(copy.name == copy_name(name, static_cast<std::uint16_t>(copy.slot)));
  CHECK(key.get() == "first");
  CHECK(splitter.keys() == std::vector{name});

  SECTION("the same once more changes nothing, other options place anew") {
    const auto number = status.manifest_version;
    (void)splitter.split(name);
    CHECK(splitter.status(name).manifest_version == number);

    (void)splitter.split(name, {.copies_per_primary = 2});
    status = splitter.status(name);
    CHECK(settled(status));
    CHECK(counts(status) == std::vector{2, 2, 2});
    CHECK(key.get() == "first");
    (void)splitter.split(name, {.copies_per_primary = 1});
    wait_settled(splitter, name, 5s, 3);
  }
  SECTION("another client finds it, and join brings it back to one") {
    const Client other_client = Client::connect(cluster.uri());
    const Splitter other(other_client);
    const SplitKey again = other.open(name);
    const WriteResult written = again.set("second");
    CHECK(written.acknowledged);
    CHECK(written.version > status.version);
    CHECK(key.get() == "second");
    CHECK(settled(splitter.status(name)));
    CHECK(client.get(name) == "second");

    other.join(name);
    CHECK(splitter.keys().empty());
    CHECK(client.get(name) == "second");
    CHECK(error_of([&] { return other.status(name); }).code() == ErrorCode::not_split);
    CHECK(error_of([&] { return other.open(name); }).code() == ErrorCode::not_split);
    CHECK(error_of([&] {
            other.join(name);
            return 0;
          }).code() == ErrorCode::not_split);
    // A handle that is still there goes on with the plain key.
    CHECK(key.get() == "second");
    (void)key.set("third");
    CHECK(client.get(name) == "third");
    for (const auto& [found, lives] : all_keys(cluster)) {
      INFO(found);
      if (found == name) continue;
      CHECK(lives >= 0);
      CHECK(lives <= 60'000);
    }
    // Once more, while the marks of the join are there.
    (void)other.split(name);
    CHECK(settled(other.status(name)));
    CHECK(key.get() == "third");
  }
  SECTION("what was split must be named rightly") {
    CHECK(error_of([&] { return splitter.open("cold"); }).code() == ErrorCode::not_split);
    CHECK(error_of([&] { return splitter.status("cold"); }).code() == ErrorCode::not_split);
    CHECK(error_of([&] { return splitter.open_counter(name); }).code() == ErrorCode::not_split);
    CHECK(error_of([&] { return splitter.split_counter(name); }).code() == ErrorCode::not_split);
    for (const int copies : {0, -1, 17}) {
      CHECK(error_of([&] { return splitter.split("x", {.copies_per_primary = copies}); }).code() ==
            ErrorCode::invalid_argument);
    }
    client.command<long>("RPUSH", "list", "a");
    const Error error = error_of([&] { return splitter.split("list"); });
    CHECK(error.code() == ErrorCode::server);
    CHECK(std::string(error.what()).find("list") != std::string::npos);
    CHECK(splitter.keys() == std::vector{name});
    CHECK(client.command<long>("SISMEMBER", registry_name, "list") == 0);
  }
}

TEST_CASE("hotkey: a splitter is for clusters") {
  const kit::Server server;
  const Client client = Client::connect("valkey://" + server.address().to_string());
  CHECK(error_of([&] { return Splitter(client); }).code() == ErrorCode::refused);
}

TEST_CASE("hotkey: a key that does not exist is split, and empty everywhere until it is set") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  std::string name("a\0b{\r\n}\xff", 8);
  const SplitKey key = splitter.split(name);
  CHECK(key.get() == std::nullopt);
  CHECK(settled(splitter.status(name)));
  (void)key.set("");
  CHECK(key.get() == "");
  CHECK(settled(splitter.status(name)));
  CHECK(splitter.keys() == std::vector{name});
  splitter.join(name);
  CHECK(client.get(name) == "");
}

TEST_CASE("hotkey: what others wrote while a split was announced is what all copies get") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  client.set("hot", "before");
  std::thread splits([&] { (void)splitter.split("hot"); });
  kit::wait_until([&] { return client.command<long>("EXISTS", manifest_name("hot")) == 1; }, 2s,
                  "the announcement");
  // A client that does not know yet; the last time just before the copies are made.
  const auto start = Clock::now();
  int written = 0;
  while (ms_since(start) < 1700) {
    client.command<std::string>("SET", "hot", "plain" + std::to_string(++written), "PX", "100000");
    std::this_thread::sleep_for(20ms);
  }
  splits.join();
  const SplitKey key = splitter.open("hot");
  for (int i = 0; i < 20; ++i)
    CHECK(key.get() == "plain" + std::to_string(written));
  CHECK(settled(splitter.status("hot")));
  for (const auto& copy : splitter.status("hot").copies) {
    const auto lives = client.command<long>("PTTL", copy.name);
    CHECK(lives > 90'000);
    CHECK(lives <= 100'000);
  }
}

TEST_CASE("hotkey: a new shard, a moved slot, a removed shard: even again, and no read missed") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  std::string troubles;
  std::mutex troubles_mutex;
  const Splitter splitter(client, {.on_trouble = [&](std::string_view, const Error& error) {
                            const std::lock_guard lock(troubles_mutex);
                            troubles += std::string(error.what()) + "\n";
                          }});
  client.set("hot", "value");
  const SplitKey key = splitter.split("hot");
  Readers readers(key);

  (void)cluster.add_shards(1);
  wait_settled(splitter, "hot", 5s, 4);
  CHECK(counts(splitter.status("hot")) == std::vector{1, 1, 1, 1});

  const Status before = splitter.status("hot");
  const int slot = before.copies.front().slot;
  const std::size_t from = cluster.owner_of(slot);
  const auto primaries = cluster.primaries();
  const std::size_t to = primaries[0] == from ? primaries[1] : primaries[0];
  cluster.migrate(slot, slot, to);
  wait_settled(splitter, "hot", 5s, 4);
  CHECK(counts(splitter.status("hot")) == std::vector{1, 1, 1, 1});
  const Status after = splitter.status("hot");
  CHECK(after.manifest_version > before.manifest_version);

  const std::size_t removed = cluster.primaries().back();
  const std::string gone = cluster.server(removed).address().to_string();
  cluster.remove_shard(removed);
  wait_settled(splitter, "hot", 5s, 3);
  CHECK(counts(splitter.status("hot")) == std::vector{1, 1, 1});
  CHECK_FALSE(by_node(splitter.status("hot")).contains(gone));
  CHECK(key.get() == "value");
  readers.check();
  const std::lock_guard lock(troubles_mutex);
  INFO(troubles);
  // Nothing but manifest, three copies with their marks, original, registry, and marks that expire.
  int lasting = 0;
  for (const auto& [found, lives] : all_keys(cluster)) {
    INFO(found);
    if (lives < 0) ++lasting;
  }
  CHECK(lasting == 1 + 1 + 1 + 2 * 3);
}

TEST_CASE("hotkey: a keeper that dies after any step is followed by another one") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  // Nobody keeps but this test.
  const auto shared = std::make_shared<Shared>(client, SplitterOptions{.keep = false});
  const Splitter splitter(client, {.keep = false});
  client.set("hot", "value");
  const SplitKey key = splitter.split("hot");
  Readers readers(key);
  const auto state = shared->state("hot");

  for (int steps = 1; steps <= 3; ++steps) {
    // One copy's primary has two after this.
    const Status before = splitter.status("hot");
    const int slot = before.copies.front().slot;
    const auto primaries = cluster.primaries();
    const std::size_t from = cluster.owner_of(slot);
    cluster.migrate(slot, slot, primaries[0] == from ? primaries[1] : primaries[0]);
    REQUIRE(client.refresh());

    // It does some steps, takes the lock for the next one, and is not heard of again.
    for (int i = 0; i < steps; ++i) {
      kit::wait_until(
          [&] {
            const std::uint64_t number = splitter.status("hot").manifest_version;
            REQUIRE(keep(*shared, *state, {.most_steps = 1}));
            return splitter.status("hot").manifest_version != number;
          },
          5s, "step " + std::to_string(i + 1));
    }
    const std::uint64_t number = splitter.status("hot").manifest_version;
    const Store store(client);
    kit::wait_until(
        [&] {
          const auto dead =
              store.change("hot", {.expected = number, .token = "dead", .hold = 2s}).wait();
          REQUIRE(dead);
          return dead->status == Home::Status::ok;
        },
        2s, "the lock");
    CHECK(keep(*shared, *state).value_or(true) == (steps == 3));
    CHECK(splitter.status("hot").manifest_version == number);

    // It is slow and not dead, and its time is over: whatever it still does is refused.
    const Splitter other(client);
    (void)other.open("hot");
    wait_settled(splitter, "hot", 8s, 3);
    CHECK(counts(splitter.status("hot")) == std::vector{1, 1, 1});
    if (steps < 3) {
      const auto late =
          store.change("hot", {.expected = number, .token = "dead", .hold = 2s, .copies = {{}}})
              .wait();
      REQUIRE(late);
      CHECK(late->status == Home::Status::changed);
    }
  }
  readers.check();
}

TEST_CASE("hotkey: of several keepers one acts at a time") {
  kit::Cluster cluster({.primaries = 3});
  std::vector<Client> clients;
  std::vector<Splitter> splitters;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Client::connect(cluster.uri()));
    splitters.emplace_back(clients.back());
  }
  clients[0].set("hot", "value");
  const SplitKey key = splitters[0].split("hot");
  for (const Splitter& splitter : splitters)
    (void)splitter.open("hot");
  Readers readers(key);
  const Status before = splitters[0].status("hot");
  const int slot = before.copies.front().slot;
  const auto primaries = cluster.primaries();
  const std::size_t from = cluster.owner_of(slot);
  cluster.reset_counts();
  cluster.migrate(slot, slot, primaries[0] == from ? primaries[1] : primaries[0]);
  wait_settled(splitters[0], "hot", 5s, 3);
  CHECK(counts(splitters[1].status("hot")) == std::vector{1, 1, 1});
  // One copy was made and one removed, not one by each.
  int marks = 0;
  for (const auto& [found, lives] : all_keys(cluster)) {
    if (found.find("slotwise:mark:") != std::string::npos) ++marks;
  }
  CHECK(marks == 4);
  readers.check();

  // Splits and joins of the same key at the same time: some end state, and a whole one.
  std::vector<std::thread> threads;
  for (const Splitter& splitter : splitters)
    threads.emplace_back([&splitter] { (void)splitter.split("new", {.copies_per_primary = 2}); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(settled(splitters[2].status("new")));
  CHECK(counts(splitters[2].status("new")) == std::vector{2, 2, 2});
}
