// Scripted nodes that play sentinels: for what real ones cannot be made to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kit/scripted_node.hpp"

namespace slotwise::kit {

struct ScriptedReplica {
  Address address;
  std::string flags = "slave";     ///< "slave,s_down,disconnected"
  std::string link_status = "ok";  ///< master-link-status
};

/// What a sentinel says of the primary that it watches.
struct ScriptedWatch {
  Address primary;
  std::uint64_t epoch = 1;
  std::vector<ScriptedReplica> replicas{};
};

/// Answers SENTINEL MYID, GET-MASTER-ADDR-BY-NAME, MASTER, SENTINELS and REPLICAS, as maps in RESP3
/// and as flat arrays in RESP2. Scripts of node() come first, as everywhere.
///
/// Thread rule: any thread.
class ScriptedSentinel {
 public:
  explicit ScriptedSentinel(std::string name = "mymaster", ScriptedNodeOptions options = {});

  ScriptedNode& node() noexcept { return *node_; }
  const ScriptedNode& node() const noexcept { return *node_; }
  void say(ScriptedWatch watch);
  /// It watches nothing of that name any more.
  void say_unknown();
  /// The sentinels that it knows, besides itself.
  void set_others(std::vector<std::pair<Address, std::string>> addresses_and_ids);
  /// A message to everybody who is connected in RESP3: publish("+switch-master", "mymaster ...").
  void publish(const std::string& channel, const std::string& text);

 private:
  std::optional<ScriptedReply> answer(int connection, const Command& command) const;

  const std::string name_;
  mutable std::mutex mutex_;
  std::optional<ScriptedWatch> watch_;                   // guarded by mutex_
  std::vector<std::pair<Address, std::string>> others_;  // guarded by mutex_
  std::unique_ptr<ScriptedNode> node_;                   // last: its thread ends first
};

/// Sentinels that know each other.
class ScriptedSentinels {
 public:
  explicit ScriptedSentinels(std::size_t count, const std::string& name = "mymaster");

  ScriptedSentinel& operator[](std::size_t index) { return *all_.at(index); }
  std::size_t size() const noexcept { return all_.size(); }
  /// All of them say the same.
  void say(const ScriptedWatch& watch);
  void publish(const std::string& channel, const std::string& text);
  /// Until each has a subscriber.
  void wait_for_subscribers() const;
  void stop_listening();
  void listen_again();

 private:
  std::vector<std::unique_ptr<ScriptedSentinel>> all_;
};

}  // namespace slotwise::kit
