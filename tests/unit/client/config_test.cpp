#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <string>

#include "config_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

TEST_CASE("config: schemes choose mode and TLS") {
  struct Case {
    std::string_view uri;
    Mode mode;
    bool tls;
    int port;
  };
  const Case cases[] = {
      {"valkey://h", Mode::single, false, 6379},
      {"redis://h", Mode::single, false, 6379},
      {"valkeys://h", Mode::single, true, 6379},
      {"rediss://h", Mode::single, true, 6379},
      {"VALKEY://h", Mode::single, false, 6379},
      {"valkey+cluster://h", Mode::cluster, false, 6379},
      {"valkeys+cluster://h", Mode::cluster, true, 6379},
      {"redis+cluster://h", Mode::cluster, false, 6379},
      {"rediss+cluster://h", Mode::cluster, true, 6379},
      {"valkey+sentinel://h/m", Mode::sentinel, false, 26379},
      {"valkeys+sentinel://h/m", Mode::sentinel, true, 26379},
      {"redis+sentinel://h/m", Mode::sentinel, false, 26379},
      {"rediss+sentinel://h/m", Mode::sentinel, true, 26379},
  };
  for (const Case& c : cases) {
    CAPTURE(c.uri);
    const Config config = Config::parse(c.uri);
    CHECK(config.mode == c.mode);
    CHECK(config.tls.enabled == c.tls);
    REQUIRE(config.endpoints.size() == 1);
    CHECK(config.endpoints[0] == Endpoint{"h", static_cast<std::uint16_t>(c.port)});
    config.validate();
  }
}

