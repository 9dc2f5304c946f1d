// Keys of any type.
#include <chrono>

#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

namespace {

// Misuse that must not compile.
template <class T>
concept can_expire = requires(const Recorder& f, T time) {
  f.expire("k", time);
};
template <class T>
concept can_expire_at = requires(const Recorder& f, T time) {
  f.expire_at("k", time);
};

static_assert(can_expire<std::chrono::microseconds> && can_expire<std::chrono::duration<double>>);
static_assert(!can_expire<int> && !can_expire<Clock::time_point>);
static_assert(can_expire_at<Clock::time_point> && can_expire_at<std::chrono::sys_days>);
static_assert(!can_expire_at<std::chrono::steady_clock::time_point> && !can_expire_at<i64>);

}  // namespace

TEST_CASE("typed commands: keys") {
  CHECK(face.del("k") == spread<i64>("DEL k"));
  CHECK(face.del({"a", "b"}) == spread<i64>("DEL a b"));
  CHECK(face.unlink({"a", "b"}) == spread<i64>("UNLINK a b"));
  CHECK(face.exists({"a", "b", "a"}) == spread<i64>("EXISTS a b a"));
  CHECK(face.touch({"a", "b"}) == spread<i64>("TOUCH a b"));
  CHECK(face.expire("k", 1h) == is<bool>("PEXPIRE k 3600000"));
  CHECK(face.expire("k", -1s) == is<bool>("PEXPIRE k -1000"));
  CHECK(face.expire("k", 1s, ExpireIf::without_expiry) == is<bool>("PEXPIRE k 1000 NX"));
  CHECK(face.expire("k", 1s, ExpireIf::with_expiry) == is<bool>("PEXPIRE k 1000 XX"));
  CHECK(face.expire("k", 1s, ExpireIf::later) == is<bool>("PEXPIRE k 1000 GT"));
  CHECK(face.expire_at("k", Clock::time_point(7s), ExpireIf::earlier) ==
        is<bool>("PEXPIREAT k 7000 LT"));
  CHECK(face.ttl("k") == is<maybe<std::chrono::milliseconds>>("PTTL k"));
  CHECK(face.expire_time("k") == is<maybe<Clock::time_point>>("PEXPIRETIME k"));
  CHECK(face.persist("k") == is<bool>("PERSIST k"));
  CHECK(face.type("k") == is<text>("TYPE k"));
  CHECK(face.rename("{k}a", "{k}b") == is<void>("RENAME {k}a {k}b"));
  CHECK(face.renamenx("{k}a", "{k}b") == is<bool>("RENAMENX {k}a {k}b"));
  CHECK(face.copy("{k}a", "{k}b") == is<bool>("COPY {k}a {k}b"));
  CHECK(face.copy("{k}a", "{k}b", true) == is<bool>("COPY {k}a {k}b REPLACE"));
  CHECK(face.dump("k") == is<maybe<text>>("DUMP k"));
  CHECK(face.restore("k", "bytes") == is<void>("RESTORE k 0 bytes"));
  CHECK(face.restore("k", "bytes", 1s, true) == is<void>("RESTORE k 1000 bytes REPLACE"));
  CHECK(face.randomkey() == is<maybe<text>>("RANDOMKEY"));
  CHECK(face.object_encoding("k") == is<maybe<text>>("OBJECT ENCODING k"));
  CHECK(face.object_idletime("k") == is<maybe<std::chrono::seconds>>("OBJECT IDLETIME k"));
  CHECK(face.memory_usage("k") == is<maybe<i64>>("MEMORY USAGE k"));
}
