#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>

#include "base/random.hpp"
#include "config_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

namespace {

// True if it can still be seen where the password is: no mutation took its mark away.
bool is_marked(const std::string& uri) {
  for (std::size_t at = uri.find("S3C"); at != std::string::npos; at = uri.find("S3C", at + 13)) {
    const std::string before = uri.substr(0, at);
    if (uri.compare(at, 13, "S3CRET-S3CRET") != 0) return false;
    if (!before.ends_with(":") && !before.ends_with("sentinel_password=") &&
        !before.ends_with("sentinel_key_password=")) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("config: no error shows a password, whatever is malformed around it") {
  const std::string_view uris[] = {
      "valkey://user:S3CRET",  // '@host' forgotten
      "valkey://user:S3CRET:1",
      "valkey://S3CRET@host",  // neither user:password nor :password
      "valkey://user:S3CRET@",
      "valkey://user:S3CRET@:1",
      "valkey://user:S3CRET@host:port",
      "valkey://user:S3CRET%zz@host",
      "valkey://user:S3CRET%@host",
      "valkey://user:pa/S3CRET@host",  // '/' not encoded
      "valkey://user:S3CRET/x@host",
      "valkey://user:pa?S3CRET@host",  // '?' not encoded
      "valkey://user:pa?S3CRET=1@host",
      "valkey://user:S3CRET?x@host",
      "valkey://user:S3CRET@a@b c",
      "valkey://user:S3CRET@host/x/y",
      "valkey://user:S3CRET@host?nope=1",
      "valkey://user:S3CRET@host?timeout=5",
      "user:S3CRET@host",
      "user:S3CRET://host",
      "://user:S3CRET@host",
      "http://user:S3CRET@host",
      "valkey+cluster://user:S3CRET@",
      "valkey+sentinel://s/m?sentinel_password=S3CRET&sentinel_password=S3CRET",
      "valkey+sentinel://s/m?sentinel_password=x&S3CRET",
      "valkey+sentinel://s/m?sentinel_password=x&S3CRET=y",
      "valkey+sentinel://s/m?sentinel_password=x&timeout=S3CRET",
      "valkey+sentinel://s/m?sentinel_password=S3CRET%",
      "valkey://h?sentinel_password=S3CRET",
      "valkey+sentinel://s/m?sentinel_passwordS3CRET",
      "valkey+sentinel://s/m?sentinel_passwordS3CRET=",
      "valkey+sentinel://s/m?timeout=5sentinel_password=S3CRET",
      "valkeys://h?key_password=S3CRET&x=1",
      "valkey+sentinel://s/m?sentinel_key_password=S3CRET",
      "valkey+sentinel://s/m?sentinel_key=/k&sentinel_key_password=S3CRET",
      "valkey+sentinel://s/m?sentinel_key=/k&sentinel_key_password=S3CRET&sentinel_tls=no",
      "valkey+sentinel://s/m?sentinel_key=/k&sentinel_key_password=x&sentinel_tls=S3CRET",
      "valkey+sentinel://s/m?sentinel_tls=yes&sentinel_key_password=S3CRET%",
      "valkey+cluster://a,b?sentinel_key_password=S3CRET",
      "valkeys+sentinel://s/m?sentinel_key=k&sentinel_key_password=a&S3CRET=1",
      "valkeys+sentinel://s/m?sentinel_keypassword=S3CRET",
  };
  for (const auto uri : uris) {
    CAPTURE(uri);
    const std::string text = parse_failure(uri);
    CHECK_FALSE(text.empty());
    CAPTURE(text);
    CHECK_FALSE(says(text, "S3CRET"));
    CHECK_FALSE(says(text, "CRET"));
  }
  const Config config = Config::parse(
      "valkeys+sentinel://u:S3CRET@s/m?sentinel_user=w&"
      "sentinel_password=S3CRET&key_password=S3CRET&sentinel_cert=c&sentinel_key=k&"
      "sentinel_key_password=S3CRET2");
  CHECK(config.sentinel_tls->key_password == "S3CRET2");
  CHECK_FALSE(says(config.to_string(), "S3CRET"));
}

TEST_CASE("config: fuzzed URIs are read or refused, and never show the password") {
  const std::string uris[] = {
      "valkeys+sentinel://user:S3CRET-S3CRET@s1,s2:7,[::1]:9/m/"
      "3?timeout=5s&sentinel_password=S3CRET-S3CRET&ca=/x",
      "redis+cluster://:S3CRET-S3CRET@10.0.0.1:7000,::1?read_from=any&refresh_interval=1m",
      "valkey://a%20b:S3CRET-S3CRET@host/2?client_name=x%26y&dns_servers=1.1.1.1,[::1]:53",
      "redis+sentinel://s1,s2/m?sentinel_tls=yes&sentinel_ca=/a&sentinel_cert=c&sentinel_key=k&"
      "sentinel_key_password=S3CRET-S3CRET&sentinel_timeout=1s&sentinel_check_interval=0ms",
  };
  constexpr std::string_view interesting("\0\n :/?#[]@&=,%+.0aZ\xff", 20);
  const std::string fragments[] = {"://",     "user@",     "a:b@",
                                   "/m/",     "&timeout=", "?db=1",
                                   "%2",      "%00",       "&sentinel_password=",
                                   ",[::1]:", "&&",        "timeout=1"};
  const char* wanted = std::getenv("SLOTWISE_FUZZ_ROUNDS");
  const int rounds = wanted == nullptr ? 20'000 : std::atoi(wanted);
  base::Random random(3);
  const auto below = [&](std::size_t n) { return random.below(static_cast<std::uint32_t>(n)); };
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string uri = uris[below(std::size(uris))];
    for (std::uint32_t n = below(4) + 1; n > 0; --n) {
      const std::size_t at = below(uri.size() + 1);
      const char c = interesting[below(interesting.size())];
      switch (below(4)) {
        case 0:
          uri.insert(at, 1, c);
          break;
        case 1:
          if (at < uri.size()) uri.erase(at, 1 + below(6));
          break;
        case 2:
          if (at < uri.size()) uri[at] = c;
          break;
        default:
          uri.insert(at, fragments[below(std::size(fragments))]);
          break;
      }
    }
    CAPTURE(uri);
    try {
      const Config config = Config::parse(uri);
      ++accepted;
      const Config again = Config::parse(config.to_string());
      REQUIRE(again.endpoints == config.endpoints);
      REQUIRE(again.mode == config.mode);
      REQUIRE(again.sentinel_name == config.sentinel_name);
      REQUIRE(again.timeout == config.timeout);
      REQUIRE(again.dns_servers == config.dns_servers);
      REQUIRE(again.sentinel_timeout == config.sentinel_timeout);
      REQUIRE(again.sentinel_tls.has_value() == config.sentinel_tls.has_value());
      if (config.sentinel_tls) {
        REQUIRE(again.sentinel_tls->enabled == config.sentinel_tls->enabled);
        REQUIRE(again.sentinel_tls->ca_file == config.sentinel_tls->ca_file);
        REQUIRE(again.sentinel_tls->cert_file == config.sentinel_tls->cert_file);
      }
      config.validate();
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::invalid_argument);
      if (is_marked(uri)) REQUIRE_FALSE(says(error.what(), "S3CRET"));
    }
  }
  CHECK(accepted > rounds / 100);
}
