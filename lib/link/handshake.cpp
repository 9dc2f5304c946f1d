#include "link/handshake.hpp"

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include <slotwise/version.hpp>

#include "resp/encoder.hpp"

namespace slotwise::link {
namespace {

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ');
}

/// A server that does not know HELLO, or not protocol 3. Credential faults are never taken for it:
/// falling back then would hide them (NOAUTH, WRONGPASS have words of their own).
bool refuses_hello(std::string_view text) {
  return starts_with_word(text, "NOPROTO") || text.starts_with("ERR unknown command") ||
         text.starts_with("ERR Unknown command");
}

bool is_credential_fault(std::string_view text) {
  return starts_with_word(text, "NOAUTH") || starts_with_word(text, "WRONGPASS") ||
         starts_with_word(text, "NOPERM") || text.starts_with("ERR AUTH") ||
         text.starts_with("ERR invalid password");
}

}  // namespace

std::string Handshake::take_output() {
  if (!started_) {
    started_ = true;
    begin(settings_.protocol == 3);
  }
  return std::exchange(output_, {});
}

void Handshake::say(Step step, std::initializer_list<std::string_view> words) {
  resp::append_command(output_, std::span(words.begin(), words.size()));
  expected_.push_back(step);
}

void Handshake::say_auth() {
  const Credentials& c = settings_.credentials;
  if (c.password.empty() && c.username.empty()) return;
  if (c.username.empty()) {
    say(Step::auth, {"AUTH", c.password});
  } else {
    say(Step::auth, {"AUTH", c.username, c.password});
  }
}

void Handshake::begin(bool with_hello) {
  const Credentials& c = settings_.credentials;
  const bool has_credentials = !c.password.empty() || !c.username.empty();
  if (with_hello && has_credentials) {
    say(Step::hello,
        {"HELLO", "3", "AUTH", c.username.empty() ? "default" : c.username, c.password});
  } else if (with_hello) {
    say(Step::hello, {"HELLO", "3"});
  } else {
    say_auth();
  }
  if (!settings_.client_name.empty()) {
    say(Step::set_name, {"CLIENT", "SETNAME", settings_.client_name});
  }
  say(Step::set_info, {"CLIENT", "SETINFO", "LIB-NAME", "slotwise"});
  say(Step::set_info, {"CLIENT", "SETINFO", "LIB-VER", version()});
  if (settings_.announce_redirect) say(Step::capa, {"CLIENT", "CAPA", "redirect"});
  if (settings_.database != 0) {
    say(Step::select, {"SELECT", std::to_string(settings_.database)});
  }
  if (settings_.readonly) say(Step::readonly, {"READONLY"});
  if (settings_.ask_node_id) say(Step::my_id, {"CLUSTER", "MYID"});
  if (settings_.role != RequiredRole::any) say(Step::role, {"ROLE"});
}

Handshake::State Handshake::reply(const Reply& reply) {
  if (state_ != State::running) return state_;
  if (expected_.empty()) {
    return fail(ErrorCode::protocol, "a reply came before anything was asked", reply);
  }
  const Step step = expected_.front();
  expected_.pop_front();
  // After a refused HELLO the other replies of the first write mean nothing: without AUTH they may
  // all be NOAUTH.
  if (!fall_back_) {
    state_ = judge(step, reply);
    if (state_ == State::failed) return state_;
  }
  if (!expected_.empty()) return state_ = State::running;
  if (fall_back_) {
    fall_back_ = false;
    begin(false);
    return state_ = State::running;
  }
  return state_ = State::done;
}

