// Split counters: nothing is lost, nothing is counted twice, and no sum is too small.
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/hotkey.hpp>

#include "hotkey/names.hpp"
#include "hotkey/placement.hpp"
#include "hotkey/store.hpp"
#include "kit/cluster.hpp"
#include "server/hotkey_killer.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;

namespace {

using Says = Home::Status;
using Holds = Copy::Status;
using State = CopyPlace::State;

/// Slots on all of three primaries.
const std::vector<std::uint16_t> many_slots{100,   2000,  5000,  6000, 8000,
                                            10000, 11000, 13000, 16000};

/// Does what a keeper does, without any wait.
class Hand {
 public:
  Hand(const Client& client, std::string key) : store_(client), key_(std::move(key)) {}

  void create(const std::vector<std::uint16_t>& slots) {
    const Home home = store_.create(key_, Kind::counter, 1, 0).wait().value();
    REQUIRE(home.status == Says::ok);
    number_ = home.manifest->number;
    for (const std::uint16_t slot : slots)
      add(slot);
  }
  void add(std::uint16_t slot) {
    const Copy opened = store_.open(key_, slot, Kind::counter, number_).wait().value();
    INFO("slot " << slot);
    REQUIRE(opened.status == Holds::part);
    copies_.push_back({slot, State::ready});
    change();
  }
  void leave(std::size_t i) {
    copies_[i].state = State::leaving;
    change();
  }
  void fold(std::size_t i) {
    const std::uint16_t slot = copies_[i].slot;
    const Copy folded = store_.fold(key_, slot, number_).wait().value();
    INFO("slot " << slot);
    REQUIRE(folded.status == Holds::folded);
    copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(i));
    Home home = store_.add_folded(key_, next(), folded.part).wait().value();
    // As after a lost answer.
    const Home again = store_.add_folded(key_, next(), folded.part).wait().value();
    REQUIRE(again.status == Says::changed);
    if (home.status == Says::changed) home = again;  // the client had to repeat it by itself
    take(home);
  }
  void remove(std::uint16_t slot) const { (void)store_.remove(key_, slot, number_).wait().value(); }
  void finish_join() {
    REQUIRE(store_.finish_join(key_, next()).wait().value().status == Says::ok);
  }

  const Store& store() const { return store_; }
  const std::vector<CopyPlace>& copies() const { return copies_; }
  std::uint64_t number() const { return number_; }

 private:
  Store::Change next() const {
    return {.expected = number_, .token = "hand", .hold = 1h, .copies = copies_};
  }
  void change() { take(store_.change(key_, next()).wait().value()); }
  void take(const Home& home) {
    REQUIRE((home.status == Says::ok || home.status == Says::changed));
    REQUIRE(home.manifest);
    REQUIRE(home.manifest->copies == copies_);
    number_ = home.manifest->number;
  }

  Store store_;
  std::string key_;
  std::uint64_t number_ = 0;
  std::vector<CopyPlace> copies_;
};

/// What all threads did together.
struct Tally {
  std::atomic<std::int64_t> begun{0};
  std::atomic<std::int64_t> acknowledged{0};
  std::atomic<std::int64_t> unknown{0};
  std::atomic<int> refused{0};
  std::atomic<int> reads{0};
  std::atomic<int> wrong{0};
  std::atomic<int> failed{0};
  std::mutex mutex;
  std::string text;  // of the first trouble

  void note(std::string what) {
    const std::lock_guard lock(mutex);
    if (text.empty()) text = std::move(what);
  }
};

void count_until(const std::atomic<bool>& stop, const SplitCounter& counter, Tally& tally) {
  while (!stop) {
    ++tally.begun;
    try {
      counter.incr();
      ++tally.acknowledged;
    } catch (const Error& e) {
      if (e.outcome() == Outcome::unknown) {
        ++tally.unknown;
      } else {
        ++tally.refused;
        tally.note(e.what());
      }
    }
    std::this_thread::sleep_for(500us);  // leave some of the machine to the servers
  }
}

