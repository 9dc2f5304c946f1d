// Scripts and functions.
#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("typed commands: scripts") {
  CHECK(face.eval("body") == is<Reply>("EVAL body 0"));
  CHECK(face.eval<i64>("body", {"{k}a", "{k}b"}, {"x"}) == is<i64>("EVAL body 2 {k}a {k}b x"));
  CHECK(face.eval<void>("body", "k", "x") == is<void>("EVAL body 1 k x"));
  CHECK(face.eval_ro<texts>("body", "k") == is<texts>("EVAL_RO body 1 k"));
  CHECK(face.evalsha("sha", "k") == is<Reply>("EVALSHA sha 1 k"));
  CHECK(face.fcall<text>("f", "k", {"x", "y"}) == is<text>("FCALL f 1 k x y"));
  CHECK(face.fcall_ro("f") == is<Reply>("FCALL_RO f 0"));
  CHECK(face.script_load("body") == is<text>("SCRIPT LOAD body"));
  CHECK(face.script_exists({"a", "b"}) == is<std::vector<bool>>("SCRIPT EXISTS a b"));

  const Script script("return 1");
  CHECK(script.body() == "return 1");
  CHECK(script.sha1() == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  CHECK(Script("").sha1() == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(*script.shared_body() == script.body());
  CHECK(face.eval<i64>(script, "k", {"x"}) ==
        is<i64>("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 k x", Call::Kind::script));
}
