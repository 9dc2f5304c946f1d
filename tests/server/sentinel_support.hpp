// Scripted sentinels with two scripted servers, either of which may be the primary.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "kit/scripted_sentinel.hpp"
#include "server/support.hpp"

namespace slotwise::test {

using kit::Command;

/// A server that counts what it executes, and knows whether it may write.
class CountingServer {
 public:
  explicit CountingServer(const std::string& role = "master")
      : replica_(role == "slave"), node_({.role = role, .mode = "standalone"}) {
    node_.handle({"INCR"}, [this](int, const Command&) { return write(resp::integer(1)); });
    node_.handle({"SET"}, [this](int, const Command&) { return write(resp::simple("OK")); });
    node_.always({"GET"}, resp::bulk(node_.endpoint()));
  }

  ScriptedNode& node() noexcept { return node_; }
  kit::Address address() const { return node_.address(); }
  std::string endpoint() const { return node_.endpoint(); }
  /// Connections stay, as with REPLICAOF.
  void demote() {
    replica_ = true;
    node_.set_role("slave");
  }
  void promote() {
    replica_ = false;
    node_.set_role("master");
  }
  void die() {
    node_.stop_listening();
    node_.close_all();
  }
  /// Writes that it acknowledged.
  int executed() const noexcept { return executed_; }
  /// Writes that came over a connection which had not asked for the ROLE before.
  std::size_t unchecked_writes() const {
    std::size_t unchecked = 0;
    for (const auto& connection : node_.connections()) {
      bool asked = false;
      for (const auto& command : connection.commands) {
        const std::string& name = command.words.at(0);
        asked = asked || name == "ROLE";
        if (!asked && (name == "INCR" || name == "SET")) ++unchecked;
      }
    }
    return unchecked;
  }

 private:
  ScriptedReply write(const std::string& reply) {
    if (replica_) return resp::error("READONLY You can't write against a read only replica.");
    ++executed_;
    return reply;
  }

  std::atomic<bool> replica_;
  std::atomic<int> executed_{0};
  ScriptedNode node_;  // last: its thread ends first
};

/// Three sentinels; X is the primary, Y its replica.
struct SentinelScene {
  CountingServer x;
  CountingServer y{"slave"};
  kit::ScriptedSentinels sentinels{3};

  SentinelScene() { name(x, 1); }

  void name(const CountingServer& server, std::uint64_t epoch) {
    sentinels.say({.primary = server.address(), .epoch = epoch});
  }
  void tell_switch(const CountingServer& from, const CountingServer& to,
                   const std::string& primary = "mymaster") {
    sentinels.publish("+switch-master", primary + ' ' + words(from) + ' ' + words(to));
  }
  /// As a failover: Y is promoted, X demoted or not.
  void fail_over() {
    y.promote();
    name(y, 2);
  }

  Config config(std::chrono::milliseconds timeout = 5s) {
    Config c;
    c.mode = Mode::sentinel;
    c.sentinel_name = "mymaster";
    c.timeout = timeout;
    for (std::size_t i = 0; i < sentinels.size(); ++i)
      c.endpoints.push_back({sentinels[i].node().host(), sentinels[i].node().port()});
    return c;
  }
  Client client(std::chrono::milliseconds timeout = 5s) { return Client::connect(config(timeout)); }
  /// One that hears of every change.
  Client listening_client(Config c) {
    Client client = Client::connect(std::move(c));
    sentinels.wait_for_subscribers();
    return client;
  }

  static std::string words(const CountingServer& server) {
    return server.address().host + ' ' + std::to_string(server.address().port);
  }
};

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The primary that the client believes in; empty: none, or it is not in use.
inline std::string primary_of(const Client& client) {
  for (const auto& node : client.topology().nodes) {
    if (node.primary && node.healthy) return node.endpoint;
  }
  return {};
}

inline void wait_for_primary(const Client& client, const CountingServer& server,
                             std::chrono::milliseconds limit = 5s) {
  kit::wait_until([&] { return primary_of(client) == server.endpoint(); }, limit,
                  server.endpoint() + " to be the primary");
}

}  // namespace slotwise::test
