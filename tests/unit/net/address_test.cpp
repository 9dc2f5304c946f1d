#include "net/address.hpp"

#include <catch2/catch_test_macros.hpp>

using slotwise::net::address;
using slotwise::net::host_port;

TEST_CASE("IP literals of both families, with brackets and scope") {
  CHECK(address::parse("127.0.0.1", 7000)->to_string() == "127.0.0.1:7000");
  CHECK(address::parse("::1", 7000)->to_string() == "[::1]:7000");
  CHECK(address::parse("[::1]", 7000)->ip() == "::1");
  CHECK(address::parse("2001:DB8::0001", 1)->ip() == "2001:db8::1");
  CHECK(address::parse("::ffff:10.0.0.1", 1)->family() == AF_INET6);
  CHECK(address::parse("fe80::1%1", 1)->ip() == "fe80::1%1");
  CHECK(address::parse("fe80::1%lo", 1)->ip() == "fe80::1%1");
  CHECK(address::parse("[fe80::1%lo]", 1)->ip() == "fe80::1%1");
}

TEST_CASE("what is not an IP literal is a name") {
  for (const char* text : {"", "localhost", "127.0.0", "127.0.0.1.5", "1", "[127.0.0.1]", "[]",
                           "[::1", "::1]", "fe80::1%", "fe80::1%no-such-if", "12345::1", ":"}) {
    CHECK_FALSE(address::parse(text, 1).has_value());
  }
}

TEST_CASE("addresses are equal when ip, port and scope are") {
  CHECK(*address::parse("127.0.0.1", 1) == *address::parse("127.0.0.1", 1));
  CHECK_FALSE(*address::parse("127.0.0.1", 1) == *address::parse("127.0.0.1", 2));
  CHECK_FALSE(*address::parse("127.0.0.1", 1) == *address::parse("::ffff:127.0.0.1", 1));
  CHECK_FALSE(*address::parse("fe80::1%1", 1) == *address::parse("fe80::1%2", 1));
  CHECK(address{} == address{});
  CHECK(address{}.empty());
}

TEST_CASE("host and port in one text") {
  CHECK(host_port("a.test", 1) == "a.test:1");
  CHECK(host_port("::1", 1) == "[::1]:1");
  CHECK(host_port("[::1]", 1) == "[::1]:1");
}
