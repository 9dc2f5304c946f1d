#include "hotkey/find_parts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace slotwise;
using namespace slotwise::hotkey;

namespace {

using Replies = std::vector<Reply>;

Reply text(std::string_view bytes) {
  return Reply::make_text(Reply::Type::string, std::string(bytes));
}
Reply number(std::int64_t value) {
  return Reply::make_integer(value);
}
Reply array(Replies elements) {
  return Reply::make_aggregate(Reply::Type::array, std::move(elements));
}
Reply map(Replies elements) {
  return Reply::make_aggregate(Reply::Type::map, std::move(elements));
}

Reply slot_entry(std::int64_t slot, std::int64_t keys, std::int64_t usec, bool resp3) {
  Replies fields = {text("key-count"),        number(keys), text("cpu-usec"), number(usec),
                    text("network-bytes-in"), number(9)};
  return array({number(slot), resp3 ? map(std::move(fields)) : array(std::move(fields))});
}

Candidate candidate(std::string key, double rank, std::optional<std::uint64_t> counter = {}) {
  Candidate c;
  c.found.key = std::move(key);
  c.found.counter = counter;
  c.rank = rank;
  return c;
}

}  // namespace

TEST_CASE("slot statistics are read in both protocols") {
  for (const bool resp3 : {false, true}) {
    const auto slots =
        parse_slot_stats(array({slot_entry(7, 2, 150, resp3), slot_entry(16383, 0, 0, resp3)}));
    REQUIRE(slots);
    REQUIRE(slots->size() == 2);
    CHECK((*slots)[0].slot == 7);
    CHECK((*slots)[0].keys == 2);
    CHECK((*slots)[0].cpu_usec == 150);
    CHECK((*slots)[1].slot == 16383);
  }
  CHECK(parse_slot_stats(array({}))->empty());
}

TEST_CASE("what is no slot statistics with CPU times is not taken for one") {
  CHECK_FALSE(parse_slot_stats(Reply()));
  CHECK_FALSE(parse_slot_stats(text("OK")));
  CHECK_FALSE(parse_slot_stats(array({number(1)})));
  CHECK_FALSE(parse_slot_stats(array({slot_entry(16384, 1, 1, true)})));
  CHECK_FALSE(parse_slot_stats(array({slot_entry(-1, 1, 1, true)})));
  CHECK_FALSE(parse_slot_stats(array({array({number(1), map({text("key-count"), number(1)})})})));
}

