// Bitmaps and HyperLogLogs.
#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: bits") {
  CHECK(face.setbit("k", 7, true) == is<bool>("SETBIT k 7 1"));
  CHECK(face.setbit("k", 7, false) == is<bool>("SETBIT k 7 0"));
  CHECK(face.getbit("k", 7) == is<bool>("GETBIT k 7"));
  CHECK(face.bitcount("k") == is<i64>("BITCOUNT k"));
  CHECK(face.bitcount("k", 0, -2) == is<i64>("BITCOUNT k 0 -2"));
  CHECK(face.pfadd("k", {"a", "b"}) == is<bool>("PFADD k a b"));
  CHECK(face.pfcount({"{k}a", "{k}b"}) == is<i64>("PFCOUNT {k}a {k}b"));
  CHECK(face.pfmerge("{k}a", "{k}b") == is<void>("PFMERGE {k}a {k}b"));
}