void read_until(const std::atomic<bool>& stop, const SplitCounter& counter, Tally& tally) {
  while (!stop) {
    const std::int64_t least = tally.acknowledged;
    try {
      const std::int64_t sum = counter.read();
      const std::int64_t most = tally.begun;
      ++tally.reads;
      if (sum < least || sum > most) {
        ++tally.wrong;
        tally.note("read " + std::to_string(sum) + ", not " + std::to_string(least) + " to " +
                   std::to_string(most));
      }
    } catch (const Error& e) {
      ++tally.failed;
      tally.note(e.what());
    }
    std::this_thread::sleep_for(1ms);
  }
}

struct Scene {
  // A silent server is not taken for a dead one, which would end the service of all.
  kit::Cluster cluster{{.primaries = 3, .node_timeout = 60s}};
  Client client = Client::connect(cluster.uri());
  Splitter splitter{client, {.keep = false}};
  Hand hand{client, "c"};

  SplitCounter split(const std::vector<std::uint16_t>& slots = {100, 8000, 16000}) {
    hand.create(slots);
    return splitter.open_counter("c");
  }
};

}  // namespace

TEST_CASE("hotkey: increments are spread over the parts, and the sum is of all") {
  Scene s;
  s.client.set("c", "1000");
  const SplitCounter counter = s.split();
  CHECK(counter.key() == "c");
  CHECK(counter.read() == 1000);
  for (int i = 0; i < 300; ++i)
    counter.incr(2);
  counter.incr(-50);
  CHECK(counter.read() == 1550);
  for (const CopyPlace& copy : s.hand.copies()) {
    CHECK(s.hand.store().look_part("c", copy.slot).wait().value().part > 60);
  }
  CHECK(s.client.get("c") == "1000");
  // Whoever does not know of the split counts all the same.
  s.client.incr("c");
  CHECK(counter.read() == 1551);
  // A sum may be in range although its parts are not.
  const auto most = (std::numeric_limits<std::int64_t>::max)();
  s.client.set("c", std::to_string(most));
  s.client.set(copy_name("c", 100), std::to_string(most));
  const Error e = error_of([&] { return counter.read(); });
  CHECK(e.code() == ErrorCode::type_mismatch);
  s.client.set(copy_name("c", 8000), std::to_string(-most));
  s.client.set(copy_name("c", 16000), "0");
  CHECK(counter.read() == most);
}

TEST_CASE("hotkey: a counter with no part, a folded one, and one that is joined") {
  Scene s;
  const SplitCounter counter = s.split({});
  counter.incr(5);
  CHECK(s.client.get("c") == "5");
  CHECK(counter.read() == 5);
  s.hand.add(8000);
  CHECK(counter.read() == 5);
  counter.incr(3);
  s.hand.leave(0);
  CHECK(counter.read() == 8);
  CHECK(s.hand.store().fold("c", 8000, s.hand.number()).wait().value().status == Holds::folded);
  // Between the two halves of folding.
  CHECK(counter.read() == 8);
  counter.incr();
  CHECK(counter.read() == 9);
  s.hand.fold(0);
  CHECK(counter.read() == 9);
  s.hand.remove(8000);
  s.hand.finish_join();
  CHECK(counter.read() == 9);
  counter.incr(2);
  CHECK(counter.read() == 11);
  CHECK(s.client.get("c") == "11");
  s.client.del({manifest_name("c")});
  counter.incr(2);
  CHECK(counter.read() == 13);
}

TEST_CASE("hotkey: a part that was opened again after the manifest was made is not summed up") {
  Scene s;
  const SplitCounter counter = s.split();
  counter.incr(7);
  CHECK(counter.read() == 7);
  // As if the home slot had answered long before the part did: it left and came back since.
  s.hand.store().open("c", 8000, Kind::counter, s.hand.number()).wait().value();
  std::atomic<bool> changed{false};
  std::thread keeper([&] {
    std::this_thread::sleep_for(300ms);  // the read must still be asking then: its first tries fail
    changed = true;
    s.hand.add(5000);
  });
  CHECK(counter.read() == 7);
  CHECK(changed);
  keeper.join();
}