TEST_CASE("between two looks: the difference counts, not all the time before") {
  const std::vector<SlotUse> before = {{1, 1, 1'000'000}, {2, 1, 500}, {3, 1, 70}};
  const std::vector<SlotUse> after = {{1, 1, 1'000'010}, {2, 1, 2'500}, {3, 1, 70}, {4, 1, 40}};
  const auto used = used_between(before, after);
  REQUIRE(used.size() == 3);
  CHECK(used[0].slot == 2);
  CHECK(used[0].cpu_usec == 2000);
  CHECK(used[1].slot == 4);
  CHECK(used[1].cpu_usec == 40);
  CHECK(used[2].slot == 1);
  CHECK(used[2].cpu_usec == 10);
}

TEST_CASE("between two looks the statistics were reset: what is there was used since") {
  const auto used = used_between({{1, 1, 1000}}, {{1, 1, 30}});
  REQUIRE(used.size() == 1);
  CHECK(used[0].cpu_usec == 30);
}

TEST_CASE("a counter of OBJECT FREQ stands for a number of uses") {
  CHECK(uses_of_counter(0, 10) == 1);
  CHECK(uses_of_counter(5, 10) == 1);
  CHECK(uses_of_counter(6, 10) == 2);
  // Valkey's documentation: with the factor 10, 100 hits give 10, 1,000 give 18, 100,000 give 142.
  CHECK(uses_of_counter(10, 10) > 60);
  CHECK(uses_of_counter(10, 10) < 160);
  CHECK(uses_of_counter(18, 10) > 600);
  CHECK(uses_of_counter(18, 10) < 1200);
  CHECK(uses_of_counter(142, 10) > 80'000);
  CHECK(uses_of_counter(142, 10) < 120'000);
  CHECK(uses_of_counter(105, 0) == 101);
}

TEST_CASE("which form of HOTKEYS a server has") {
  const auto command = [](const std::vector<std::string>& subcommands) {
    Replies list;
    for (const std::string& name : subcommands)
      list.push_back(array({text(name), number(-2)}));
    return array({array({text("hotkeys"), number(-2), array({}), array(std::move(list))})});
  };
  CHECK(hotkeys_form(command({"hotkeys|get", "hotkeys|start", "hotkeys|stop"})) ==
        HotkeysForm::sessions);
  CHECK(hotkeys_form(command({"hotkeys|reset", "hotkeys|get"})) == HotkeysForm::windows);
  CHECK(hotkeys_form(array({Reply()})) == HotkeysForm::none);
  CHECK(hotkeys_form(array({})) == HotkeysForm::none);
}

TEST_CASE("HOTKEYS GET of a session") {
  const Replies fields = {text("tracking-active"),
                          number(0),
                          text("all-commands-all-slots-us"),
                          number(220),
                          text("by-cpu-time-us"),
                          array({text("x"), number(104), text(std::string("\0y", 2)), number(98)})};
  for (const Reply& reply :
       {array(fields), map(fields), array({map(fields)}), array({array(fields)})}) {
    const auto keys = parse_hotkeys(reply, HotkeysForm::sessions);
    REQUIRE(keys);
    CHECK(keys->total_usec == 220);
    REQUIRE(keys->keys.size() == 2);
    CHECK(keys->keys[0].key == "x");
    CHECK(keys->keys[0].value == 104);
    CHECK(keys->keys[1].key == std::string("\0y", 2));
  }
  CHECK_FALSE(parse_hotkeys(Reply(), HotkeysForm::sessions));
  CHECK_FALSE(parse_hotkeys(array({text("tracking-active"), number(1)}), HotkeysForm::sessions));
}

TEST_CASE("HOTKEYS GET of windows") {
  const Replies entry = {text("key"), text("x"), text("db"), number(3), text("qps"), number(5000)};
  for (const Reply& reply : {array({array(entry)}), array({map(entry)})}) {
    const auto keys = parse_hotkeys(reply, HotkeysForm::windows);
    REQUIRE(keys);
    REQUIRE(keys->keys.size() == 1);
    CHECK(keys->keys[0].key == "x");
    CHECK(keys->keys[0].value == 5000);
    CHECK(keys->keys[0].database == 3);
  }
  CHECK(parse_hotkeys(array({}), HotkeysForm::windows)->keys.empty());
  CHECK_FALSE(parse_hotkeys(array({number(1)}), HotkeysForm::windows));
}

TEST_CASE("a value of INFO") {
  const std::string info = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lfu\r\nlast:1";
  CHECK(info_value(info, "maxmemory_policy") == "allkeys-lfu");
  CHECK(info_value(info, "maxmemory") == "0");
  CHECK(info_value(info, "last") == "1");
  CHECK(info_value(info, "memory_policy").empty());
}

TEST_CASE("the best keys are kept, in bounded memory and in order") {
  BestKeys best(3);
  for (std::uint64_t i = 0; i < 10'000; ++i)
    best.add(candidate(std::to_string(i), 0, i * 7919 % 10'007));
  best.add(candidate("share", 0.01));
  best.add(candidate("large share", 0.5));
  const auto keys = best.take();
  REQUIRE(keys.size() == 3);
  CHECK(keys[0].found.key == "large share");
  CHECK(keys[1].found.key == "share");
  CHECK(keys[2].found.counter > 10'000);
}

TEST_CASE("the same note of several nodes is one") {
  Notes notes;
  notes.add("a:1", "this.");
  notes.add("General.");
  notes.add("b:2", "this.");
  notes.add("a:1", "that.");
  CHECK(notes.take() == std::vector<std::string>{"a:1, b:2: this.", "General.", "a:1: that."});
}
