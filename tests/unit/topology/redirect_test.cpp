#include "topology/redirect.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace slotwise;
using namespace slotwise::topology;

TEST_CASE("redirect: MOVED and ASK name slot and endpoint") {
  struct Case {
    std::string_view text;
    ErrorKind kind;
    int slot;
    std::string_view host;
    int port;
  };
  const Case cases[] = {
      {"MOVED 12182 127.0.0.1:7003", ErrorKind::moved, 12182, "127.0.0.1", 7003},
      {"ASK 12182 127.0.0.1:7003", ErrorKind::ask, 12182, "127.0.0.1", 7003},
      {"MOVED 0 n3.lab.test:65535", ErrorKind::moved, 0, "n3.lab.test", 65535},
      {"MOVED 16383 h:1", ErrorKind::moved, 16383, "h", 1},
      // B01: no host; the port counts.
      {"MOVED 12182 :7003", ErrorKind::moved, 12182, "", 7003},
      {"ASK 12182 :7003", ErrorKind::ask, 12182, "", 7003},
      // B03: split at the LAST colon, with and without brackets.
      {"MOVED 12182 ::1:7003", ErrorKind::moved, 12182, "::1", 7003},
      {"MOVED 12182 [::1]:7003", ErrorKind::moved, 12182, "::1", 7003},
      {"MOVED 12182 2001:db8::2:7003", ErrorKind::moved, 12182, "2001:db8::2", 7003},
      {"REDIRECT 10.0.0.9:6380", ErrorKind::redirect, 0, "10.0.0.9", 6380},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const ServerError error = parse_server_error(c.text);
    CHECK(error.kind == c.kind);
    CHECK(error.slot == c.slot);
    CHECK(error.endpoint.host == c.host);
    CHECK(error.endpoint.port == c.port);
    CHECK_FALSE(error.endpoint_unknown);
    CHECK(error.is_redirection());
  }
}

TEST_CASE("redirect: a redirect that makes no sense is malformed, never followed") {
  const std::string_view cases[] = {
      "MOVED",
      "MOVED ",
      "MOVED 12182",
      "MOVED 12182 ",
      "MOVED h:1",
      "MOVED 16384 h:1",
      "MOVED 99999 h:1",
      "MOVED 99999999999999999999 h:1",
      "MOVED -1 h:1",
      "MOVED 1x h:1",
      "MOVED x h:1",
      "MOVED 12182 127.0.0.1",
      "MOVED 12182 127.0.0.1:",
      "MOVED 12182 127.0.0.1:0",
      "MOVED 12182 127.0.0.1:65536",
      "MOVED 12182 127.0.0.1:abc",
      "MOVED 12182 127.0.0.1:-7",
      "MOVED 12182 127.0.0.1:+7",
      "MOVED 12182 []:7003",
      "MOVED 12182 [::1:7003",
      "MOVED 12182 ::1]:7003",
      "ASK",
      "ASK 16384 h:1",
      "ASK 5 h:0",
      "REDIRECT",
      "REDIRECT h",
      "REDIRECT h:99999",
  };
  for (const auto text : cases) {
    CAPTURE(text);
    CHECK(parse_server_error(text).kind == ErrorKind::malformed);
    CHECK_FALSE(parse_server_error(text).is_redirection());
  }
  const std::string endless = "MOVED 1 " + std::string(100'000, 'a') + ":1";
  CHECK(parse_server_error(endless).kind == ErrorKind::malformed);
  CHECK(parse_server_error(std::string_view("MOVED 1 a\0b:1", 13)).kind == ErrorKind::malformed);
}

TEST_CASE("redirect: '?' is a node whose name the server does not know") {
  const ServerError error = parse_server_error("MOVED 12182 ?:7003");
  CHECK(error.kind == ErrorKind::moved);
  CHECK(error.endpoint_unknown);
}

TEST_CASE("redirect: an empty host is the host that answered") {
  const Endpoint answered{"10.1.2.3", 7000};
  CHECK(redirect_target(parse_server_error("MOVED 1 :7003"), answered) ==
        Endpoint{"10.1.2.3", 7003});
  CHECK(redirect_target(parse_server_error("MOVED 1 h:7003"), answered) == Endpoint{"h", 7003});
}

TEST_CASE("redirect: only the first word decides") {
  struct Case {
    std::string_view text;
    ErrorKind kind;
  };
  const Case cases[] = {
      {"TRYAGAIN Multiple keys request during rehashing of slot", ErrorKind::try_again},
      {"CLUSTERDOWN The cluster is down", ErrorKind::cluster_down},
      {"CLUSTERDOWN Hash slot not served", ErrorKind::cluster_down},
      {"LOADING Redis is loading the dataset in memory", ErrorKind::loading},
      {"MASTERDOWN Link with MASTER is down", ErrorKind::master_down},
      {"READONLY You can't write against a read only replica.", ErrorKind::read_only},
      {"NOSCRIPT No matching script. Please use EVAL.", ErrorKind::no_script},
      {"NOAUTH Authentication required.", ErrorKind::no_auth},
      {"NOAUTH HELLO must be called with the client already authenticated", ErrorKind::no_auth},
      {"WRONGPASS invalid username-password pair or user is disabled.", ErrorKind::wrong_pass},
      {"NOPERM this user has no permissions to run the 'set' command", ErrorKind::no_perm},
      {"CROSSSLOT Keys in request don't hash to the same slot", ErrorKind::cross_slot},
      {"NOPROTO unsupported protocol version", ErrorKind::no_proto},
      {"EXECABORT Transaction discarded because of previous errors.", ErrorKind::exec_abort},
      {"BUSY The server is busy running a script", ErrorKind::busy},
      {"NOREPLICAS Not enough good replicas to write.", ErrorKind::no_replicas},
      {"ERR unknown command 'HELLO', with args beginning with: '3'", ErrorKind::unknown_command},
      {"ERR unknown subcommand 'MYID'. Try CLUSTER HELP.", ErrorKind::unknown_command},
      {"ERR This instance has cluster support disabled", ErrorKind::cluster_disabled},
      {"ERR max number of clients reached", ErrorKind::max_clients},
      {"ERR max number of clients + cluster connections reached", ErrorKind::max_clients},
      {"ERR wrong number of arguments for 'get' command", ErrorKind::other},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", ErrorKind::other},
      // Looks like one, is none.
      {"ERR MOVED 12182 127.0.0.1:7003", ErrorKind::other},
      {"MOVEDTO 12182 127.0.0.1:7003", ErrorKind::other},
      {"moved 12182 127.0.0.1:7003", ErrorKind::other},
      {" MOVED 12182 127.0.0.1:7003", ErrorKind::other},
      {"ASKING", ErrorKind::other},
      {"BUSYKEY Target key name already exists.", ErrorKind::other},
      {"", ErrorKind::other},
      {" ", ErrorKind::other},
      {"TRYAGAIN", ErrorKind::try_again},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(parse_server_error(c.text).kind == c.kind);
  }
}

TEST_CASE("redirect: every kind has a name") {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::max_clients); ++kind) {
    CHECK_FALSE(to_string(static_cast<ErrorKind>(kind)).empty());
  }
  CHECK(to_string(ErrorKind::moved) == "MOVED");
}
