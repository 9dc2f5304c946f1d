// Streams.
#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: streams") {
  using Entries = std::vector<StreamEntry>;
  using Streams = std::vector<std::pair<text, Entries>>;
  CHECK(face.xadd("k", {{"f", "v"}, {"g", "w"}}) == is<text>("XADD k * f v g w"));
  CHECK(face.xadd("k", {{"f", "v"}}, {.id = "5-1", .max_length = 100}) ==
        is<text>("XADD k MAXLEN ~ 100 5-1 f v"));
  CHECK(face.xadd("k", {{"f", "v"}}, {.max_length = 100, .exact = true}) ==
        is<text>("XADD k MAXLEN = 100 * f v"));
  CHECK(face.xlen("k") == is<i64>("XLEN k"));
  CHECK(face.xrange("k") == is<Entries>("XRANGE k - +"));
  CHECK(face.xrange("k", "1", "(2", 5) == is<Entries>("XRANGE k 1 (2 COUNT 5"));
  CHECK(face.xrevrange("k", "+", "-", 1) == is<Entries>("XREVRANGE k + - COUNT 1"));
  CHECK(face.xread({{"{k}a", "0"}, {"{k}b", "7-0"}}) ==
        is<Streams>("XREAD STREAMS {k}a {k}b 0 7-0"));
  CHECK(face.xread({{"k", "$"}}, {.count = 3, .wait = 250ms}) ==
        is<Streams>("XREAD COUNT 3 BLOCK 250 STREAMS k $"));
  CHECK(face.xdel("k", {"1-0", "2-0"}) == is<i64>("XDEL k 1-0 2-0"));
  CHECK(face.xtrim("k", 100) == is<i64>("XTRIM k MAXLEN ~ 100"));
  CHECK(face.xtrim("k", 100, true) == is<i64>("XTRIM k MAXLEN = 100"));
}
