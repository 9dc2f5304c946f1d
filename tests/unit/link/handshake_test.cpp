// What is said on a new connection, and how each answer is judged. No sockets.
#include "link/handshake.hpp"

#include <catch2/catch_test_macros.hpp>

using slotwise::ErrorCode;
using slotwise::Reply;
using slotwise::link::Handshake;
using slotwise::link::HandshakeSettings;
using slotwise::link::RequiredRole;
using State = Handshake::State;

namespace {

Reply ok() {
  return Reply::make_text(Reply::Type::status, "OK");
}
Reply error(const char* text) {
  return Reply::make_text(Reply::Type::error, text);
}
Reply hello() {
  std::vector<Reply> fields;
  fields.push_back(Reply::make_text(Reply::Type::string, "availability_zone"));
  fields.push_back(Reply::make_text(Reply::Type::string, "zone-a"));
  return Reply::make_aggregate(Reply::Type::map, std::move(fields));
}

std::size_t commands_in(const std::string& bytes) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = bytes.find('*', at)) != std::string::npos; ++at) {
    if (at == 0 || bytes[at - 1] == '\n') ++n;
  }
  return n;
}

HandshakeSettings with_password() {
  HandshakeSettings s;
  s.credentials = {"app", "secret"};
  return s;
}

/// Answers everything that is still expected with OK.
State finish(Handshake& h, std::size_t replies) {
  State state = h.state();
  for (std::size_t i = 0; i < replies; ++i)
    state = h.reply(ok());
  return state;
}

}  // namespace

TEST_CASE("everything is asked in one write") {
  HandshakeSettings s = with_password();
  s.client_name = "me";
  s.database = 3;
  s.ask_node_id = true;
  s.readonly = true;
  Handshake h(s);
  const std::string out = h.take_output();
  CHECK(commands_in(out) == 7);  // HELLO, SETNAME, SETINFO x2, SELECT, READONLY, MYID
  CHECK(out.find("AUTH") != std::string::npos);
  CHECK(out.find("READONLY") != std::string::npos);
  REQUIRE(h.reply(hello()) == State::running);
  REQUIRE(finish(h, 5) == State::running);
  CHECK(h.reply(Reply::make_text(Reply::Type::string, "0123")) == State::done);
  CHECK(h.protocol() == 3);
  CHECK(h.node_id() == "0123");
  CHECK(h.availability_zone() == "zone-a");
}

TEST_CASE("B30: only a server without HELLO or RESP3 is spoken to in RESP2") {
  SECTION("unknown command, and no such protocol: plain AUTH on the same connection") {
    for (const char* text : {"ERR unknown command 'HELLO', with args beginning with: '3' ",
                             "NOPROTO unsupported protocol version"}) {
      Handshake h(with_password());
      const std::size_t asked = commands_in(h.take_output());
      State state = h.reply(error(text));
      // The rest of the first write is answered NOAUTH; that must not count.
      for (std::size_t i = 1; i < asked; ++i)
        state = h.reply(error("NOAUTH Authentication required."));
      REQUIRE(state == State::running);
      const std::string again = h.take_output();
      CHECK(again.find("HELLO") == std::string::npos);
      CHECK(again.find("*3\r\n$4\r\nAUTH\r\n$3\r\napp\r\n$6\r\nsecret\r\n") == 0);
      CHECK(finish(h, commands_in(again)) == State::done);
      CHECK(h.protocol() == 2);
    }
  }
  SECTION("credential faults are never taken for it") {
    for (const char* text :
         {"NOAUTH HELLO must be called with the client already authenticated, otherwise ...",
          "WRONGPASS invalid username-password pair or user is disabled.",
          "ERR AUTH <password> called without any password configured for the default user."}) {
      Handshake h(with_password());
      (void)h.take_output();
      REQUIRE(h.reply(error(text)) == State::failed);
      CHECK(h.error().code() == ErrorCode::auth_failed);
      CHECK(h.error().server_text() == text);
      CHECK(std::string(h.error().what()).find("secret") == std::string::npos);
    }
  }
  SECTION("SETNAME and SETINFO may fail") {
    HandshakeSettings s;
    s.client_name = "me";
    Handshake h(s);
    (void)h.take_output();
    (void)h.reply(hello());
    (void)h.reply(error("ERR unknown subcommand 'SETNAME'"));
    (void)h.reply(error("ERR unknown subcommand 'SETINFO'"));
    CHECK(h.reply(error("NOPERM no permissions")) == State::done);
  }
}

TEST_CASE("another node's id ends the handshake and names both") {
  HandshakeSettings s;
  s.ask_node_id = true;
  s.expected_node_id = "aaaa";
  Handshake h(s);
  (void)h.take_output();
  (void)h.reply(hello());
  (void)finish(h, 2);
  SECTION("wrong") {
    REQUIRE(h.reply(Reply::make_text(Reply::Type::string, "bbbb")) == State::failed);
    CHECK(h.error().code() == ErrorCode::wrong_node);
    CHECK(h.error().message().find("aaaa") != std::string_view::npos);
    CHECK(h.error().message().find("bbbb") != std::string_view::npos);
  }
  SECTION("a server that forbids the question is believed") {
    CHECK(h.reply(error("NOPERM this user has no permissions to run CLUSTER")) == State::done);
  }
  SECTION("a node that is loading knows nothing yet") {
    REQUIRE(h.reply(error("LOADING Valkey is loading the dataset in memory")) == State::failed);
    CHECK(h.error().code() == ErrorCode::loading);
  }
}

