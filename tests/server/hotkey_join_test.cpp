// Hot keys: joins, manifests that are lost, the end of a Splitter, and counters that are moved.
#include "server/hotkey_keep_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using namespace slotwise::test::keeping;

TEST_CASE("hotkey: a join under reads and writes loses neither") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Client writing_client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  const Splitter writing(writing_client);
  client.set("hot", "0");
  const SplitKey key = splitter.split("hot", {.copies_per_primary = 2});
  Readers readers(key, true);
  std::atomic<bool> stop{false};
  int last = 0;
  std::string failed;
  std::thread writer([&] {
    const SplitKey mine = writing.open("hot");
    try {
      while (!stop) {
        (void)mine.set(std::to_string(last + 1));
        ++last;
        std::this_thread::sleep_for(2ms);
      }
    } catch (const Error& error) {
      failed = error.what();
    }
  });
  std::this_thread::sleep_for(200ms);
  splitter.join("hot");
  std::this_thread::sleep_for(500ms);
  stop = true;
  writer.join();
  readers.check();
  INFO(failed);
  CHECK(failed.empty());
  CHECK(last > 100);
  CHECK(client.get("hot") == std::to_string(last));
  for (const auto& [found, lives] : all_keys(cluster)) {
    INFO(found);
    if (found != "hot") CHECK((lives >= 0 && lives <= 60'000));
  }
}

TEST_CASE("hotkey: a join that its client did not finish is finished by another one") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const auto shared = std::make_shared<Shared>(client, SplitterOptions{.keep = false});
  const Splitter splitter(client);
  client.set("hot", "value");
  const SplitKey key = splitter.split("hot");
  REQUIRE(order_copies(*shared, *shared->state("hot"), 0));
  kit::wait_until([&] { return splitter.keys().empty(); }, 8s, "the join to be finished");
  CHECK(client.get("hot") == "value");
  CHECK(key.get() == "value");
}

TEST_CASE("hotkey: an emptied home slot gets manifest and value back from the copies") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  client.set("hot", "value");
  const SplitKey key = splitter.split("hot");
  const WriteResult written = key.set("newest");
  Readers readers(key);
  kit::Server& home = cluster.server(cluster.owner_of_key("hot"));
  for (int round = 0; round < 3; ++round) {
    home.command("DEL", "hot", manifest_name("hot"));
    kit::wait_until(
        [&] {
          try {
            return settled(splitter.status("hot")) && client.get("hot") == "newest";
          } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::not_split);
            return false;
          }
        },
        5s, "the manifest to be made anew");
  }
  CHECK(splitter.status("hot").version == written.version);
  readers.check();

  // Nobody calls anything.
  home.command("DEL", "hot", manifest_name("hot"));
  kit::wait_until(
      [&] {
        return home.command("EXISTS", manifest_name("hot")).integer == 1 &&
               home.command("GET", "hot").text == "newest";
      },
      5s, "the background to make the manifest anew");

  // A write is what finds out.
  home.command("DEL", "hot", manifest_name("hot"));
  const WriteResult again = key.set("later");
  CHECK(again.version > written.version);
  CHECK(key.get() == "later");
  wait_settled(splitter, "hot", 5s, 3);
  CHECK(client.get("hot") == "later");

  // The registry too.
  client.command<long>("DEL", registry_name);
  kit::wait_until([&] { return splitter.keys() == std::vector<std::string>{"hot"}; }, 5s,
                  "the entry in the registry");
}

TEST_CASE("hotkey: a key that was joined long ago is not split again by who missed it") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Client idle_client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  const auto idle = std::make_shared<Shared>(idle_client, SplitterOptions{});
  client.set("hot", "value");
  (void)splitter.split("hot");
  const auto state = idle->state("hot");
  REQUIRE(idle->refresh(*state));
  splitter.join("hot");
  // As if the minute were over.
  cluster.server(cluster.owner_of_key("hot")).command("DEL", manifest_name("hot"));
  const auto found = idle->refresh(*state);
  REQUIRE_FALSE(found);
  CHECK(found.error().code() == ErrorCode::not_split);
  CHECK(client.get("hot") == "value");
  CHECK(splitter.keys().empty());
}

TEST_CASE("hotkey: a splitter whose cluster is gone ends in bounded time") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri() + "?timeout=2s");
  std::atomic<int> told{0};
  auto splitter = std::make_unique<Splitter>(
      client, SplitterOptions{.on_trouble = [&](std::string_view, const Error&) { ++told; }});
  client.set("hot", "value");
  const SplitKey key = splitter->split("hot");
  for (const std::size_t node : cluster.members())
    cluster.pause(node);
  kit::wait_until([&] { return told > 0; }, 10s, "the trouble to be told");
  std::this_thread::sleep_for(3s);  // seven refreshes: nothing shows that nothing more comes
  CHECK(told < 20);                 // once a change, not at every refresh
  const auto start = Clock::now();
  splitter.reset();
  CHECK(ms_since(start) < 5000);
  for (const std::size_t node : cluster.members())
    cluster.resume(node);
  CHECK(key.get() == "value");
}

TEST_CASE("hotkey: a counter's parts follow the cluster, and nothing is counted twice or lost") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Splitter splitter(client);
  client.set("visits", "100");
  const SplitCounter counter = splitter.split_counter("visits");
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> added{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        try {
          counter.incr();
          ++added;
        } catch (const Error&) {
          ++failed;
        }
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  const auto primaries = cluster.primaries();
  for (int round = 0; round < 2; ++round) {
    const Status before = splitter.status("visits");
    const int slot = before.copies.front().slot;
    const std::size_t from = cluster.owner_of(slot);
    cluster.migrate(slot, slot, primaries[0] == from ? primaries[1] : primaries[0]);
    kit::wait_until(
        [&] {
          const Status status = splitter.status("visits");
          return status.balanced && status.copies.size() == 3 &&
                 status.manifest_version > before.manifest_version;
        },
        8s, [&] { return text_of(splitter.status("visits")); });
    const std::int64_t least = 100 + added;
    CHECK(counter.read() >= least);
  }
  stop = true;
  for (std::thread& thread : threads)
    thread.join();
  CHECK(failed == 0);
  CHECK(counter.read() == 100 + added);
  splitter.join("visits");
  CHECK(client.get("visits") == std::to_string(100 + added));
}
