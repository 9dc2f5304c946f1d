// Sets.
#include <set>
#include <unordered_set>

#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: sets") {
  using Set = std::unordered_set<text>;
  CHECK(face.sadd("k", {"a", "b"}) == is<i64>("SADD k a b"));
  CHECK(face.srem("k", "a") == is<i64>("SREM k a"));
  CHECK(face.smembers("k") == is<Set>("SMEMBERS k"));
  CHECK(face.smembers<texts>("k") == is<texts>("SMEMBERS k"));
  CHECK(face.sismember("k", "a") == is<bool>("SISMEMBER k a"));
  CHECK(face.smismember("k", {"a", "b"}) == is<std::vector<bool>>("SMISMEMBER k a b"));
  CHECK(face.scard("k") == is<i64>("SCARD k"));
  CHECK(face.spop("k") == is<maybe<text>>("SPOP k"));
  CHECK(face.spop("k", 2) == is<texts>("SPOP k 2"));
  CHECK(face.srandmember("k") == is<maybe<text>>("SRANDMEMBER k"));
  CHECK(face.srandmember("k", -2) == is<texts>("SRANDMEMBER k -2"));
  CHECK(face.smove("{k}a", "{k}b", "m") == is<bool>("SMOVE {k}a {k}b m"));
  CHECK(face.sinter({"{k}a", "{k}b"}) == is<Set>("SINTER {k}a {k}b"));
  CHECK(face.sunion({"{k}a", "{k}b"}) == is<Set>("SUNION {k}a {k}b"));
  CHECK(face.sdiff<std::set<text>>({"{k}a", "{k}b"}) == is<std::set<text>>("SDIFF {k}a {k}b"));
  CHECK(face.sintercard({"{k}a", "{k}b"}, 5) == is<i64>("SINTERCARD 2 {k}a {k}b LIMIT 5"));
  CHECK(face.sinterstore("{k}to", {"{k}a", "{k}b"}) == is<i64>("SINTERSTORE {k}to {k}a {k}b"));
  CHECK(face.sunionstore("{k}to", {"{k}a", "{k}b"}) == is<i64>("SUNIONSTORE {k}to {k}a {k}b"));
  CHECK(face.sdiffstore("{k}to", "{k}a") == is<i64>("SDIFFSTORE {k}to {k}a"));
}
