// What a scripted node says when no script applies. No sockets; see ScriptedNode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kit/script.hpp"
#include "kit/scripted_map.hpp"

namespace slotwise::kit {

/// What a server remembers of a connection.
struct ScriptedSession {
  int number = 0;
  bool resp3 = false;
  bool authenticated = false;
  std::string name;
  int subscriptions = 0;
};

/// Answers like a friendly server. Thread rule: guarded by its owner.
class ScriptedManners {
 public:
  std::string id;
  std::string host;
  std::uint16_t port = 0;
  std::string role;
  std::string mode;
  std::string version;
  std::shared_ptr<ScriptedMap> map;
  std::optional<std::pair<std::string, std::string>> credentials;

  /// NOAUTH, if this command may not be run yet.
  std::optional<ScriptedReply> refusal(const ScriptedSession& session,
                                       const Command& command) const;
  ScriptedReply answer(ScriptedSession& session, const Command& command) const;

 private:
  ScriptedReply hello(ScriptedSession& session, const Command& command) const;
  ScriptedReply auth(ScriptedSession& session, const std::string& user,
                     const std::string& password) const;
  ScriptedReply client(ScriptedSession& session, const Command& command) const;
  ScriptedReply cluster(const ScriptedSession& session, const Command& command) const;
  static ScriptedReply subscribe(ScriptedSession& session, const Command& command);
  std::string info() const;
  std::string role_reply() const;
};

}  // namespace slotwise::kit
