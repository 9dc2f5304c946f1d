// What is said on a new connection before the first command: a state machine without I/O.
//
// HELLO (with AUTH), CLIENT SETNAME and SETINFO, CLIENT CAPA, SELECT, READONLY, CLUSTER MYID and
// ROLE go out in one write; their replies are judged one by one. A server without HELLO (or that
// refuses protocol 3) gets a second write with plain AUTH on the same connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>

namespace slotwise::link {

/// What a server must say of itself in ROLE before the connection is used.
enum class RequiredRole : std::uint8_t { any, primary, replica };

struct HandshakeSettings {
  int protocol = 3;
  Credentials credentials;
  std::string client_name;
  int database = 0;
  bool ask_node_id = false;               ///< cluster: CLUSTER MYID
  std::string expected_node_id;           ///< empty: any
  bool readonly = false;                  ///< cluster replica: READONLY
  bool announce_redirect = false;         ///< single server: CLIENT CAPA redirect
  RequiredRole role = RequiredRole::any;  ///< other than any: ROLE is asked, last of all
};

class Handshake {
 public:
  explicit Handshake(HandshakeSettings settings) : settings_(std::move(settings)) {}

  enum class State : std::uint8_t { running, done, failed };

  /// Bytes to write now; empty if nothing. Call at the start and after each reply().
  std::string take_output();
  /// Judges the next reply.
  State reply(const Reply& reply);

  State state() const noexcept { return state_; }
  const Error& error() const { return *error_; }  ///< only when failed
  int protocol() const noexcept { return protocol_; }
  const std::string& node_id() const noexcept { return node_id_; }  ///< empty: not told
  const std::string& availability_zone() const noexcept { return availability_zone_; }

 private:
  enum class Step : std::uint8_t {
    hello,
    auth,
    set_name,
    set_info,
    select,
    readonly,
    capa,
    my_id,
    role
  };

  void begin(bool with_hello);
  void say(Step step, std::initializer_list<std::string_view> words);
  void say_auth();
  State judge(Step step, const Reply& reply);
  State judge_hello(const Reply& reply);
  State judge_node_id(const Reply& reply);
  State judge_role(const Reply& reply);
  State fail(ErrorCode code, std::string text, const Reply& reply);

  HandshakeSettings settings_;
  State state_ = State::running;
  bool started_ = false;
  bool fall_back_ = false;  // HELLO was refused: begin again without it after the last reply
  int protocol_ = 2;
  std::string output_;
  std::deque<Step> expected_;
  std::string node_id_;
  std::string availability_zone_;
  std::optional<Error> error_;
};

}  // namespace slotwise::link
