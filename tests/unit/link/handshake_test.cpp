// What is said on a new connection, and how each answer is judged. No sockets.
#include "link/handshake.hpp"

#include <catch2/catch_test_macros.hpp>

using slotwise::ErrorCode;
using slotwise::Reply;
using slotwise::link::Handshake;
using slotwise::link::HandshakeSettings;
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
