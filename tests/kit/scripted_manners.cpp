#include "kit/scripted_manners.hpp"

#include <fmt/format.h>

#include "kit/resp_bytes.hpp"

namespace slotwise::kit {

namespace {

std::string joined(const Command& command) {
  std::string text;
  for (const auto& word : command) {
    if (text.size() > 80) return text + " ...";
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

ScriptedReply no_answer(const Command& command) {
  return resp::error(fmt::format("ERR scripted node has no answer to '{}'", joined(command)));
}

std::string word(const Command& command, std::size_t index) {
  return index < command.size() ? command[index] : std::string();
}

}  // namespace

std::optional<ScriptedReply> ScriptedManners::refusal(const ScriptedSession& session,
                                                      const Command& command) const {
  if (!credentials || session.authenticated || command.empty()) return std::nullopt;
  for (const char* free : {"AUTH", "HELLO", "QUIT", "RESET"}) {
    if (same_name(command[0], free)) return std::nullopt;
  }
  return resp::error("NOAUTH Authentication required.");
}

ScriptedReply ScriptedManners::auth(ScriptedSession& session, const std::string& user,
                                    const std::string& password) const {
  if (!credentials) {
    // What a real server says to a password that nobody asked for, unless a user is named.
    return user.empty() ? ScriptedReply(resp::error(
                              "ERR AUTH <password> called without any password configured for the "
                              "default user. Are you sure your configuration is correct?"))
                        : ScriptedReply(resp::simple("OK"));
  }
  const std::string name = user.empty() ? "default" : user;
  const std::string wanted = credentials->first.empty() ? "default" : credentials->first;
  if (name != wanted || password != credentials->second) {
    return resp::error("WRONGPASS invalid username-password pair or user is disabled.");
  }
  session.authenticated = true;
  return resp::simple("OK");
}

ScriptedReply ScriptedManners::hello(ScriptedSession& session, const Command& command) const {
  const auto protocol = word(command, 1);
  if (!protocol.empty() && protocol != "2" && protocol != "3") {
    return resp::error("NOPROTO unsupported protocol version");
  }
  for (std::size_t i = 2; i < command.size(); ++i) {
    if (same_name(command[i], "AUTH") && i + 2 < command.size()) {
      auto reply = auth(session, command[i + 1], command[i + 2]);
      if (reply.bytes().starts_with('-')) return reply;
      i += 2;
    } else if (same_name(command[i], "SETNAME") && i + 1 < command.size()) {
      session.name = command[++i];
    }
  }
  if (credentials && !session.authenticated) {
    return resp::error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  }
  if (!protocol.empty()) session.resp3 = protocol == "3";
  using resp::bulk;
  const std::vector<std::pair<std::string, std::string>> fields = {
      {bulk("server"), bulk("redis")},
      {bulk("version"), bulk(version)},
      {bulk("proto"), resp::integer(session.resp3 ? 3 : 2)},
      {bulk("id"), resp::integer(session.number)},
      {bulk("mode"), bulk(mode)},
      {bulk("role"), bulk(role == "slave" ? "replica" : role)},
      {bulk("modules"), resp::array({})}};
  if (session.resp3) return resp::map(fields);
  std::vector<std::string> flat;
  for (const auto& [key, value] : fields)
    flat.insert(flat.end(), {key, value});
  return resp::array(flat);
}

ScriptedReply ScriptedManners::client(ScriptedSession& session, const Command& command) const {
  const auto what = word(command, 1);
  if (same_name(what, "ID")) return resp::integer(session.number);
  if (same_name(what, "SETNAME")) session.name = word(command, 2);
  if (same_name(what, "GETNAME")) return resp::bulk(session.name);
  if (same_name(what, "INFO") || same_name(what, "LIST")) {
    return resp::bulk(fmt::format("id={} name={}\n", session.number, session.name));
  }
  return resp::simple("OK");
}

ScriptedReply ScriptedManners::cluster(const ScriptedSession& session,
                                       const Command& command) const {
  const auto what = word(command, 1);
  if (same_name(what, "MYID")) return resp::bulk(id);
  if (same_name(what, "SLOTS")) return map->slots_reply(session.resp3);
  if (same_name(what, "SHARDS")) return map->shards_reply(session.resp3);
  if (same_name(what, "NODES")) return map->nodes_reply(id);
  if (same_name(what, "INFO")) {
    return resp::bulk(
        "cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
        "cluster_current_epoch:1\r\ncluster_my_epoch:1\r\n");
  }
  return no_answer(command);
}

/// One answer for each channel: pushes in RESP3, replies in RESP2.
ScriptedReply ScriptedManners::subscribe(ScriptedSession& session, const Command& command) {
  std::string bytes;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::vector<std::string> parts = {resp::bulk("subscribe"), resp::bulk(command[i]),
                                            resp::integer(++session.subscriptions)};
    bytes += session.resp3 ? resp::push(parts) : resp::array(parts);
  }
  return bytes;
}

std::string ScriptedManners::info() const {
  return fmt::format(
      "# Server\r\nredis_version:{}\r\nredis_mode:{}\r\n# Persistence\r\nloading:0\r\n"
      "# Replication\r\nrole:{}\r\nconnected_slaves:0\r\n# Cluster\r\ncluster_enabled:{}\r\n",
      version, mode, role, mode == "cluster" ? 1 : 0);
}

std::string ScriptedManners::role_reply() const {
  using resp::bulk;
  if (role == "master") return resp::array({bulk("master"), resp::integer(0), resp::array({})});
  if (role == "sentinel") return resp::array({bulk("sentinel"), resp::array({})});
  return resp::array(
      {bulk("slave"), bulk("127.0.0.1"), resp::integer(6379), bulk("connected"), resp::integer(0)});
}

ScriptedReply ScriptedManners::answer(ScriptedSession& session, const Command& command) const {
  const auto name = word(command, 0);
  const auto is = [&](const char* wanted) { return same_name(name, wanted); };
  if (is("HELLO")) return hello(session, command);
  if (is("AUTH")) {
    return command.size() > 2 ? auth(session, command[1], command[2])
                              : auth(session, "", word(command, 1));
  }
  if (is("CLIENT")) return client(session, command);
  if (is("CLUSTER")) return cluster(session, command);
  if (is("PING")) return command.size() > 1 ? resp::bulk(command[1]) : resp::simple("PONG");
  if (is("ECHO")) return resp::bulk(word(command, 1));
  if (is("SELECT") || is("READONLY") || is("READWRITE") || is("ASKING")) return resp::simple("OK");
  if (is("ROLE")) return role_reply();
  if (is("INFO")) return resp::bulk(info());
  if (is("COMMAND")) {
    return same_name(word(command, 1), "COUNT") ? resp::integer(0) : resp::array({});
  }
  if (is("SUBSCRIBE")) return subscribe(session, command);
  if (is("RESET")) {
    session.resp3 = false;
    session.authenticated = false;
    session.name.clear();
    return resp::simple("RESET");
  }
  if (is("QUIT")) return ScriptedReply(resp::simple("OK")).then_close();
  return no_answer(command);
}

}  // namespace slotwise::kit
