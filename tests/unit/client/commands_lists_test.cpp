// Lists.
#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: lists") {
  using KeyAndValue = maybe<std::pair<text, text>>;
  CHECK(face.lpush("k", {"a", "b"}) == is<i64>("LPUSH k a b"));
  CHECK(face.rpush("k", "a") == is<i64>("RPUSH k a"));
  CHECK(face.lpushx("k", "a") == is<i64>("LPUSHX k a"));
  CHECK(face.rpushx("k", {"a", "b"}) == is<i64>("RPUSHX k a b"));
  CHECK(face.lpop("k") == is<maybe<text>>("LPOP k"));
  CHECK(face.lpop("k", 2) == is<texts>("LPOP k 2"));
  CHECK(face.rpop("k") == is<maybe<text>>("RPOP k"));
  CHECK(face.rpop("k", 2) == is<texts>("RPOP k 2"));
  CHECK(face.llen("k") == is<i64>("LLEN k"));
  CHECK(face.lrange("k", 0, -1) == is<texts>("LRANGE k 0 -1"));
  CHECK(face.lindex("k", -1) == is<maybe<text>>("LINDEX k -1"));
  CHECK(face.lset("k", 0, "v") == is<void>("LSET k 0 v"));
  CHECK(face.lrem("k", -2, "v") == is<i64>("LREM k -2 v"));
  CHECK(face.ltrim("k", 0, 9) == is<void>("LTRIM k 0 9"));
  CHECK(face.linsert("k", Insert::before, "p", "v") == is<i64>("LINSERT k BEFORE p v"));
  CHECK(face.linsert("k", Insert::after, "p", "v") == is<i64>("LINSERT k AFTER p v"));
  CHECK(face.lpos("k", "v") == is<maybe<i64>>("LPOS k v"));
  CHECK(face.lmove("{k}a", "{k}b", Side::left, Side::right) ==
        is<maybe<text>>("LMOVE {k}a {k}b LEFT RIGHT"));
  CHECK(face.blpop("k", 1s) == is<KeyAndValue>("BLPOP k 1"));
  CHECK(face.brpop({"{k}a", "{k}b"}, 1500ms) == is<KeyAndValue>("BRPOP {k}a {k}b 1.500"));
  CHECK(face.blmove("{k}a", "{k}b", Side::right, Side::left, 20ms) ==
        is<maybe<text>>("BLMOVE {k}a {k}b RIGHT LEFT 0.020"));
}
