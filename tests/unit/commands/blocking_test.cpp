#include "commands/blocking.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string_view>

#include "commands/table.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace slotwise::commands;
using namespace std::chrono_literals;
using commands_test::cut;
using Kind = BlockTime::Kind;

BlockTime time_of(std::string_view text) {
  const auto args = cut(text);
  return server_block_time(*find(args), args);
}

BlockTime limited(std::chrono::milliseconds time) {
  return {Kind::limited, time};
}

bool blocking(std::string_view text) {
  const auto args = cut(text);
  return blocks(*find(args), args);
}

}  // namespace

TEST_CASE("server_block_time: seconds and milliseconds, first and last") {
  CHECK(time_of("BLPOP q 1") == limited(1s));
  CHECK(time_of("BLPOP a b c 0.5") == limited(500ms));
  CHECK(time_of("brpop q 2") == limited(2s));
  CHECK(time_of("BLMOVE a b LEFT RIGHT 1.5") == limited(1500ms));
  CHECK(time_of("BRPOPLPUSH a b 3") == limited(3s));
  CHECK(time_of("BLMPOP 0.25 1 a LEFT") == limited(250ms));
  CHECK(time_of("BZMPOP 4 1 a MIN") == limited(4s));
  CHECK(time_of("BZPOPMIN a 1e1") == limited(10s));
  CHECK(time_of("BZPOPMAX a 1") == limited(1s));
  CHECK(time_of("XREAD BLOCK 1000 STREAMS s $") == limited(1s));
  CHECK(time_of("XREADGROUP GROUP g c COUNT 1 BLOCK 10 STREAMS s >") == limited(10ms));
  CHECK(time_of("WAIT 1 1000") == limited(1s));
  CHECK(time_of("WAITAOF 1 0 250") == limited(250ms));
  CHECK(time_of("BLPOP q 0.0001") == limited(1ms));  // rounded up, never down to for ever
}

TEST_CASE("server_block_time: 0 is for ever, not no time") {
  for (const char* text :
       {"BLPOP q 0", "BLPOP q 0.0", "BLMPOP 0 1 a LEFT", "XREAD BLOCK 0 STREAMS s $", "WAIT 1 0",
        "BLPOP q 1e300", "BLPOP q 0x10", "BLPOP q soon"}) {
    INFO(text);
    CHECK(time_of(text).kind == Kind::forever);
  }
}

TEST_CASE("server_block_time: what is answered at once") {
  for (const char* text : {"GET k", "XREAD STREAMS s 0", "XREAD COUNT 1 STREAMS BLOCK 5",
                           "XREADGROUP GROUP BLOCK 100 STREAMS s >", "CLIENT PAUSE 1000", "LPOP k",
                           "BLPOP q -1", "BLPOP q", "BLPOP q nan", "WAIT 1"}) {
    INFO(text);
    CHECK(time_of(text).kind == Kind::none);
  }
}

TEST_CASE("blocks: the flag, and BLOCK for stream reads") {
  CHECK(blocking("BLPOP q 1"));
  CHECK(blocking("WAIT 1 5"));
  CHECK(blocking("XREAD block 5 STREAMS s $"));
  CHECK_FALSE(blocking("XREAD STREAMS s $"));
  CHECK_FALSE(blocking("XREADGROUP GROUP BLOCK BLOCK STREAMS s >"));
  CHECK_FALSE(blocking("GET k"));
  CHECK_FALSE(blocking("CLIENT PAUSE 5"));
}