TEST_CASE("config: endpoints") {
  struct Case {
    std::string_view hosts;
    std::vector<Endpoint> endpoints;
  };
  const Case cases[] = {
      {"a,b:7001,c", {{"a", 6379}, {"b", 7001}, {"c", 6379}}},
      {"127.0.0.1:7000,[::1]:7001", {{"127.0.0.1", 7000}, {"::1", 7001}}},
      {"[::1]", {{"::1", 6379}}},
      {"::1", {{"::1", 6379}}},  // B03: bare literal
      {"2001:db8::7,x", {{"2001:db8::7", 6379}, {"x", 6379}}},
      {"[fe80::1%eth0]:7", {{"fe80::1%eth0", 7}}},
      {"node_1.cluster-x.test.", {{"node_1.cluster-x.test.", 6379}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.hosts);
    CHECK(Config::parse("valkey+cluster://" + std::string(c.hosts)).endpoints == c.endpoints);
  }
  const std::string_view bad[] = {"",        ",a",  "a,",   "a,,b",   "a:",     "a:0",
                                  "a:65536", "a:b", "[::1", "[::1]7", "[::1]:", "[x]:1",
                                  "::1:x",   "a b", "a%41", "[]:1",   ":7000",  "1:2:3"};
  for (const auto hosts : bad) {
    CAPTURE(hosts);
    CHECK(says(parse_failure("valkey+cluster://" + std::string(hosts)), "endpoint "));
  }
  CHECK(says(parse_failure("valkey+cluster://a,b,c:x"), "endpoint 3"));
  CHECK(says(parse_failure("valkey://a,b"), "+cluster"));
}

TEST_CASE("config: credentials") {
  struct Case {
    std::string_view uri;
    std::string_view user;
    std::string_view password;
  };
  const Case cases[] = {
      {"valkey://h", "", ""},
      {"valkey://app:secret@h", "app", "secret"},
      {"valkey://:secret@h", "", "secret"},
      {"valkey://app:@h", "app", ""},
      {"valkey://a%3Ab:p%40%2f%25@h", "a:b", "p@/%"},
      {"valkey://user:p@ss@host", "user", "p@ss"},  // the LAST '@' separates
      {"valkey://user:p:s@host", "user", "p:s"},
      {"valkey://user:p#s@host/3?timeout=1s", "user", "p#s"},
      {"valkey+cluster://u:p@a,b:1", "u", "p"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.uri);
    const Config config = Config::parse(c.uri);
    CHECK(config.credentials.username == c.user);
    CHECK(config.credentials.password == c.password);
  }
  CHECK(Config::parse("valkey://a:%00x@h").credentials.password == std::string("\0x", 2));
  const Config sentinel = Config::parse(
      "valkey+sentinel://app:m1@s1,s2/mymaster?sentinel_user=watch&sentinel_password=s%261");
  CHECK(sentinel.credentials.password == "m1");
  CHECK(sentinel.sentinel_credentials.username == "watch");
  CHECK(sentinel.sentinel_credentials.password == "s&1");
}

TEST_CASE("config: the path is a database, or a primary's name with or without one") {
  CHECK(Config::parse("valkey://h").database == 0);
  CHECK(Config::parse("valkey://h/").database == 0);
  CHECK(Config::parse("valkey://h/2").database == 2);
  CHECK(Config::parse("valkey://h/2/").database == 2);
  CHECK(Config::parse("valkey://h?db=3").database == 3);
  CHECK(Config::parse("valkey+cluster://a,b/4").database == 4);
  const Config sentinel = Config::parse("valkey+sentinel://s1,s2:1/my%20master/5");
  CHECK(sentinel.sentinel_name == "my master");
  CHECK(sentinel.database == 5);
  CHECK(Config::parse("valkey+sentinel://s1/mymaster").sentinel_name == "mymaster");

  CHECK(says(parse_failure("valkey://h/x"), "number of a database"));
  CHECK(says(parse_failure("valkey://h/-1"), "number of a database"));
  CHECK(says(parse_failure("valkey://h/1/2"), "too many parts"));
  CHECK(says(parse_failure("valkey://h/1?db=1"), "'db' is there twice"));
  CHECK(says(parse_failure("valkey+sentinel://s1"), "name of the primary is missing"));
  CHECK(says(parse_failure("valkey+sentinel://s1/"), "name of the primary is missing"));
  CHECK(says(parse_failure("valkey+sentinel://s1/m/x"), "after the primary's name"));
}

TEST_CASE("config: every parameter of the query") {
  const Config config = Config::parse(
      "valkeys+sentinel://s/m?timeout=7s&attempt_timeout=250ms&connect_timeout=1m&"
      "blocking_margin=2s&max_redirects=3&retry_backoff_min=5ms&retry_backoff_max=6s&"
      "max_pending=10&refresh_interval=0ms&refresh_min_interval=100ms&health_check_interval=1s&"
      "tcp_keepalive=30s&read_from=same_zone&availability_zone=eu-1a&protocol=2&db=9&"
      "client_name=app-1&dns_servers=127.0.0.1:5353,::1,[::1]:53&use_announced_ips=no&"
      "max_reply_bytes=1048576&max_reply_depth=64&direct_connections=0&io_threads=2&"
      "hot_key_sampling=32&ca=/ca.pem&"
      "ca_dir=/etc/ssl&cert=/c.pem&key=%2Fk.pem&key_password=kp&server_name=db.test&"
      "sentinel_user=w&sentinel_password=sp");
  CHECK(config.timeout == 7s);
  CHECK(config.attempt_timeout == 250ms);
  CHECK(config.connect_timeout == 60s);
  CHECK(config.blocking_margin == 2s);
  CHECK(config.max_redirects == 3);
  CHECK(config.retry_backoff_min == 5ms);
  CHECK(config.retry_backoff_max == 6s);
  CHECK(config.max_pending == 10);
  CHECK(config.refresh_interval == 0ms);
  CHECK(config.refresh_min_interval == 100ms);
  CHECK(config.health_check_interval == 1s);
  CHECK(config.tcp_keepalive == 30s);
  CHECK(config.read_from == ReadFrom::same_zone);
  CHECK(config.availability_zone == "eu-1a");
  CHECK(config.protocol == 2);
  CHECK(config.database == 9);
  CHECK(config.client_name == "app-1");
  CHECK(config.dns_servers == std::vector<std::string>{"127.0.0.1:5353", "::1", "[::1]:53"});
  CHECK_FALSE(config.use_announced_ips);
  CHECK(config.max_reply_bytes == 1048576);
  CHECK(config.max_reply_depth == 64);
  CHECK(config.direct_connections == 0);
  CHECK(config.io_threads == 2);
  CHECK(config.hot_key_sampling == 32);
  CHECK(config.tls.ca_file == "/ca.pem");
  CHECK(config.tls.ca_dir == "/etc/ssl");
  CHECK(config.tls.cert_file == "/c.pem");
  CHECK(config.tls.key_file == "/k.pem");
  CHECK(config.tls.key_password == "kp");
  CHECK(config.tls.server_name == "db.test");
  CHECK_FALSE(config.sentinel_tls.has_value());
  CHECK(config.sentinel_credentials.username == "w");
  CHECK(config.sentinel_credentials.password == "sp");
  config.validate();

  struct Name {
    std::string_view text;
    ReadFrom value;
  };
  const Name names[] = {{"primary", ReadFrom::primary},
                        {"replica_preferred", ReadFrom::replica_preferred},
                        {"any", ReadFrom::any},
                        {"lowest_latency", ReadFrom::lowest_latency},
                        {"same_zone", ReadFrom::same_zone}};
  for (const Name& name : names) {
    CHECK(Config::parse("valkey://h?read_from=" + std::string(name.text)).read_from == name.value);
  }
  CHECK(Config::parse("valkey://h?").timeout == 5s);
  CHECK(Config::parse("valkey://h?&timeout=1s&").timeout == 1s);
  CHECK(Config::parse("valkey://h/?timeout=1s").timeout == 1s);
}

TEST_CASE("config: a wrong parameter is named, with the mend") {
  struct Case {
    std::string_view query;
    std::string_view says;
  };
  const Case cases[] = {
      {"timeout=500", "no unit"},
      {"timeout=500", "'timeout' = '500'"},
      {"timeout=0", "no unit"},
      {"timeout=5h", "unknown unit"},
      {"timeout=5 s", "unknown unit"},
      {"timeout=1.5s", "unknown unit"},
      {"timeout=0ms", "must be 1ms"},
      {"timeout=-1s", "no number"},
      {"timeout=ms", "no number"},
      {"timeout=", "no value"},
      {"timeout", "no value"},
      {"timeout=99999999999999999999s", "too big"},
      {"timeout=9000000m", "must be"},
      {"protocol=4", "must be 2 to 3"},
      {"protocol=3x", "no number"},
      {"db=-1", "no number"},
      {"db=99999999", "must be 0 to"},
      {"read_from=replica", "must be one of primary, replica_preferred"},
      {"use_announced_ips=1", "yes or no"},
      {"dns_servers=,1.1.1.1", "empty entry"},
      {"dns_servers=1.1.1.1,", "empty entry"},
      {"timeout=1s&timeout=2s", "'timeout' is there twice"},
      {"tiemout=1s", "did you mean 'timeout'?"},
      {"Timeout=1s", "did you mean 'timeout'?"},
      {"connect=1s", "did you mean 'connect_timeout'?"},
      {"dns_server=1.1.1.1", "did you mean 'dns_servers'?"},
      {"zzzzzzzz=1", "unknown parameter 'zzzzzzzz'"},
      {"=1", "unknown parameter"},
      {"ca=/x", "valkeys://"},
      {"server_name=x", "valkeys://"},
      {"sentinel_user=x", "+sentinel"},
      {"client_name=%4", "hex"},
      {"client_name=%zz", "hex"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.query);
    const std::string text = parse_failure("valkey://h?" + std::string(c.query));
    CAPTURE(text);
    CHECK(says(text, c.says));
  }
  const std::string text = parse_failure("valkey://h?zzzzzzzz=1");
  CHECK_FALSE(says(text, "did you mean"));
  CHECK(says(parse_failure("vlakey://h"), "did you mean 'valkey'?"));
  CHECK(says(parse_failure("valkey+sentinels://h"), "did you mean 'valkey+sentinel'?"));
  CHECK(says(parse_failure("localhost:6379"), "valkey://"));
  CHECK(says(parse_failure(""), "valkey://"));
}

TEST_CASE("config: validate names the field and the mend") {
  struct Case {
    std::function<void(Config&)> change;
    std::string_view says;
  };
  const Case cases[] = {
      {[](Config& c) { c.endpoints.clear(); }, "endpoints is empty"},
      {[](Config& c) {
         c.endpoints.push_back({"x", 1});
       },
       "Mode::cluster"},
      {[](Config& c) { c.endpoints[0].port = 0; }, "port 0"},
      {[](Config& c) { c.endpoints[0].host = "a b"; }, "a%20b"},
      {[](Config& c) { c.endpoints[0].host = "[::1]"; }, "without brackets"},
      {[](Config& c) { c.mode = Mode::sentinel; }, "sentinel_name is empty"},
      {[](Config& c) { c.timeout = 0ms; }, "timeout is 0ms and must be 1ms"},
      {[](Config& c) { c.timeout = -5s; }, "timeout is -5000ms"},
      {[](Config& c) { c.attempt_timeout = 0ms; }, "attempt_timeout"},
      {[](Config& c) { c.connect_timeout = std::chrono::hours(24 * 365); }, "connect_timeout"},
      {[](Config& c) { c.max_redirects = -1; }, "max_redirects"},
      {[](Config& c) { c.retry_backoff_min = 2s; }, "retry_backoff_max is below"},
      {[](Config& c) { c.max_pending = 0; }, "max_pending"},
      {[](Config& c) { c.refresh_interval = 100ms; }, "refresh_interval is below"},
      {[](Config& c) { c.refresh_min_interval = 0ms; }, "refresh_min_interval"},
      {[](Config& c) { c.protocol = 4; }, "protocol is 4"},
      {[](Config& c) { c.database = -1; }, "database is -1"},
      {[](Config& c) { c.max_reply_bytes = 0; }, "max_reply_bytes"},
      {[](Config& c) { c.max_reply_bytes = SIZE_MAX; }, "max_reply_bytes"},
      {[](Config& c) { c.max_reply_depth = 0; }, "max_reply_depth"},
      {[](Config& c) { c.client_name = "a b"; }, "client_name"},
      {[](Config& c) { c.client_name = "a\n"; }, "client_name"},
      {[](Config& c) { c.read_from = ReadFrom::same_zone; }, "availability_zone is empty"},
      {[](Config& c) { c.dns_servers = {"dns.test"}; }, "'dns.test' is no IP address"},
      {[](Config& c) {
         c.dns_servers = {"127.0.0.1", ""};
       },
       "dns_servers"},
      {[](Config& c) { c.tls.ca_file = "/x"; }, "tls.enabled"},
      {[](Config& c) { c.tls.enabled = true, c.tls.cert_file = "/x"; }, "set together"},
      {[](Config& c) { c.tls.min_version = 11; }, "min_version is 11"},
      {[](Config& c) { c.sentinel_tls = TlsConfig{}, c.sentinel_tls->ca_file = "/x"; },
       "sentinel_tls"},
      {[](Config& c) { c.sentinel_credentials.password = "x"; }, "sentinel_credentials"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.says);
    Config config;
    config.endpoints = {{"h", 6379}};
    config.validate();
    c.change(config);
    const std::string text = failure([&] { config.validate(); });
    CAPTURE(text);
    CHECK(says(text, c.says));
  }
}

TEST_CASE("config: printed and read again") {
  const std::string_view uris[] = {
      "valkey://h:6379",
      "valkey://[::1]:7000?timeout=250ms",
      "valkeys+cluster://a:1,[::1]:2,c:3?read_from=any&dns_servers=127.0.0.1:53&ca=/a%20b.pem",
      "valkey+sentinel://s1:26379,s2:1/my%2Fmaster?refresh_interval=0ms&db=2&client_name=x%26y",
      "valkey+cluster://app:@a:1?use_announced_ips=no",
  };
  for (const auto uri : uris) {
    CAPTURE(uri);
    CHECK(Config::parse(uri).to_string() == uri);
  }
  CHECK(Config::parse("redis://u%40x:pw@h/3").to_string() == "valkey://u%40x:***@h:6379?db=3");
  CHECK(Config::parse("rediss+sentinel://:pw@s/m?sentinel_password=q").to_string() ==
        "valkeys+sentinel://:***@s:26379/m?sentinel_password=***");
  CHECK(Config{}.to_string() == "valkey://");
}
