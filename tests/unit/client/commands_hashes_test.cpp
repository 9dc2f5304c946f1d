// Hashes.
#include <map>
#include <unordered_map>

#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: hashes") {
  using Map = std::unordered_map<text, text>;
  CHECK(face.hset("k", "f", "v") == is<i64>("HSET k f v"));
  CHECK(face.hset("k", {{"f", "v"}, {"g", "w"}}) == is<i64>("HSET k f v g w"));
  CHECK(face.hset("k", {{"f", "v"}}) == is<i64>("HSET k f v"));
  CHECK(face.hsetnx("k", "f", "v") == is<bool>("HSETNX k f v"));
  CHECK(face.hget("k", "f") == is<maybe<text>>("HGET k f"));
  CHECK(face.hmget("k", {"f", "g"}) == is<std::vector<maybe<text>>>("HMGET k f g"));
  CHECK(face.hgetall("k") == is<Map>("HGETALL k"));
  CHECK(face.hgetall<std::map<text, int>>("k") == is<std::map<text, int>>("HGETALL k"));
  CHECK(face.hdel("k", {"f", "g"}) == is<i64>("HDEL k f g"));
  CHECK(face.hexists("k", "f") == is<bool>("HEXISTS k f"));
  CHECK(face.hincrby("k", "f", 2) == is<i64>("HINCRBY k f 2"));
  CHECK(face.hincrbyfloat("k", "f", 2.5) == is<double>("HINCRBYFLOAT k f 2.5"));
  CHECK(face.hkeys("k") == is<texts>("HKEYS k"));
  CHECK(face.hvals("k") == is<texts>("HVALS k"));
  CHECK(face.hlen("k") == is<i64>("HLEN k"));
  CHECK(face.hstrlen("k", "f") == is<i64>("HSTRLEN k f"));
  CHECK(face.hrandfield("k") == is<maybe<text>>("HRANDFIELD k"));
  CHECK(face.hrandfield("k", -3) == is<texts>("HRANDFIELD k -3"));
  CHECK(face.hrandfield_with_values("k", 3) ==
        is<std::vector<std::pair<text, text>>>("HRANDFIELD k 3 WITHVALUES"));
}