TEST_CASE("hotkey: a part or an original that is lost is an error that names it") {
  Scene s;
  const SplitCounter counter = s.split();
  counter.incr(7);
  const auto named = [&](const std::string& name) {
    const auto began = Clock::now();
    const Error e = error_of([&] { return counter.read(); });
    INFO(e.what());
    CHECK(e.code() == ErrorCode::incomplete);
    CHECK(e.message().find("\"" + name + "\"") != std::string_view::npos);
    CHECK(ms_since(began) < 6000);
    for (int i = 0; i < 9; ++i)
      counter.incr();  // the others take it
  };
  const std::string part = copy_name("c", 8000);
  SECTION("a part") {
    s.client.del({part});
    named(part);
    s.client.set(part, "0");  // somebody decides what it was
    CHECK(counter.read() >= 9);
  }
  SECTION("a part, with its mark") {
    s.client.del({part, mark_name("c", 8000)});
    named(part);
  }
  SECTION("a part that is no number") {
    s.client.set(part, "seven");
    named(part);
    CHECK(s.client.get(part) == "seven");
  }
  SECTION("a damaged mark") {
    s.client.set(mark_name("c", 8000), "seven");
    named(part);
  }
  SECTION("the original") {
    s.client.del({"c"});
    named("c");
    CHECK(s.client.exists({"c"}) == 0);
  }
  SECTION("the manifest, by hand") {
    s.client.set(manifest_name("c"), "x");
    const auto says_damaged = [](const auto& call) {
      try {
        call();
      } catch (const Error& e) {
        return e.code() == ErrorCode::damaged;
      }
      return false;
    };
    CHECK(says_damaged([&] { (void)counter.read(); }));
    // The manifest that was heard last is good for a second.
    kit::wait_until([&] { return says_damaged([&] { counter.incr(); }); }, 5s, "the damage");
    CHECK(s.client.get(manifest_name("c")) == "x");
  }
}

TEST_CASE("hotkey: a part whose server is silent holds no increment up, and is named") {
  Scene s;
  const SplitCounter counter = s.split();
  const std::size_t node = s.cluster.owner_of(16000);
  REQUIRE(s.cluster.owner_of_key("c") != node);
  counter.incr(9);
  CHECK(counter.read() == 9);
  s.cluster.pause(node);
  std::int64_t sum = 9;
  std::int64_t unknown = 0;
  const auto began = Clock::now();
  for (int i = 0; i < 30; ++i) {
    try {
      counter.incr();
      ++sum;
    } catch (const Error& e) {
      CHECK(e.outcome() == Outcome::unknown);
      ++unknown;
    }
  }
  CHECK(unknown <= 3);
  CHECK(ms_since(began) < 4000);
  const Error e = error_of([&] { return counter.read(); });
  INFO(e.what());
  CHECK(e.code() == ErrorCode::incomplete);
  CHECK(e.message().find(copy_name("c", 16000)) != std::string_view::npos);
  s.cluster.resume(node);
  kit::wait_until(
      [&] {
        try {
          const std::int64_t now = counter.read();
          return now >= sum && now <= sum + unknown;
        } catch (const Error&) {
          return false;
        }
      },
      10s, "the sum");
}

