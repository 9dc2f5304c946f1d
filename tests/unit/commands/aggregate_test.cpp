#include "commands/aggregate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command_info.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace commands_test;
using slotwise::commands::combine;
using slotwise::commands::find;
using slotwise::commands::NodeReply;

NodeReply combined(std::string_view command, std::vector<Reply> replies) {
  std::vector<NodeReply> of_nodes;
  for (Reply& reply : replies) {
    of_nodes.push_back({"n" + std::to_string(of_nodes.size()), std::move(reply)});
  }
  const auto args = cut(command);
  return combine(*find(args), std::move(of_nodes));
}

std::string result(std::string_view command, std::vector<Reply> replies) {
  return show(combined(command, std::move(replies)).reply);
}

}  // namespace

TEST_CASE("combine: sums, minima, elementwise") {
  CHECK(result("DBSIZE", {number(1), number(2), number(39)}) == "42");
  CHECK(result("DBSIZE", {number(7)}) == "7");
  CHECK(result("WAIT 1 5", {number(2), number(0), number(1)}) == "0");
  CHECK(result("WAITAOF 1 1 5", {array({number(1), number(2)}), array({number(0), number(3)})}) ==
        "[0 2]");
  CHECK(result("SCRIPT EXISTS a b",
               {array({number(1), number(0)}), array({number(1), number(1)})}) == "[1 0]");
  CHECK(result("SCRIPT EXISTS a", {array({number(1)}), array({number(0)})}) == "[0]");
  CHECK(result("LATENCY RESET", {number(1), number(0)}) == "1");
  constexpr auto max = std::numeric_limits<std::int64_t>::max();
  CHECK(result("DBSIZE", {number(max), number(1)}) == std::to_string(max));
  CHECK(result("DBSIZE", {number(1), Reply::make_real(0.5)}) == "1.5");
}

TEST_CASE("combine: replies that do not fit each other are an error that names the node") {
  const NodeReply bad = combined("DBSIZE", {number(1), text("2")});
  CHECK(bad.reply.is_error());
  CHECK(bad.node == "n1");
  CHECK(combined("SCRIPT EXISTS a b", {array({number(1)}), array({number(1), number(1)})})
            .reply.is_error());
  CHECK(combined("WAITAOF 1 1 5", {array({array({})}), array({array({})})}).reply.is_error());
}

TEST_CASE("combine: all have to succeed") {
  CHECK(result("CONFIG SET a b", {status("OK"), status("OK")}) == "+OK");
  CHECK(result("PING", {status("PONG"), status("PONG")}) == "+PONG");
  const NodeReply bad = combined("CONFIG SET a b", {status("OK"), error("ERR no"), status("OK")});
  CHECK(show(bad.reply) == "-ERR no");
  CHECK(bad.node == "n1");
  CHECK(result("DBSIZE", {number(1), error("LOADING")}) == "-LOADING");
  CHECK(result("KEYS *", {array({text("a")}), error("LOADING")}) == "-LOADING");
}

TEST_CASE("combine: one has to succeed") {
  const NodeReply good =
      combined("SCRIPT KILL", {error("NOTBUSY x"), status("OK"), error("NOTBUSY x")});
  CHECK(show(good.reply) == "+OK");
  CHECK(good.node == "n1");
  CHECK(result("SCRIPT KILL", {error("NOTBUSY x"), error("NOTBUSY y")}) == "-NOTBUSY x");
  CHECK(result("FUNCTION KILL", {error("NOTBUSY x"), error("UNKILLABLE y")}) == "-UNKILLABLE y");
}

TEST_CASE("combine: arrays, maps and sets are put together") {
  CHECK(result("KEYS *", {array({text("a"), text("b")}), array({}), array({text("c")})}) ==
        "[\"a\" \"b\" \"c\"]");
  CHECK(result("KEYS *", {array({}), array({})}) == "[]");
  CHECK(result("SLOWLOG GET", {array({array({number(1)})}), array({array({number(2)})})}) ==
        "[[1] [2]]");
  const NodeReply joined =
      combined("KEYS *", {map({text("a"), number(1)}), map({text("b"), number(2)})});
  CHECK(joined.reply.type() == Reply::Type::map);
  CHECK(show(joined.reply) == "{\"a\" 1 \"b\" 2}");
  // A null array of RESP2 is nothing; an array beside a set is an array.
  CHECK(result("KEYS *", {Reply(), array({text("a")})}) == "[\"a\"]");
  CHECK(result("KEYS *", {Reply::make_aggregate(Reply::Type::set, {text("a")}),
                          array({text("b")})}) == "[\"a\" \"b\"]");
  CHECK(result("KEYS *", {status("OK"), array({text("a")})}) == "[+OK [\"a\"]]");
}

TEST_CASE("combine: special") {
  const NodeReply info = combined("INFO", {text("x:1"), text("x:2")});
  CHECK(info.reply.type() == Reply::Type::map);
  CHECK(show(info.reply) == "{\"n0\" \"x:1\" \"n1\" \"x:2\"}");
  CHECK(result("RANDOMKEY", {Reply(), Reply()}) == "nil");
  for (int i = 0; i < 5; ++i) {
    CHECK(result("RANDOMKEY", {Reply(), text("k"), Reply()}) == "\"k\"");
  }
  CHECK(combine(*find("DBSIZE"), {}).reply.is_nil());
}
