#include "cli/hotkeys/hotkeys.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

using namespace slotwise;
using namespace slotwise::cli;
using hotkey::FindSource;
using hotkey::FoundKey;

namespace {

const hotkey::FindResult some = {
    {{"hot:product:1", "127.0.0.1:7000", 0.8831, 212, 1234567, FindSource::slot_stats_freq},
     {std::string("\0\xff", 2), "127.0.0.1:7001", {}, 12, {}, FindSource::object_freq}},
    {"127.0.0.1:7002: no answer.", "A note with \x1b[31m in it."}};

}  // namespace

TEST_CASE("hotkeys find: the table, then the notes") {
  CHECK(find_text(some) ==
        "KEY            NODE             SHARE  COUNTER       SIZE  SOURCE\n"
        "hot:product:1  127.0.0.1:7000  88.3 %      212  1,234,567  SLOT-STATS/FREQ\n"
        "\"\\x00\\xff\"     127.0.0.1:7001               12             OBJECT FREQ\n"
        "\n"
        "note: 127.0.0.1:7002: no answer.\n"
        "note: \"A note with \\x1b[31m in it.\"\n");
  CHECK(find_text({}) == "No hot key was found.\n");
}

TEST_CASE("hotkeys find: JSON") {
  const std::string line = find_json(some);
  CHECK(line.back() == '\n');
  const auto json = nlohmann::json::parse(line);
  REQUIRE(json["keys"].size() == 2);
  const auto& first = json["keys"][0];
  CHECK(first["key"] == "hot:product:1");
  CHECK(first["node"] == "127.0.0.1:7000");
  CHECK(first["share"] == 0.8831);
  CHECK(first["counter"] == 212);
  CHECK(first["size"] == 1234567);
  CHECK(first["source"] == "SLOT-STATS/FREQ");
  CHECK_FALSE(first.contains("encoding"));
  const auto& second = json["keys"][1];
  CHECK(second["key"] == std::string("\0\xc3\xbf", 3));
  CHECK(second["encoding"] == "latin1");
  CHECK(second["share"].is_null());
  CHECK(second["size"].is_null());
  CHECK(json["notes"][1] == some.notes[1]);
  CHECK(nlohmann::json::parse(find_json({})) ==
        nlohmann::json{{"keys", nlohmann::json::array()}, {"notes", nlohmann::json::array()}});
}

TEST_CASE("hotkeys: a long key is cut, and cannot be taken for another one") {
  CHECK(shown_key("short") == "short");
  CHECK(shown_key(std::string(50, 'k'), 40) == std::string(40, 'k') + "...");
  CHECK(shown_key("") == "\"\"");
  CHECK(shown_key("a\nb") == "\"a\\nb\"");
}

TEST_CASE("hotkeys watch: bars") {
  CHECK(bar(0, 10) == "..........");
  CHECK(bar(0.5, 10) == "#####.....");
  CHECK(bar(1, 10) == "##########");
  CHECK(bar(7, 4) == "####");
  CHECK(bar(-1, 4) == "....");
}

TEST_CASE("hotkeys watch: what INFO says") {
  const auto counts = parse_counts(
      "# Stats\r\ntotal_commands_processed:1234\r\n# CPU\r\nused_cpu_sys:1.5\r\n"
      "used_cpu_user:2.25\r\nused_cpu_user_children:9\r\n");
  REQUIRE(counts);
  CHECK(counts->commands == 1234);
  CHECK(counts->cpu_seconds == 3.75);
  CHECK_FALSE(parse_counts("OK"));
}

TEST_CASE("hotkeys watch: text and JSON of one view") {
  const std::vector<WatchedNode> nodes = {
      {"127.0.0.1:7000", true, 20'000.0, 1.0, {some.keys[0], some.keys[1]}},
      {"127.0.0.1:7001", true, 5'000.0, 0.25, {}},
      {"127.0.0.1:7002", false, {}, {}, {}}};
  const std::string text = watch_text(nodes);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text ==
        "NODE                  OPS/S                  CPU                HOTTEST KEYS\n"
        "127.0.0.1:7000       20,000  ############  100 %  ############  hot:product:1 88.3 %, "
        "\"\\x00\\xff\" (12)\n"
        "127.0.0.1:7001        5,000  ###.........   25 %  ###.........\n"
        "  127.0.0.1:7002  no answer\n");
  const auto json = nlohmann::json::parse(watch_json(nodes, 1'700'000'000'000, 1.001));
  CHECK(json["time"] == 1'700'000'000'000);
  CHECK(json["seconds"] == 1.001);
  REQUIRE(json["nodes"].size() == 3);
  CHECK(json["nodes"][0]["ops_per_second"] == 20000);
  CHECK(json["nodes"][0]["cpu"] == 1);
  CHECK(json["nodes"][0]["role"] == "primary");
  CHECK(json["nodes"][0]["keys"][0]["share"] == 0.8831);
  CHECK(json["nodes"][0]["keys"][1]["counter"] == 12);
  CHECK(json["nodes"][2]["role"] == "replica");
  CHECK(json["nodes"][2]["ops_per_second"].is_null());
}