TEST_CASE("hotkey: 8 threads count, connections are killed, parts come and go: the sum is right") {
  // SLOTWISE_HOTKEY_SECONDS for the long run.
  const char* const text = std::getenv("SLOTWISE_HOTKEY_SECONDS");
  const int seconds = text == nullptr ? 6 : std::atoi(text);
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  Hand hand(client, "c");
  hand.create({100, 8000, 16000});
  Config config = Config::parse(cluster.uri());
  config.client_name = "counting";
  std::vector<Client> clients;
  std::vector<Splitter> splitters;
  std::vector<SplitCounter> counters;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(Client::connect(config));
    splitters.emplace_back(clients.back(), SplitterOptions{.keep = false});
    counters.push_back(splitters.back().open_counter("c"));
  }

  Tally tally;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { count_until(stop, counters[i % 2], tally); });
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { read_until(stop, counters[i], tally); });
  Killer killer(cluster, "counting");

  // Parts are opened, folded and opened again without end, and messages of keepers of long ago
  // arrive all the time.
  std::mt19937 random(std::random_device{}());
  std::vector<std::uint64_t> numbers;
  int moves = 0;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  while (Clock::now() < end) {
    const auto& copies = hand.copies();
    std::vector<std::uint16_t> free;
    for (const std::uint16_t slot : many_slots) {
      const auto has = [slot](const CopyPlace& copy) { return copy.slot == slot; };
      if (std::none_of(copies.begin(), copies.end(), has)) free.push_back(slot);
    }
    hand.add(free[random() % free.size()]);
    const std::size_t out = random() % copies.size();
    const std::uint16_t slot = copies[out].slot;
    hand.leave(out);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 10));
    hand.fold(out);
    hand.remove(slot);
    ++moves;
    numbers.push_back(hand.number());
    const std::uint64_t old = numbers[random() % numbers.size()];
    for (const CopyPlace& copy : copies) {
      (void)hand.store().remove("c", copy.slot, old).wait().value();
      (void)hand.store().open("c", copy.slot, Kind::counter, old).wait().value();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
  killer.end();
  stop = true;
  for (auto& thread : threads)
    thread.join();

  INFO(moves << " moves, " << killer.killed() << " killed, " << tally.acknowledged << " counted, "
             << tally.unknown << " unknown, " << tally.refused << " refused, " << tally.reads
             << " reads, " << tally.failed << " failed");
  INFO(tally.text);
  const std::int64_t sum = counters[0].read();
  CHECK(sum >= tally.acknowledged);
  CHECK(sum <= tally.acknowledged + tally.unknown);
  CHECK(tally.wrong == 0);
  CHECK(tally.failed == 0);
  CHECK(tally.refused == 0);
  CHECK(tally.acknowledged > 500);
  CHECK(tally.reads > 50);
  CHECK(moves > 20);
  CHECK(killer.killed() > 10);

  // And the original has it all in the end.
  while (!hand.copies().empty()) {
    hand.leave(0);
    hand.fold(0);
  }
  hand.finish_join();
  CHECK(client.get("c") == std::to_string(sum));
  if (text != nullptr) {
    WARN(moves << " moves, " << killer.killed() << " killed, " << tally.acknowledged << " counted, "
               << tally.unknown << " unknown, " << tally.reads << " reads");
  }
}

TEST_CASE("hotkey: a counter is split and joined while it counts") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Splitter one(client);
  const Client second = Client::connect(cluster.uri());
  const Splitter two(second);
  client.set("c", "10");
  Tally tally;
  tally.begun = tally.acknowledged = 10;
  const SplitCounter counter = one.split_counter("c");
  const SplitCounter other = two.open_counter("c");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] { count_until(stop, counter, tally); });
  threads.emplace_back([&] { count_until(stop, other, tally); });
  threads.emplace_back([&] { read_until(stop, other, tally); });
  kit::wait_until([&] { return one.status("c").balanced; }, 20s, "the parts to be placed");
  kit::wait_until([&] { return tally.acknowledged > 500; }, 20s, "some increments");
  one.join("c");
  const std::int64_t then = tally.acknowledged;
  kit::wait_until([&] { return tally.acknowledged > then + 100; }, 20s, "some more");
  stop = true;
  for (auto& thread : threads)
    thread.join();
  INFO(tally.text);
  CHECK(tally.unknown == 0);
  CHECK(tally.refused == 0);
  CHECK(tally.wrong == 0);
  CHECK(tally.failed == 0);
  CHECK(client.get("c") == std::to_string(tally.acknowledged.load()));
  CHECK(counter.read() == tally.acknowledged);
  CHECK(one.keys().empty());
}
