// Strings and counters.
#include <string>
#include <string_view>

#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

namespace {

// Misuse that must not compile.
template <class K>
concept can_get = requires(const Recorder& f, K key) {
  f.get(key);
};
template <class K, class V>
concept can_set = requires(const Recorder& f, K key, V value) {
  f.set(key, value);
};

static_assert(can_get<const char*> && can_get<std::string> && can_get<std::string_view>);
static_assert(!can_get<int> && !can_get<double> && !can_get<char> && !can_get<bool>);
static_assert(can_set<std::string, std::string> && !can_set<std::string, int>);

}  // namespace

TEST_CASE("typed commands: strings") {
  CHECK(face.get("k") == is<maybe<text>>("GET k"));
  CHECK(face.set("k", "v") == is<bool>("SET k v"));
  CHECK(face.set("k", "v", 10s) == is<bool>("SET k v PX 10000"));
  CHECK(face.set("k", "v", {.ttl = 10s}) == is<bool>("SET k v PX 10000"));
  CHECK(face.set("k", "v", {.expire_at = Clock::time_point(5s)}) == is<bool>("SET k v PXAT 5000"));
  CHECK(face.set("k", "v", {.keep_ttl = true, .condition = SetIf::present}) ==
        is<bool>("SET k v XX KEEPTTL"));
  CHECK(face.set("k", "v", {.ttl = 1ms, .condition = SetIf::absent}) ==
        is<bool>("SET k v NX PX 1"));
  CHECK(face.set("k", "v", {.if_equal = "old"}) == is<bool>("SET k v IFEQ old"));
  CHECK(face.set_get("k", "v") == is<maybe<text>>("SET k v GET"));
  CHECK(face.set_get("k", "v", {.ttl = 1min}) == is<maybe<text>>("SET k v PX 60000 GET"));
  CHECK(face.setnx("k", "v") == is<bool>("SETNX k v"));
  CHECK(face.getdel("k") == is<maybe<text>>("GETDEL k"));
  CHECK(face.getex("k", 2s) == is<maybe<text>>("GETEX k PX 2000"));
  CHECK(face.getex_at("k", Clock::time_point(2s)) == is<maybe<text>>("GETEX k PXAT 2000"));
  CHECK(face.getex_persist("k") == is<maybe<text>>("GETEX k PERSIST"));
  CHECK(face.append("k", "v") == is<i64>("APPEND k v"));
  CHECK(face.strlen("k") == is<i64>("STRLEN k"));
  CHECK(face.getrange("k", 0, -1) == is<text>("GETRANGE k 0 -1"));
  CHECK(face.setrange("k", 5, "v") == is<i64>("SETRANGE k 5 v"));
  CHECK(face.mget({"a", "b"}) == spread<std::vector<maybe<text>>>("MGET a b"));
  CHECK(face.mset({{"a", "1"}, {"b", "2"}}) == spread<void>("MSET a 1 b 2"));
  CHECK(face.msetnx({{"{k}a", "1"}, {"{k}b", "2"}}) == is<bool>("MSETNX {k}a 1 {k}b 2"));
  CHECK(face.incr("k") == is<i64>("INCR k"));
  CHECK(face.incrby("k", -5) == is<i64>("INCRBY k -5"));
  CHECK(face.decr("k") == is<i64>("DECR k"));
  CHECK(face.decrby("k", 5) == is<i64>("DECRBY k 5"));
  CHECK(face.incrbyfloat("k", 0.1) == is<double>("INCRBYFLOAT k 0.1"));
}
