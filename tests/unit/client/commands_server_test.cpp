// The deployment as a whole, and publishing.
#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: server, publishing") {
  CHECK(face.ping() == is<void>("PING"));
  CHECK(face.dbsize() == is<i64>("DBSIZE"));
  CHECK(face.flushdb() == is<void>("FLUSHDB ASYNC"));
  CHECK(face.flushall() == is<void>("FLUSHALL ASYNC"));
  CHECK(face.time() == is<Clock::time_point>("TIME"));
  CHECK(face.publish("c", "m") == is<i64>("PUBLISH c m"));
  CHECK(face.spublish("c", "m") == is<i64>("SPUBLISH c m"));
}
