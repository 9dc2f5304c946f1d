// What a URI says about sentinels.
#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <optional>
#include <string>

#include "config_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

namespace {

Config parse_valid(const std::string& uri) {
  Config config = Config::parse(uri);
  config.validate();
  return config;
}

bool same(const TlsConfig& a, const TlsConfig& b) {
  return a.enabled == b.enabled && a.verify_chain == b.verify_chain &&
         a.verify_name == b.verify_name && a.ca_file == b.ca_file && a.ca_dir == b.ca_dir &&
         a.cert_file == b.cert_file && a.key_file == b.key_file &&
         a.key_password == b.key_password && a.server_name == b.server_name &&
         a.min_version == b.min_version && a.ciphers == b.ciphers;
}
bool same(const std::optional<TlsConfig>& a, const std::optional<TlsConfig>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

}  // namespace

TEST_CASE("config of sentinels: how they are asked") {
  const Config standard = parse_valid("valkey+sentinel://s/m");
  CHECK(standard.sentinel_timeout == 500ms);
  CHECK(standard.sentinel_check_interval == 10s);
  const Config config =
      parse_valid("valkey+sentinel://s/m?sentinel_timeout=1s&sentinel_check_interval=0ms");
  CHECK(config.sentinel_timeout == 1s);
  CHECK(config.sentinel_check_interval == 0ms);
  CHECK(config.to_string() ==
        "valkey+sentinel://s:26379/m?sentinel_timeout=1000ms&sentinel_check_interval=0ms");
  CHECK(says(parse_failure("valkey+sentinel://s/m?sentinel_timeout=0ms"), "must be 1ms"));
  CHECK(says(parse_failure("valkey+sentinel://s/m?sentinel_timeout=1"), "no unit"));
  for (const char* name : {"sentinel_timeout=1s", "sentinel_check_interval=1s", "sentinel_tls=yes",
                           "sentinel_ca=/x", "sentinel_server_name=n"}) {
    CHECK(says(parse_failure("valkeys://h?" + std::string(name)), "needs a scheme with +sentinel"));
  }

  Config changed = standard;
  changed.sentinel_timeout = 0ms;
  CHECK(says(failure([&] { changed.validate(); }), "sentinel_timeout is 0ms and must be 1ms"));
  changed = standard;
  changed.sentinel_check_interval = -1ms;
  CHECK(says(failure([&] { changed.validate(); }), "sentinel_check_interval is -1ms"));
}

TEST_CASE("config of sentinels: without a word about their TLS they use that of the servers") {
  for (const char* uri :
       {"valkey+sentinel://s/m", "valkeys+sentinel://s/m?ca=/a&cert=/c&key=/k&server_name=n",
        "valkeys+sentinel://s/m?sentinel_user=u&sentinel_password=p&sentinel_timeout=1s"}) {
    CHECK_FALSE(parse_valid(uri).sentinel_tls.has_value());
  }
}

TEST_CASE("config of sentinels: TLS at the sentinels alone") {
  const Config config = parse_valid(
      "valkey+sentinel://s/m?sentinel_ca=/s.pem&sentinel_tls=yes&sentinel_ca_dir=/d&"
      "sentinel_cert=/c&sentinel_key=/k&sentinel_key_password=p%26w&sentinel_server_name=w.test");
  CHECK_FALSE(config.tls.enabled);
  CHECK(config.tls.ca_file.empty());
  REQUIRE(config.sentinel_tls.has_value());
  CHECK(config.sentinel_tls->enabled);
  CHECK(config.sentinel_tls->ca_file == "/s.pem");
  CHECK(config.sentinel_tls->ca_dir == "/d");
  CHECK(config.sentinel_tls->cert_file == "/c");
  CHECK(config.sentinel_tls->key_file == "/k");
  CHECK(config.sentinel_tls->key_password == "p&w");
  CHECK(config.sentinel_tls->server_name == "w.test");
  CHECK(config.to_string() ==
        "valkey+sentinel://s:26379/m?sentinel_tls=yes&sentinel_ca=/s.pem&sentinel_ca_dir=/d&"
        "sentinel_cert=/c&sentinel_key=/k&sentinel_key_password=***&sentinel_server_name=w.test");
}

TEST_CASE("config of sentinels: TLS at the data servers alone") {
  for (const char* uri :
       {"valkeys+sentinel://s/m?sentinel_tls=no&ca=/a&cert=/c&key=/k&server_name=n",
        "valkeys+sentinel://s/m?ca=/a&cert=/c&key=/k&server_name=n&sentinel_tls=no"}) {
    const Config config = parse_valid(uri);
    CHECK(config.tls.ca_file == "/a");
    CHECK(same(config.sentinel_tls, TlsConfig{}));
    CHECK(config.to_string() ==
          "valkeys+sentinel://s:26379/m?ca=/a&cert=/c&key=/k&server_name=n&sentinel_tls=no");
  }
  Config by_hand = parse_valid("valkeys+sentinel://s/m?ca=/a&cert=/c&key=/k");
  by_hand.sentinel_tls = by_hand.tls;
  by_hand.sentinel_tls->enabled = false;  // a copy that is switched off is no mistake
  by_hand.validate();
  by_hand.sentinel_tls->ca_file = "/other";
  const std::string text = failure([&] { by_hand.validate(); });
  CHECK(says(text, "sentinel_tls has settings but is not enabled"));
  CHECK(says(text, "sentinel_tls=yes"));
}

TEST_CASE("config of sentinels: the copy of tls, wherever the parameters stand") {
  const std::string rest = "ca=/a&ca_dir=/d&cert=/c&key=/k&key_password=pw&server_name=n";
  TlsConfig tls = Config::parse("valkeys+sentinel://s/m?" + rest).tls;
  struct Case {
    std::string_view query;
    std::function<void(TlsConfig&)> change;
  };
  const Case cases[] = {
      {"sentinel_tls=yes", [](TlsConfig&) {}},
      {"sentinel_server_name=w", [](TlsConfig& t) { t.server_name = "w"; }},
      {"sentinel_server_name=", [](TlsConfig& t) { t.server_name.clear(); }},
      {"sentinel_ca=/s", [](TlsConfig& t) { t.ca_file = "/s", t.ca_dir.clear(); }},
      {"sentinel_ca_dir=/s", [](TlsConfig& t) { t.ca_file.clear(), t.ca_dir = "/s"; }},
      {"sentinel_ca=", [](TlsConfig& t) { t.ca_file.clear(), t.ca_dir.clear(); }},
      {"sentinel_cert=/x&sentinel_key=/y",
       [](TlsConfig& t) { t.cert_file = "/x", t.key_file = "/y", t.key_password.clear(); }},
      {"sentinel_cert=/x&sentinel_key=/y&sentinel_key_password=z",
       [](TlsConfig& t) { t.cert_file = "/x", t.key_file = "/y", t.key_password = "z"; }},
      {"sentinel_cert=&sentinel_key=",
       [](TlsConfig& t) { t.cert_file.clear(), t.key_file.clear(), t.key_password.clear(); }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.query);
    TlsConfig right = tls;
    c.change(right);
    const std::string query(c.query);
    for (const std::string& uri : {"valkeys+sentinel://s/m?" + query + "&" + rest,
                                   "valkeys+sentinel://s/m?" + rest + "&" + query}) {
      const Config config = parse_valid(uri);
      CHECK(same(config.tls, tls));
      CHECK(same(config.sentinel_tls, right));
      CHECK_FALSE(says(config.to_string(), "pw"));
      // Passwords apart, the text is the same settings again.
      Config again = parse_valid(config.to_string());
      CHECK(again.to_string() == config.to_string());
      CHECK(again.sentinel_tls->key_password.empty() == right.key_password.empty());
      again.tls.key_password = tls.key_password;
      again.sentinel_tls->key_password = right.key_password;
      CHECK(same(again.tls, tls));
      CHECK(same(again.sentinel_tls, right));
    }
  }
}

TEST_CASE("config of sentinels: what makes no sense is named, with the mend") {
  struct Case {
    std::string_view uri;
    std::string_view says;
  };
  const Case cases[] = {
      {"valkey+sentinel://s/m?sentinel_ca=/x",
       "'sentinel_ca' needs TLS at the sentinels: write "
       "sentinel_tls=yes"},
      {"valkey+sentinel://s/m?sentinel_server_name=x", "'sentinel_server_name' needs TLS at"},
      {"valkey+sentinel://s/m?sentinel_server_name=", "needs TLS at the sentinels"},
      {"valkey+sentinel://s/m?sentinel_tls=no&sentinel_ca=/x", "sentinel_tls=yes, or leave it out"},
      {"valkeys+sentinel://s/m?sentinel_cert=/c&sentinel_key=/k&sentinel_tls=no",
       "'sentinel_cert' needs TLS at the sentinels"},
      {"valkeys+sentinel://s/m?sentinel_key_password=x", "without sentinel_key"},
      {"valkeys+sentinel://s/m?sentinel_tls=maybe", "yes or no"},
      {"valkeys+sentinel://s/m?sentinel_tls=", "no value"},
      {"valkeys+sentinel://s/m?sentinel_tls=yes&sentinel_tls=yes", "is there twice"},
      {"valkeys+sentinel://s/m?sentinel_caa=/x", "did you mean 'sentinel_ca'?"},
      {"valkey+sentinel://s/m?ca=/x&sentinel_tls=yes",
       "valkeys:// or rediss:// for the scheme, or sentinel_ca and sentinel_tls=yes"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.uri);
    const std::string text = parse_failure(c.uri);
    CAPTURE(text);
    CHECK(says(text, c.says));
  }
  const Config half = Config::parse("valkeys+sentinel://s/m?cert=/c&key=/k&sentinel_cert=/x");
  CHECK(says(failure([&] { half.validate(); }),
             "sentinel_tls.cert_file and sentinel_tls.key_file are set together"));
  Config cluster = Config::parse("valkeys+cluster://a,b");
  cluster.sentinel_tls = cluster.tls;
  CHECK(says(failure([&] { cluster.validate(); }), "not Mode::sentinel"));
}
