// Hostile bytes: each is a protocol error that says why, costs no memory and stays.
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "memory_meter.hpp"
#include "parse.hpp"

namespace slotwise::resp::test {

TEST_CASE("hostile lengths are errors that name the limit") {
  struct Case {
    const char* bytes;
    const char* expected;
  };
  const auto [bytes, expected] = GENERATE(values<Case>({
      {"$9223372036854775807\r\n",
       "string of 9223372036854775807 bytes is over the limit of 1073741824"},
      {"$1073741825\r\n", "(max_reply_bytes)"},
      {"=1073741825\r\n", "(max_reply_bytes)"},
      {"*1\r\n$9223372036854775807\r\n", "string of 9223372036854775807 bytes"},
      {"*1\r\n!9223372036854775807\r\n", "string of 9223372036854775807 bytes"},
      {"*4294967295\r\n",
       "aggregate of 4294967295 members would pass the limit of 1073741824 bytes"},
      {"*9223372036854775807\r\n", "(max_reply_bytes)"},
      {"%4294967295\r\n", "(max_reply_bytes)"},
      {"%9223372036854775807\r\n", "(max_reply_bytes)"},
      {"~4294967295\r\n", "(max_reply_bytes)"},
      {">4294967295\r\n", "(max_reply_bytes)"},
      {"|9223372036854775807\r\n", "(max_reply_bytes)"},
      {"*1\r\n*1\r\n%9223372036854775807\r\n", "(max_reply_bytes)"},
      {"*20000000\r\n*20000000\r\n", "(max_reply_bytes)"},
      {"*99999999999999999999\r\n", "does not fit into 64 bits"},
      {"$99999999999999999999\r\n", "does not fit into 64 bits"},
  }));
  INFO(bytes);
  CHECK(parse_error(bytes).find(expected) != std::string::npos);

  const MemoryMeter meter;
  {
    Parser parser;
    parser.feed(bytes);
    Reply reply;
    CHECK(parser.next(reply) == Status::error);
  }
  CHECK(MemoryMeter::peak() < 100'000);
}

TEST_CASE("bytes that are not RESP") {
  const auto* bytes = GENERATE(
      "$-2\r\n", "*-5\r\n", "*-2\r\n", "%-1\r\n", "~-1\r\n", ">-1\r\n", "|-1\r\n", "=-1\r\n",
      "!-1\r\n", ":99999999999999999999\r\n", ":9223372036854775808\r\n",
      ":-9223372036854775809\r\n", ":\r\n", ":-\r\n", ":+1\r\n", ":1a\r\n", ":01\r\n", ":-0\r\n",
      ": 1\r\n", ":1\n", ":1\rx", "$5\r\nabcdeXX", "$5\r\nabcde\rX", "$5x\r\n", "$\r\n", "$ 5\r\n",
      "*\r\n", "*1x\r\n", "*1\r\n$5\r\nabcdeXX", "!3\r\nabcXX", "=8\r\ntxt:abcdXX", "=3\r\ntxt\r\n",
      "=5\r\nabcde\r\n", "*1\r\n=3\r\ntxt\r\n", "#\r\n", "#x\r\n", "#tt\r\n", "_x\r\n", ",\r\n",
      ",1.5x\r\n", ",infinity\r\n", ",nan(1)\r\n", ",1e999\r\n", "*1\r\n,1e999\r\n",
      "*1\r\n,abc\r\n", "*1\r\n,0x1\r\n", ",+-1\r\n", ",+\r\n", ",++1\r\n", "(12a\r\n", "(\r\n",
      "(-\r\n", "(1.5\r\n", "*1\r\n(x\r\n", "+a\rb\r\n", "+a\nb\r\n", "-a\nb\r\n", "hello\r\n",
      "\r\n", "*1\r\nhello\r\n", "$?\r\n", "*?\r\n", ";4\r\nabcd\r\n", "*1\r\n.\r\n");
  INFO(bytes);
  const std::string text = parse_error(bytes);
  CHECK(text.starts_with("protocol error: "));
  CHECK(text.size() > 20);
}

TEST_CASE("what can only be short does not make us wait") {
  for (const std::string start : {":", "$", "*", ",", "#", "_", "%"}) {
    CHECK_FALSE(run(start + std::string(400, '1')).error.empty());
  }
}

TEST_CASE("after an error nothing is parsed until reset") {
  Parser parser;
  Reply reply;
  parser.feed("+a\r\n:x\r\n+b\r\n");
  CHECK(parser.next(reply) == Status::reply);
  CHECK(parser.next(reply) == Status::error);
  CHECK(parser.failed());
  const std::string text = parser.protocol_error();
  parser.feed("+c\r\n");
  ReplyView view;
  CHECK_FALSE(parser.next_scalar(view));
  CHECK(parser.next(reply) == Status::error);
  CHECK(parser.protocol_error() == text);
  CHECK_FALSE(parser.prepare().empty());
  parser.reset();
  CHECK(parser.buffered() == 0);
  parser.feed("+d\r\n");
  CHECK(parser.next(reply) == Status::reply);
  CHECK(reply == status("d"));
}

TEST_CASE("reset forgets half replies") {
  for (const char* half :
       {"*2\r\n*1\r\n", "$5\r\nab", "|1\r\n+a\r\n", "$100000\r\nabc", "+OK", "*1\r\n!3\r\n"}) {
    Parser parser;
    Outcome outcome;
    parser.feed(half);
    drain(parser, outcome);
    CHECK(parser.buffered() == std::string_view(half).size());
    parser.reset();
    parser.feed("*1\r\n:1\r\n");
    drain(parser, outcome);
    CHECK(outcome.replies == std::vector{array({number(1)})});
    CHECK(parser.buffered() == 0);
  }
}

TEST_CASE("nesting") {
  const auto nested = [](std::size_t levels) {
    std::string bytes;
    for (std::size_t i = 0; i != levels; ++i)
      bytes += "*1\r\n";
    return bytes + ":1\r\n";
  };
  SECTION("128 levels are parsed") {
    const Outcome outcome = run(nested(128), 7);
    REQUIRE(outcome.replies.size() == 1);
    const Reply* inner = &outcome.replies[0];
    for (int i = 0; i != 128; ++i)
      inner = &inner->elements()[0];
    CHECK(*inner == number(1));
  }
  SECTION("the limit is exact") {
    CHECK(run(nested(512)).replies.size() == 1);
    CHECK(run(nested(513)).error ==
          "protocol error: nesting deeper than the limit of 512 levels (max_reply_depth)");
    CHECK(run(nested(3), 1, {.max_depth = 3}).replies.size() == 1);
    CHECK_FALSE(run(nested(4), 1, {.max_depth = 3}).error.empty());
    CHECK(run(nested(0), 1, {.max_depth = 0}).replies.size() == 1);
    CHECK(run("*0\r\n", 1, {.max_depth = -1}).replies.size() == 1);
  }
  SECTION("100,000 levels are an error, whatever the setting") {
    CHECK_FALSE(run(nested(100'000)).error.empty());
    CHECK_FALSE(run(nested(100'000), 1000, {.max_depth = 1'000'000}).error.empty());
  }
  SECTION("the deepest reply allowed is copied, compared, printed and destroyed") {
    const Outcome outcome = run(nested(1024), 1000, {.max_depth = 1024});
    REQUIRE(outcome.replies.size() == 1);
    const Reply copy = outcome.replies[0];
    CHECK(copy == outcome.replies[0]);
    CHECK(copy.describe().size() < 2000);
  }
  SECTION("attributes nest without depth") {
    std::string bytes;
    for (int i = 0; i != 100'000; ++i)
      bytes += "|1\r\n+k\r\n*1\r\n";
    CHECK(run(bytes).error.empty());
  }
}

TEST_CASE("limits on size hold for every shape") {
  const Limits limits{.max_bulk_bytes = 100, .max_reply_bytes = 1000};
  const std::string hundred(100, 'x'), more(101, 'x');
  CHECK(run_all_cuts("$100\r\n" + hundred + "\r\n", limits).replies.size() == 1);
  CHECK(run_all_cuts("+" + hundred + "\r\n", limits).replies.size() == 1);
  CHECK_FALSE(parse_error("$101\r\n" + more + "\r\n", limits).empty());
  CHECK_FALSE(parse_error("!101\r\n" + more + "\r\n", limits).empty());
  CHECK_FALSE(parse_error("+" + more + "\r\n", limits).empty());
  CHECK_FALSE(parse_error("*1\r\n+" + more + "\r\n", limits).empty());

  std::string many;
  for (int i = 0; i != 11; ++i)
    many += "$100\r\n" + hundred + "\r\n";
  CHECK(run(many, 13, limits).replies.size() == 11);  // each reply counts for itself
  CHECK(run("*10\r\n" + many, 13, limits).error.find("1000 bytes (max_reply_bytes)") !=
        std::string::npos);
  CHECK(run("*20\r\n", 13, limits).error.empty());
  CHECK_FALSE(run("*21\r\n", 13, limits).error.empty());
}

// The members, then the text: what a reply is charged for, to the byte.
TEST_CASE("the limit of a reply is exact, in whichever way its values are read") {
  struct Case {
    const char* bytes;
    std::size_t members;
    std::size_t text;
  };
  const auto [bytes, members, text] = GENERATE(values<Case>({
      {"*2\r\n$5\r\nhello\r\n:1\r\n", 2, 5},
      {"*2\r\n:1\r\n$5\r\nhello\r\n", 2, 5},
      {"*2\r\n+OK\r\n+PONG\r\n", 2, 6},
      {"*2\r\n-ERR x\r\n!5\r\nERR y\r\n", 2, 10},
      {"%2\r\n$1\r\na\r\n_\r\n$1\r\nb\r\n*0\r\n", 4, 2},
      {"*1\r\n*2\r\n%1\r\n:1\r\n:2\r\n~1\r\n$-1\r\n", 6, 0},
      {">3\r\n=5\r\ntxt:a\r\n(12\r\n*-1\r\n", 3, 7},
      {"|1\r\n$2\r\nab\r\n:1\r\n*1\r\n$3\r\nabc\r\n", 3, 5},
  }));
  INFO(bytes);
  const std::size_t exact = members * sizeof(Reply) + text;
  const Outcome fits = run_all_cuts(bytes, {.max_reply_bytes = exact});
  CHECK(fits.error.empty());
  CHECK(fits.replies.size() + fits.pushes.size() == 1);
  const Outcome over = run_all_cuts(bytes, {.max_reply_bytes = exact - 1});
  CHECK(over.error.find("(max_reply_bytes)") != std::string::npos);
  CHECK(over.replies.size() + over.pushes.size() == 0);
}

TEST_CASE("which limit was passed is told right") {
  // The header that is too deep must not be charged for twice.
  const Limits limits{.max_depth = 1, .max_reply_bytes = 3 * sizeof(Reply)};
  CHECK(parse_error("*1\r\n*2\r\n:1\r\n:2\r\n", limits) ==
        "protocol error: nesting deeper than the limit of 1 levels (max_reply_depth)");
  const Limits short_text{.max_bulk_bytes = 3};
  CHECK(parse_error("*2\r\n$3\r\nabc\r\n$4\r\nabcd\r\n", short_text).find("string of 4 bytes") !=
        std::string::npos);
}

}  // namespace slotwise::resp::test

TEST_CASE("the digits of a header do not use up the limit of a reply") {
  // One element is all that the limit allows: the string in it has no room left.
  slotwise::resp::Limits limits;
  limits.max_reply_bytes = sizeof(slotwise::Reply);
  slotwise::resp::Parser parser(limits);
  parser.feed("*1\r\n$100\r\n" + std::string(100, 'x') + "\r\n");
  slotwise::Reply reply;
  CHECK(parser.next(reply) == slotwise::resp::Status::error);
}
