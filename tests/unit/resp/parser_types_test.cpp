// Every type of RESP2 and RESP3, whole and cut at every byte.
#include <cmath>
#include <limits>

#include "parse.hpp"

namespace slotwise::resp::test {

TEST_CASE("simple values") {
  CHECK(parse_one("+OK\r\n") == status("OK"));
  CHECK(parse_one("+\r\n") == status(""));
  CHECK(parse_one("-ERR no\r\n") == error("ERR no"));
  CHECK(parse_one("-MOVED\r\n") == error("MOVED"));
  CHECK(parse_one("-MOVED 99999 h:1\r\n") == error("MOVED 99999 h:1"));
  CHECK(parse_one("_\r\n") == nil());
  CHECK(parse_one("#t\r\n") == Reply::make_boolean(true));
  CHECK(parse_one("#f\r\n") == Reply::make_boolean(false));
  CHECK(parse_one("(123456789012345678901234567890\r\n") == big("123456789012345678901234567890"));
  CHECK(parse_one("(-12\r\n") == big("-12"));
}

TEST_CASE("integers") {
  CHECK(parse_one(":0\r\n") == number(0));
  CHECK(parse_one(":-1\r\n") == number(-1));
  CHECK(parse_one(":9223372036854775807\r\n") == number(INT64_MAX));
  CHECK(parse_one(":-9223372036854775808\r\n") == number(INT64_MIN));
}

TEST_CASE("doubles") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(parse_one(",3.25\r\n") == Reply::make_real(3.25));
  CHECK(parse_one(",10\r\n") == Reply::make_real(10));
  CHECK(parse_one("*1\r\n,+1.5\r\n") == array({Reply::make_real(1.5)}));
  CHECK(parse_one(",-1.5e-300\r\n") == Reply::make_real(-1.5e-300));
  CHECK(parse_one(",4.9406564584124654e-324\r\n") == Reply::make_real(5e-324));
  CHECK(parse_one(",inf\r\n") == Reply::make_real(infinite));
  CHECK(parse_one(",-inf\r\n") == Reply::make_real(-infinite));
  CHECK(parse_one("*2\r\n,inf\r\n,-0.5\r\n") ==
        array({Reply::make_real(infinite), Reply::make_real(-0.5)}));
  for (const char* bytes : {",nan\r\n", ",-nan\r\n"}) {
    const Outcome outcome = run(bytes);  // no comparison with itself: a NaN is not equal to itself
    REQUIRE(outcome.replies.size() == 1);
    CHECK(outcome.replies[0].type() == Type::real);
    CHECK(std::isnan(outcome.replies[0].real()));
  }
}

TEST_CASE("bulk strings") {
  CHECK(parse_one("$5\r\nhello\r\n") == str("hello"));
  CHECK(parse_one("$0\r\n\r\n") == str(""));
  CHECK(parse_one("$-1\r\n") == nil());
  CHECK(parse_one("$4\r\n\r\n\r\n\r\n") == str("\r\n\r\n"));
  CHECK(parse_one({"$3\r\n\0\xff\0\r\n", 9}) == str({"\0\xff\0", 3}));
  CHECK(parse_one("!10\r\nSYNTAX bad\r\n") == error("SYNTAX bad"));
  CHECK(parse_one("!6\r\nA\r\nB\r\n\r\n") == error("A\r\nB\r\n"));
}

TEST_CASE("verbatim strings keep their format apart") {
  const Reply reply = parse_one("=8\r\nmkd:# hi\r\n");
  CHECK(reply.type() == Type::verbatim);
  CHECK(reply.text() == "# hi");
  CHECK(reply.format() == "mkd");
  CHECK(parse_one("=4\r\ntxt:\r\n").text().empty());

  const Reply nested = parse_one("*1\r\n=8\r\nmkd:# hi\r\n");
  CHECK(nested.elements()[0].text() == "# hi");
  CHECK(nested.elements()[0].format() == "mkd");
}

TEST_CASE("aggregates") {
  CHECK(parse_one("*0\r\n") == array({}));
  CHECK(parse_one("*-1\r\n") == nil());
  CHECK(parse_one("*2\r\n:1\r\n$1\r\na\r\n") == array({number(1), str("a")}));
  CHECK(parse_one("%1\r\n+k\r\n:1\r\n") == map({status("k"), number(1)}));
  CHECK(parse_one("%0\r\n") == map({}));
  CHECK(parse_one("~2\r\n:1\r\n:2\r\n") == set({number(1), number(2)}));
  CHECK(parse_one("*4\r\n_\r\n$-1\r\n*-1\r\n*0\r\n") == array({nil(), nil(), nil(), array({})}));
  CHECK(parse_one("*3\r\n#t\r\n(99999999999999999999\r\n-ERR x\r\n") ==
        array({Reply::make_boolean(true), big("99999999999999999999"), error("ERR x")}));
  CHECK(parse_one("*2\r\n*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n~1\r\n:2\r\n:3\r\n") ==
        array({array({array({number(1)}), map({status("a"), set({number(2)})})}), number(3)}));
}

