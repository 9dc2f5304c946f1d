// Times as the methods take them, and as a server gets them.
#include <chrono>

#include "commands/blocking.hpp"
#include "commands/command_info.hpp"
#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: blocking ones are known as such, with their time") {
  using commands::BlockTime;
  const auto time_of = [](const Call& call) {
    const std::vector<std::string_view> words(call.words.begin(), call.words.end());
    const commands::CommandInfo& info = *commands::find(words);
    CHECK(commands::blocks(info, words));
    return commands::server_block_time(info, words);
  };
  const auto limited = [](std::chrono::milliseconds t) {
    return BlockTime{BlockTime::Kind::limited, t};
  };
  CHECK(time_of(face.blpop("k", 1s)) == limited(1s));
  CHECK(time_of(face.brpop("k", 1ms)) == limited(1ms));
  CHECK(time_of(face.blmove("k", "k", Side::left, Side::left, 90061007ms)) == limited(90061007ms));
  CHECK(time_of(face.bzpopmin("k", 24h * 1000)) == limited(24h * 1000));
  CHECK(time_of(face.bzpopmax("k", 2.5s)) == limited(2500ms));
  CHECK(time_of(face.xread({{"k", "$"}}, {.wait = 20ms})) == limited(20ms));
  CHECK(time_of(face.blpop("k", 0s)).kind == BlockTime::Kind::forever);
  CHECK(time_of(face.blpop("k", std::chrono::nanoseconds(1))) == limited(1ms));
}

TEST_CASE("typed commands: times are rounded up and never overflow") {
  using std::chrono::duration;
  using std::chrono::nanoseconds;
  CHECK(Duration(1ns).milliseconds() == 1);
  CHECK(Duration(1000001ns).milliseconds() == 2);
  CHECK(Duration(999us).milliseconds() == 1);
  CHECK(Duration(0s).milliseconds() == 0);
  CHECK(Duration(-1500us).milliseconds() == -1);
  CHECK(Duration(duration<double>(0.0001)).milliseconds() == 1);
  CHECK(Duration(duration<double>(1e300)).milliseconds() == INT64_MAX);
  CHECK(Duration(duration<double>(-1e300)).milliseconds() == INT64_MIN);
  CHECK(Duration(duration<float>(0.25F)).milliseconds() == 250);
  CHECK(Duration(std::chrono::hours::max()).milliseconds() == INT64_MAX);
  CHECK(Duration(std::chrono::milliseconds::max()).milliseconds() == INT64_MAX);
  CHECK(Duration(nanoseconds::max()).milliseconds() == 9223372036855);
  CHECK(Duration(std::chrono::days(1)).milliseconds() == 86400000);
  CHECK(UnixTime(Clock::time_point(1ns)).milliseconds() == 1);
  CHECK(UnixTime(std::chrono::sys_days(std::chrono::days(1))).milliseconds() == 86400000);

  const auto seconds = [](Duration d) {
    Args args;
    d.append_seconds(args);
    return std::string(args.words()[0]);
  };
  CHECK(seconds(1s) == "1");
  CHECK(seconds(1ms) == "0.001");
  CHECK(seconds(61050ms) == "61.050");
  CHECK(seconds(1000000s) == "1000000");
  CHECK(seconds(-1500ms) == "-1.500");
  CHECK(seconds(std::chrono::milliseconds::max()) == "9223372036854775.807");
  CHECK(seconds(std::chrono::milliseconds::min()) == "-9223372036854775.808");
}
