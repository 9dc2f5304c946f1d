#include "cli/core/text.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/core/line_words.hpp"

using namespace std::string_literals;
using namespace slotwise;
using namespace slotwise::cli;
using Type = Reply::Type;

namespace {

Reply text(std::string bytes) {
  return Reply::make_text(Type::string, std::move(bytes));
}

Reply list(std::vector<Reply> elements, Type type = Type::array) {
  return Reply::make_aggregate(type, std::move(elements));
}

template <class... R>
std::vector<Reply> several(R... replies) {
  std::vector<Reply> out;
  (out.push_back(std::move(replies)), ...);
  return out;
}

std::string shown(const Reply& reply) {
  std::string out;
  append_line(out, reply, false);
  REQUIRE(out.back() == '\n');
  out.pop_back();
  CHECK(out.find('\n') == std::string::npos);
  return out;
}

std::string json_line(const Reply& reply) {
  std::string out;
  append_line(out, reply, true);
  return out;
}

nlohmann::json parsed(const Reply& reply) {
  return nlohmann::json::parse(json_line(reply));
}

}  // namespace

TEST_CASE("UTF-8 is well-formed or not") {
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK(is_utf8("\xef\xbf\xbf\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80"));
  for (const char* bad :
       {"\xff", "\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98", "\xc3("}) {
    CHECK_FALSE(is_utf8(bad));
  }
}

TEST_CASE("a reply on one line for a person") {
  CHECK(shown(Reply()) == "(nil)");
  CHECK(shown(Reply::make_text(Type::status, "OK")) == "OK");
  CHECK(shown(text("hello world")) == "hello world");
  CHECK(shown(text(R"({"a":1})")) == R"({"a":1})");
  CHECK(shown(text("")) == R"("")");
  CHECK(shown(text("a\nb\tc\r\0\x7f\\"s)) == R"("a\nb\tc\r\x00\x7f\\")");
  CHECK(shown(text("\xff\xc3\xa4")) == "\"\\xff\xc3\xa4\"");
  CHECK(shown(text("\"quoted\"")) == R"("\"quoted\"")");
  CHECK(shown(text("(nil)")) == "\"(nil)\"");
  CHECK(shown(Reply::make_integer(-42)) == "-42");
  CHECK(shown(Reply::make_real(0.1)) == "0.1");
  CHECK(shown(Reply::make_real(std::numeric_limits<double>::infinity())) == "inf");
  CHECK(shown(Reply::make_boolean(true)) == "true");
  CHECK(shown(Reply::make_text(Type::big_number, "123456789012345678901")) ==
        "123456789012345678901");
  CHECK(shown(Reply::make_text(Type::error, "ERR no\nway")) == R"((error) "ERR no\nway")");
}

TEST_CASE("nested replies stay on one line") {
  CHECK(shown(list(several(text("a"), Reply(), Reply::make_integer(1), list({})))) ==
        R"(["a", (nil), 1, []])");
  CHECK(shown(list(several(text("f"), text("v\n"), text("n"), Reply::make_integer(2)),
                   Type::map)) == R"({"f": "v\n", "n": 2})");
  CHECK(shown(list(several(Reply::make_text(Type::error, "ERR x")))) == "[(error) ERR x]");
}

TEST_CASE("a quoted text is read back by the words of a line") {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  all += "\xc3\xa4";
  std::string quoted;
  append_quoted(quoted, all);
  LineWords words;
  REQUIRE_FALSE(words.split(quoted));
  REQUIRE(words.words().size() == 1);
  CHECK(words.words()[0] == all);
}

TEST_CASE("a reply as JSON") {
  CHECK(json_line(Reply()) == "{\"ok\":true,\"reply\":null}\n");
  CHECK(json_line(text("v")) == "{\"ok\":true,\"reply\":\"v\"}\n");
  CHECK(json_line(Reply::make_integer(7)) == "{\"ok\":true,\"reply\":7}\n");
  CHECK(parsed(Reply::make_integer(INT64_MIN))["reply"].get<std::int64_t>() == INT64_MIN);
  CHECK(parsed(Reply::make_real(1.5))["reply"].get<double>() == 1.5);
  CHECK(parsed(Reply::make_real(1e300))["reply"].get<double>() == 1e300);
  CHECK(parsed(Reply::make_real(-std::numeric_limits<double>::infinity()))["reply"] == "-inf");
  CHECK(parsed(Reply::make_boolean(false))["reply"] == false);
  CHECK(parsed(list(several(text("a"), Reply(), list({})), Type::set))["reply"] ==
        nlohmann::json::parse(R"(["a",null,[]])"));
  CHECK(parsed(list(several(text("k"), Reply::make_integer(1), text("l"), text("x")),
                    Type::map))["reply"] == nlohmann::json::parse(R"({"k":1,"l":"x"})"));
  CHECK(parsed(list(several(Reply::make_integer(1), text("x")), Type::map))["reply"] ==
        nlohmann::json::parse(R"([[1,"x"]])"));
  CHECK(parsed(list(several(Reply::make_text(Type::error, "ERR x"))))["reply"] ==
        nlohmann::json::parse(R"([{"error":"ERR x"}])"));
}

TEST_CASE("strings of JSON are safe for every byte") {
  CHECK(parsed(text("a\"\\\n\r\t\0\x1f\x7f"s))["reply"] == "a\"\\\n\r\t\0\x1f\x7f"s);
  CHECK(parsed(text("\xc3\xa4"))["reply"] == "\xc3\xa4");
  CHECK_FALSE(parsed(text("\xc3\xa4")).contains("encoding"));

  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  const auto binary = parsed(text(all));
  CHECK(binary["encoding"] == "latin1");
  std::string expected;
  for (int i = 0; i < 256; ++i) {
    if (i < 0x80) {
      expected += static_cast<char>(i);
    } else {
      expected += static_cast<char>(0xc0 | (i >> 6));
      expected += static_cast<char>(0x80 | (i & 0x3f));
    }
  }
  CHECK(binary["reply"] == expected);
}

TEST_CASE("one string that is no UTF-8 sets the encoding of the whole reply") {
  const auto mixed = parsed(list(several(text("\xc3\xa4"), text("\xff"))));
  CHECK(mixed["encoding"] == "latin1");
  CHECK(mixed["reply"][0] == "\xc3\x83\xc2\xa4");
  CHECK(mixed["reply"][1] == "\xc3\xbf");
}

TEST_CASE("an error as a line") {
  const Error error = Error(ErrorCode::timeout, Outcome::unknown, "no answer \"in\" 5 s")
                          .with_node("127.0.0.1:7000")
                          .with_attempts(3);
  std::string out;
  append_line(out, error, true);
  CHECK(out.back() == '\n');
  CHECK(nlohmann::json::parse(out) == nlohmann::json::parse(R"({"ok":false,"code":"timeout",
    "outcome":"unknown","message":"no answer \"in\" 5 s","node":"127.0.0.1:7000","attempts":3})"));

  out.clear();
  append_line(out, error, false);
  CHECK(out == "(error) timeout (unknown): no answer \"in\" 5 s\n");

  out.clear();
  append_line(out,
              Error(ErrorCode::server, Outcome::rejected, "the server said: WRONGTYPE x")
                  .with_server_text("WRONGTYPE x"),
              false);
  CHECK(out == "(error) WRONGTYPE x\n");

  out.clear();
  append_line(out, Error(ErrorCode::server, Outcome::rejected, "bad \xff byte"), true);
  const auto json = nlohmann::json::parse(out);
  CHECK(json["encoding"] == "latin1");
  CHECK(json["message"] == "bad \xc3\xbf byte");
}