TEST_CASE("an error may be any element") {
  CHECK(parse_one("*3\r\n!5\r\nERR 1\r\n-ERR 2\r\n!5\r\nERR 3\r\n") ==
        array({error("ERR 1"), error("ERR 2"), error("ERR 3")}));
}

TEST_CASE("pushes stand between replies") {
  const std::string_view invalidate = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\nq0\r\n";
  const Reply pushed = push({str("invalidate"), array({str("q0")})});
  const std::string get = "$1\r\n3\r\n", ping = "+PONG\r\n", odd = ">2\r\n$3\r\nxyz\r\n:1\r\n";

  for (const std::string& bytes :
       {std::string(invalidate) + get + ping, get + std::string(invalidate) + ping,
        get + ping + std::string(invalidate)}) {
    const Outcome outcome = run_all_cuts(bytes);
    CHECK(outcome.error.empty());
    CHECK(outcome.replies == std::vector{str("3"), status("PONG")});
    CHECK(outcome.pushes == std::vector{pushed});
  }
  const Outcome unknown = run_all_cuts(odd + get + odd + ping);
  CHECK(unknown.replies == std::vector{str("3"), status("PONG")});
  CHECK(unknown.pushes.size() == 2);
}

TEST_CASE("pushes of odd shapes are delivered as they are") {
  CHECK(run_all_cuts(">1\r\n$9\r\nsubscribe\r\n").pushes == std::vector{push({str("subscribe")})});
  CHECK(run_all_cuts(">3\r\n:1\r\n:2\r\n:3\r\n").pushes ==
        std::vector{push({number(1), number(2), number(3)})});
  CHECK(run_all_cuts(">0\r\n").pushes == std::vector{push({})});
}

TEST_CASE("a push inside a transaction's reply is an element of it") {
  CHECK(parse_one("*1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n") ==
        array({push({str("subscribe"), str("c"), number(1)})}));
}

TEST_CASE("attributes are read over") {
  const std::string attribute = "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n";
  SECTION("before a scalar, a null, an aggregate") {
    const std::string some = "$39\r\nSome real reply following the attribute\r\n";
    const Outcome outcome = run_all_cuts(attribute + some + "+OK\r\n" + attribute + "_\r\n" +
                                         attribute + attribute + "*1\r\n:1\r\n");
    CHECK(outcome.error.empty());
    CHECK(outcome.replies == std::vector{str("Some real reply following the attribute"),
                                         status("OK"), nil(), array({number(1)})});
  }
  SECTION("before a push") {
    CHECK(run_all_cuts(attribute + ">1\r\n:1\r\n").pushes == std::vector{push({number(1)})});
  }
  SECTION("inside aggregates") {
    CHECK(parse_one("*2\r\n" + attribute + ":1\r\n*1\r\n" + attribute + "+a\r\n") ==
          array({number(1), array({status("a")})}));
    CHECK(parse_one("%1\r\n" + attribute + "+k\r\n" + attribute + "+v\r\n") ==
          map({status("k"), status("v")}));
  }
  SECTION("inside attributes, empty, and with nothing after them yet") {
    CHECK(parse_one("|1\r\n" + attribute + "+a\r\n" + attribute + "*2\r\n:1\r\n:2\r\n:7\r\n") ==
          number(7));
    CHECK(parse_one("|0\r\n:7\r\n") == number(7));
    const Outcome outcome = run_all_cuts(attribute);
    CHECK(outcome == Outcome());
  }
}

// What is remembered of a reply that came in part must be forgotten with it, whichever way the rest
// was read: else the next one is taken for whole too early.
TEST_CASE("every kind of reply after a cut one of every kind") {
  static constexpr std::string_view kinds[] = {
      "+OK\r\n",       "+OKAY\r\n",     "-ERR no\r\n",   ":12\r\n",
      "$2\r\nab\r\n",  "$-1\r\n",       "_\r\n",         "*-1\r\n",
      "#t\r\n",        ",1.5\r\n",      "(123\r\n",      "=5\r\ntxt:a\r\n",
      "!3\r\nERR\r\n", "*1\r\n+OK\r\n", ">1\r\n+OK\r\n", "|1\r\n+a\r\n+OK\r\n+OK\r\n"};
  for (const std::string_view first : kinds) {
    for (const std::string_view second : kinds) {
      const std::string bytes = std::string(first).append(second).append("+OK\r\n");
      INFO(bytes);
      const Outcome outcome = run_all_cuts(bytes);
      CHECK(outcome.error.empty());
      CHECK(outcome.replies.size() + outcome.pushes.size() == 3);
    }
  }
}

TEST_CASE("replies of many kinds in one stream") {
  const Outcome outcome = run_all_cuts("+OK\r\n*2\r\n:1\r\n_\r\n$3\r\nabc\r\n:5\r\n%0\r\n,1.5\r\n");
  CHECK(outcome.error.empty());
  CHECK(outcome.replies == std::vector{status("OK"), array({number(1), nil()}), str("abc"),
                                       number(5), map({}), Reply::make_real(1.5)});
}

}  // namespace slotwise::resp::test