Handshake::State Handshake::judge(Step step, const Reply& reply) {
  const std::string_view text = reply.is_error() ? reply.text() : std::string_view();
  if (starts_with_word(text, "LOADING") || starts_with_word(text, "MASTERDOWN")) {
    // Nothing that was asked is known yet (not even the node's id), so the connection cannot be
    // used: it is tried again later.
    if (step == Step::my_id) return fail(ErrorCode::loading, "the node is still loading", reply);
  }
  if (text.starts_with("ERR max number of clients")) {
    return fail(ErrorCode::connect_failed, "the node takes no more connections", reply);
  }
  switch (step) {
    case Step::hello:
      return judge_hello(reply);
    case Step::auth:
      if (reply.is_error()) return fail(ErrorCode::auth_failed, "the node refused AUTH", reply);
      return State::running;
    case Step::select:
      if (!reply.is_error()) return State::running;
      if (is_credential_fault(text)) {
        return fail(ErrorCode::auth_failed, "the node asks for credentials", reply);
      }
      return fail(
          ErrorCode::invalid_argument,
          "the node refused database " + std::to_string(settings_.database) +
              (settings_.ask_node_id
                   ? " (parameter `db`; a cluster has numbered databases only from Valkey 9 "
                     "with cluster-databases)"
                   : " (parameter `db`; the server's setting is `databases`)"),
          reply);
    case Step::my_id:
      return judge_node_id(reply);
    case Step::role:
      return judge_role(reply);
    case Step::readonly:
      // Without it the replica answers every read with MOVED: of no use.
      if (!reply.is_error()) return State::running;
      return fail(is_credential_fault(text) ? ErrorCode::auth_failed : ErrorCode::connect_failed,
                  "the replica refused READONLY", reply);
    case Step::set_name:
    case Step::set_info:
    case Step::capa:
      // Old servers and strict ACLs refuse these; the connection works without them. Only a
      // missing password must not pass: every command would fail with it.
      if (starts_with_word(text, "NOAUTH")) {
        return fail(ErrorCode::auth_failed, "the node asks for credentials", reply);
      }
      return State::running;
  }
  return State::running;
}

Handshake::State Handshake::judge_hello(const Reply& reply) {
  if (!reply.is_error()) {
    protocol_ = 3;
    if (const Reply* zone = reply.find("availability_zone")) availability_zone_ = zone->text();
    return State::running;
  }
  const std::string_view text = reply.text();
  if (refuses_hello(text)) {
    fall_back_ = true;
    return State::running;
  }
  if (starts_with_word(text, "NOAUTH")) {
    return fail(ErrorCode::auth_failed, "the node asks for credentials", reply);
  }
  if (is_credential_fault(text)) {
    return fail(ErrorCode::auth_failed, "the node refused the credentials", reply);
  }
  if (starts_with_word(text, "LOADING")) {
    return fail(ErrorCode::loading, "the node is still loading", reply);
  }
  return fail(ErrorCode::connect_failed, "the node refused HELLO", reply);
}

Handshake::State Handshake::judge_node_id(const Reply& reply) {
  // A server that forbids the question (ACL) or does not know it is believed.
  if (reply.is_error()) {
    if (starts_with_word(reply.text(), "NOAUTH")) {
      return fail(ErrorCode::auth_failed, "the node asks for credentials", reply);
    }
    return State::running;
  }
  node_id_ = reply.text();
  const std::string& wanted = settings_.expected_node_id;
  if (!wanted.empty() && !node_id_.empty() && node_id_ != wanted) {
    error_ = Error(ErrorCode::wrong_node, Outcome::not_sent,
                   "the address belongs to another node now: expected node id " + wanted +
                       ", it answers " + node_id_);
    return State::failed;
  }
  return State::running;
}

/// Unlike the node's id the role is not taken on trust: a write to a demoted primary is lost.
Handshake::State Handshake::judge_role(const Reply& reply) {
  if (reply.is_error()) {
    if (is_credential_fault(reply.text())) {
      return fail(ErrorCode::auth_failed,
                  "the server may not be asked for its ROLE; without that nobody knows whether it "
                  "still is the primary (allow it with ACL SETUSER ... +role)",
                  reply);
    }
    return fail(ErrorCode::no_primary, "the server does not tell its ROLE", reply);
  }
  const auto parts = reply.elements();
  const std::string_view told = parts.empty() ? std::string_view() : parts[0].text();
  const bool primary = settings_.role == RequiredRole::primary;
  if (told == (primary ? "master" : "slave")) return State::running;
  return fail(ErrorCode::no_primary,
              std::string("the sentinels name it as ") + (primary ? "the primary" : "a replica") +
                  ", but its ROLE is " + (told.empty() ? "not readable" : std::string(told)),
              reply);
}

Handshake::State Handshake::fail(ErrorCode code, std::string text, const Reply& reply) {
  Error error(code, Outcome::not_sent, std::move(text));
  if (reply.is_error()) {
    error = Error(code, Outcome::not_sent,
                  std::string(error.message()) + ": " + std::string(reply.text()))
                .with_server_text(std::string(reply.text()));
  }
  error_ = std::move(error);
  return state_ = State::failed;
}

}  // namespace slotwise::link
