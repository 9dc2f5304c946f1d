#include "base/endpoint.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace slotwise;
using namespace slotwise::base;

TEST_CASE("endpoint: text") {
  CHECK(Endpoint{"h", 1}.to_string() == "h:1");
  CHECK(Endpoint{"::1", 6379}.to_string() == "[::1]:6379");
  CHECK(Endpoint{"127.0.0.1", 65535}.to_string() == "127.0.0.1:65535");
}

TEST_CASE("endpoint: ports") {
  CHECK(parse_port("1") == 1);
  CHECK(parse_port("65535") == 65535);
  CHECK(parse_port("06379") == 6379);
  for (const char* text :
       {"", "0", "65536", "99999999999999999999", "-1", "+1", " 1", "1 ", "abc", "1a", "0x1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_port(text));
  }
}

TEST_CASE("endpoint: what servers write") {
  struct Case {
    std::string_view text;
    std::string_view host;
    int port;
  };
  const Case good[] = {
      {"127.0.0.1:7000", "127.0.0.1", 7000},
      {"h:1", "h", 1},
      {":7000", "", 7000},
      {"::1:7000", "::1", 7000},
      {"[::1]:7000", "::1", 7000},
      {"fe80::1%eth0:7", "fe80::1%eth0", 7},
      {"?:7", "?", 7},
  };
  for (const Case& c : good) {
    CAPTURE(c.text);
    const auto endpoint = parse_server_endpoint(c.text);
    REQUIRE(endpoint);
    CHECK(endpoint->host == c.host);
    CHECK(endpoint->port == c.port);
  }
  for (const char* text : {"", "h", ":", "h:", "h:0", "h:65536", "h:abc", "[]:1", "[::1:1",
                           "::1]:1", "a b:1", "a\n:1", "user@h:1", "a/b:1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_server_endpoint(text));
  }
}

TEST_CASE("endpoint: hosts and literals") {
  for (const char* host : {"localhost", "a-b.c_d.example.test", "10.0.0.1", "::1", "fe80::1%eth0",
                           "::ffff:1.2.3.4", "redis.", "1"}) {
    CAPTURE(host);
    CHECK(is_valid_host(host));
  }
  for (const char* host :
       {"", "a b", "a/b", "[::1]", "::g", ":", "1:2", "a%b", "a@b", "h\n", "fe80::1%"}) {
    CAPTURE(host);
    CHECK_FALSE(is_valid_host(host));
  }
  CHECK_FALSE(is_valid_host(std::string(256, 'a')));
  CHECK(is_ip_literal("127.0.0.1"));
  CHECK(is_ip_literal("::"));
  CHECK_FALSE(is_ip_literal("127.0.0.1.test"));
  CHECK_FALSE(is_ip_literal("127.1"));
  CHECK_FALSE(is_ip_literal(std::string_view("::1\0", 4)));
  CHECK_FALSE(is_ipv6_literal("127.0.0.1"));
}

TEST_CASE("endpoint: B25, spellings of one endpoint") {
  CHECK(same_endpoint({"Node-A.Test", 1}, {"node-a.test.", 1}));
  CHECK_FALSE(same_endpoint({"node-a.test", 1}, {"node-a.test", 2}));
  CHECK_FALSE(same_endpoint({"node-a.test", 1}, {"node-a.tes", 1}));
  CHECK(endpoint_key({"Node-A.Test.", 1}) == endpoint_key({"node-a.test", 1}));
  CHECK(endpoint_key({"a", 11}) != endpoint_key({"a1", 1}));
  CHECK(same_host("", ""));
  CHECK(same_host(".", "."));
}
