#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

#include "cli/doctor/dns_ttl.hpp"
#include "kit/dns_responder.hpp"

using namespace slotwise;
using namespace slotwise::cli;
using namespace std::chrono_literals;

TEST_CASE("the TTL of names, as DNS gives it") {
  kit::DnsResponder dns;
  dns.set("one.test", {.ips = {"127.0.0.1"}, .ttl = 30s});
  dns.set("two.test", {.ips = {"127.0.0.1", "127.0.0.2"}, .ttl = 60s},
          {.ips = {"::1"}, .ttl = 20s});
  dns.set("none.test", {});
  const auto names =
      look_up({"gone.test", "none.test", "one.test", "two.test"}, {dns.address().to_string()}, 5s);
  REQUIRE(names.size() == 4);
  CHECK_FALSE(names[0].ttl);
  CHECK_FALSE(names[0].why_not.empty());
  CHECK_FALSE(names[1].ttl);
  CHECK_FALSE(names[1].why_not.empty());
  CHECK(names[2].name == "one.test");
  CHECK(names[2].ttl == 30s);
  CHECK(names[3].ttl == 20s);
  CHECK(dns.questions("one.test") == 2);
}

TEST_CASE("a DNS server that says nothing does not hold the doctor up") {
  kit::DnsResponder dns;
  dns.set("one.test", {.silent = true}, {.silent = true});
  const auto start = std::chrono::steady_clock::now();
  const auto names = look_up({"one.test"}, {dns.address().to_string()}, 300ms);
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  REQUIRE(names.size() == 1);
  CHECK_FALSE(names[0].ttl);
  CHECK_FALSE(names[0].why_not.empty());
}

TEST_CASE("DNS servers that make no sense are a reason, and no names are no question") {
  const auto names = look_up({"one.test"}, {"no address"}, 300ms);
  REQUIRE(names.size() == 1);
  CHECK(names[0].why_not.find("DNS cannot be asked") != std::string::npos);
  CHECK(look_up({}, {}, 300ms).empty());
}