TEST_CASE("a refused database says which parameter is meant") {
  HandshakeSettings s;
  s.database = 5;
  Handshake h(s);
  (void)h.take_output();
  (void)h.reply(hello());
  (void)finish(h, 2);
  REQUIRE(h.reply(error("ERR SELECT is not allowed in cluster mode")) == State::failed);
  CHECK(h.error().message().find("`db`") != std::string_view::npos);
  CHECK(h.error().message().find("5") != std::string_view::npos);
}

// --- ROLE -------------------------------------------------------------------------------------

namespace {

Reply role(const char* name) {
  std::vector<Reply> parts;
  parts.push_back(Reply::make_text(Reply::Type::string, name));
  parts.push_back(Reply::make_integer(0));
  return Reply::make_aggregate(Reply::Type::array, std::move(parts));
}

/// Up to and without the reply to ROLE, which is the last.
Handshake before_role(HandshakeSettings s) {
  Handshake h(std::move(s));
  const std::size_t asked = commands_in(h.take_output());
  REQUIRE(h.reply(hello()) == State::running);
  REQUIRE(finish(h, asked - 2) == State::running);
  return h;
}

bool says(const Handshake& h, const char* part) {
  return h.error().message().find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("ROLE is asked behind AUTH in the same write, last of all") {
  HandshakeSettings s = with_password();
  s.role = RequiredRole::primary;
  s.database = 3;
  s.client_name = "me";
  Handshake h(s);
  const std::string out = h.take_output();
  CHECK(commands_in(out) == 6);  // HELLO, SETNAME, SETINFO x2, SELECT, ROLE
  CHECK(out.ends_with("*1\r\n$4\r\nROLE\r\n"));
  CHECK(out.find("AUTH") < out.find("SELECT"));
  CHECK(out.find("SELECT") < out.find("ROLE"));
}

TEST_CASE("ROLE is not asked where any role will do") {
  Handshake h(with_password());
  CHECK(h.take_output().find("ROLE") == std::string::npos);
}

TEST_CASE("B32: only a server that says the wanted role is used") {
  HandshakeSettings s = with_password();
  SECTION("a primary is wanted") {
    s.role = RequiredRole::primary;
    SECTION("master") {
      Handshake h = before_role(s);
      CHECK(h.reply(role("master")) == State::done);
    }
    for (const char* other : {"slave", "sentinel", "handshake", "MASTER", ""}) {
      CAPTURE(other);
      Handshake h = before_role(s);
      REQUIRE(h.reply(role(other)) == State::failed);
      CHECK(h.error().code() == ErrorCode::no_primary);
      CHECK(h.error().outcome() == slotwise::Outcome::not_sent);
      CHECK(says(h, "as the primary"));
      if (*other != '\0') CHECK(says(h, other));
    }
  }
  SECTION("a replica is wanted") {
    s.role = RequiredRole::replica;
    Handshake good = before_role(s);
    CHECK(good.reply(role("slave")) == State::done);
    for (const char* other : {"master", "sentinel"}) {
      Handshake h = before_role(s);
      REQUIRE(h.reply(role(other)) == State::failed);
      CHECK(h.error().code() == ErrorCode::no_primary);
      CHECK(says(h, "as a replica"));
    }
  }
}

TEST_CASE("a ROLE that cannot be read is no role") {
  HandshakeSettings s;
  s.role = RequiredRole::primary;
  const auto refused = [&](const Reply& reply) {
    Handshake h = before_role(s);
    REQUIRE(h.reply(reply) == State::failed);
    return h.error().code();
  };
  CHECK(refused(Reply()) == ErrorCode::no_primary);
  CHECK(refused(ok()) == ErrorCode::no_primary);
  CHECK(refused(Reply::make_text(Reply::Type::string, "master")) == ErrorCode::no_primary);
  CHECK(refused(Reply::make_aggregate(Reply::Type::array, {})) == ErrorCode::no_primary);
  CHECK(refused(Reply::make_integer(1)) == ErrorCode::no_primary);
  CHECK(refused(error("ERR unknown command 'ROLE'")) == ErrorCode::no_primary);
  for (const char* loading :
       {"LOADING Valkey is loading the dataset in memory", "MASTERDOWN Link with MASTER is down"}) {
    const ErrorCode code = refused(error(loading));
    CHECK((code == ErrorCode::loading || code == ErrorCode::no_primary));
  }
}

TEST_CASE("a user who may not ask for the ROLE is told so") {
  HandshakeSettings s = with_password();
  s.role = RequiredRole::primary;
  for (const char* text : {"NOPERM User app has no permissions to run the 'role' command",
                           "NOAUTH Authentication required."}) {
    Handshake h = before_role(s);
    REQUIRE(h.reply(error(text)) == State::failed);
    CHECK(h.error().code() == ErrorCode::auth_failed);
    CHECK(says(h, "ROLE"));
    CHECK(h.error().server_text() == text);
  }
}

TEST_CASE("without HELLO the ROLE of the second write counts, not that of the first") {
  HandshakeSettings s = with_password();
  s.role = RequiredRole::primary;
  Handshake h(s);
  const std::size_t asked = commands_in(h.take_output());
  (void)h.reply(error("ERR unknown command 'HELLO'"));
  // A server without a password answers all of it; it is not judged yet.
  for (std::size_t i = 2; i < asked; ++i)
    REQUIRE(h.reply(ok()) == State::running);
  REQUIRE(h.reply(role("master")) == State::running);
  const std::string again = h.take_output();
  CHECK(again.ends_with("*1\r\n$4\r\nROLE\r\n"));
  REQUIRE(finish(h, commands_in(again) - 1) == State::running);
  SECTION("master") {
    CHECK(h.reply(role("master")) == State::done);
  }
  SECTION("slave") {
    CHECK(h.reply(role("slave")) == State::failed);
    CHECK(h.error().code() == ErrorCode::no_primary);
  }
}
