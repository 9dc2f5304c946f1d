#include <slotwise/reply.hpp>

#include <catch2/catch_test_macros.hpp>

#include "parse.hpp"

namespace slotwise::resp::test {

TEST_CASE("describe") {
  CHECK(nil().describe() == "nil");
  CHECK(status("OK").describe() == "OK");
  CHECK(str("a\"\\\r\n\t\x01\xff").describe() == R"("a\"\\\r\n\t\x01\xff")");
  CHECK(error("ERR x").describe() == R"(error "ERR x")");
  CHECK(number(-5).describe() == "-5");
  CHECK(Reply::make_real(1.5).describe() == "1.5");
  CHECK(Reply::make_boolean(true).describe() == "true");
  CHECK(big("12").describe() == "12");
  CHECK(Reply::make_text(Type::verbatim, "v").describe() == R"(txt:"v")");
  CHECK(array({number(1), str("a"), array({})}).describe() == R"([1, "a", []])");
  CHECK(map({str("k"), number(1), str("l"), nil()}).describe() == R"({"k": 1, "l": nil})");
  CHECK(set({number(1)}).describe() == "set[1]");
  CHECK(push({str("a"), number(1)}).describe() == R"(push["a", 1])");
}

TEST_CASE("describe cuts long replies") {
  CHECK(str(std::string(1000, 'x')).describe(10) == "\"xxxxxxxxx...\"");
  CHECK(array(std::vector<Reply>(1000, number(7))).describe(10) == "[7, 7, 7, 7...]");
  CHECK(array({str(std::string(1000, 'x')), number(1)}).describe(5) == "[\"xxx...\"]");
  CHECK(array(std::vector<Reply>(1'000'000, str("abc"))).describe().size() < 300);
}

TEST_CASE("find") {
  const Reply pairs = map({str("a"), number(1), status("b"), number(2)});
  REQUIRE(pairs.find("b") != nullptr);
  CHECK(*pairs.find("b") == number(2));
  CHECK(pairs.find("2") == nullptr);
  const Reply flat = array({str("a"), number(1), str("b")});  // as RESP2 gives maps; odd at the end
  CHECK(*flat.find("a") == number(1));
  CHECK(flat.find("b") == nullptr);
  CHECK(number(1).find("a") == nullptr);
  CHECK(set({str("a"), str("b")}).find("a") == nullptr);
}

TEST_CASE("equality looks at type and value") {
  CHECK(str("a") == str("a"));
  CHECK_FALSE(str("a") == status("a"));
  CHECK_FALSE(str("a") == str("b"));
  CHECK_FALSE(array({}) == set({}));
  CHECK_FALSE(nil() == array({}));
  CHECK(array({map({str("a"), nil()})}) == array({map({str("a"), nil()})}));
  CHECK_FALSE(number(1) == Reply::make_boolean(true));
}

TEST_CASE("taking moves the value out") {
  Reply reply = str(std::string(100, 'x'));
  const char* const bytes = reply.text().data();
  CHECK(reply.take_text().data() == bytes);
  Reply list = array({number(1)});
  CHECK(list.take_elements().size() == 1);
  CHECK(number(1).take_text().empty());
  CHECK(number(1).take_elements().empty());
}

TEST_CASE("names of types") {
  CHECK(to_string(Type::string) == "bulk string");
  CHECK(to_string(Type::nil) == "null");
  CHECK(to_string(Type::push) == "push");
}

}  // namespace slotwise::resp::test
