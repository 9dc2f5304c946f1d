// A TCP server that plays exact bytes and remembers what it was sent.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kit/connection.hpp"
#include "kit/ports.hpp"
#include "kit/resp_bytes.hpp"
#include "kit/script.hpp"
#include "kit/scripted_map.hpp"
#include "kit/scripted_reply.hpp"

namespace slotwise::kit {

class ScriptedLoop;

struct ReceivedCommand {
  int connection = 0;  ///< 1, 2, 3 ... in order of acceptance
  Command words{};
  std::chrono::steady_clock::time_point when{};
};

/// What one connection sent.
struct ConnectionRecord {
  int number = 0;
  bool open = false;
  bool resp3 = false;  ///< HELLO 3 was accepted
  std::vector<ReceivedCommand> commands{};
  std::string garbage{};  ///< bytes from the first one on that was not RESP (a TLS hello ...)
};

struct ScriptedNodeOptions {
  std::string host = "127.0.0.1";      ///< any of 127.0.0.0/8, or "::1"
  std::uint16_t port = 0;              ///< 0: one that is free
  std::string id{};                    ///< CLUSTER MYID; empty: 40 hex digits made from the port
  std::shared_ptr<ScriptedMap> map{};  ///< null: one of its own that gives it all slots
  std::string role = "master";         ///< for HELLO, ROLE and INFO
  std::string mode = "cluster";        ///< for HELLO and INFO: "cluster", "standalone", "sentinel"
  std::string version = "7.4.0";
};

/// Unless a script says otherwise it answers like a friendly server: HELLO 2 and 3, AUTH, CLIENT
/// ..., PING, ECHO, SELECT, READONLY, READWRITE, ASKING, ROLE, INFO, COMMAND ..., CLUSTER MYID,
/// SLOTS, SHARDS, NODES, INFO, SUBSCRIBE, RESET, QUIT. Any other command gets "-ERR scripted node
/// has no answer to 'GET foo'", so that a test sees what it forgot.
///
/// Scripts match by leading words: the command's name and, for containers such as CLUSTER or
/// CLIENT, the sub-command in any case; other words exactly. One-time replies come before lasting
/// ones, more words before fewer, newer before older.
///
/// Thread rule: any thread may call any method at any time. Handlers run on the node's own thread,
/// without a lock held: they may call the node, but must not wait for it.
class ScriptedNode {
 public:
  explicit ScriptedNode(ScriptedNodeOptions options = {});
  ~ScriptedNode();
  ScriptedNode(const ScriptedNode&) = delete;
  ScriptedNode& operator=(const ScriptedNode&) = delete;

  const std::string& host() const noexcept;
  std::uint16_t port() const noexcept;
  std::string endpoint() const;  ///< "127.0.0.1:12001"
  Address address() const;
  const std::string& id() const noexcept;
  ScriptedMap& map() noexcept;
  ScriptedMapNode map_node() const;  ///< for ScriptedRange::nodes

  // --- scripts -----------------------------------------------------------------------------
  /// These replies, one for each such command, in order; then the default again.
  void on(const Command& leading_words, std::vector<ScriptedReply> replies);
  /// This reply for every such command from now on.
  void always(const Command& leading_words, ScriptedReply reply);
  /// A function for every such command: gets the connection's number and the whole command.
  /// std::nullopt passes on to the next match or to the default.
  using Handler = Script::Handler;
  void handle(const Command& leading_words, Handler handler);
  /// All scripts gone.
  void forget_scripts();
  /// One-time replies not used yet.
  std::size_t scripts_left() const;

  /// HELLO is answered with these bytes instead; e.g. resp::error("ERR unknown command 'HELLO'").
  void refuse_hello(const std::string& bytes) { always({"HELLO"}, bytes); }
  /// Needs AUTH (or HELLO ... AUTH) with these first; NOAUTH and WRONGPASS as a real server.
  void require_auth(const std::string& user, const std::string& password);
  void set_role(const std::string& role);
  /// From now on accepts and reads but answers nothing (a stopped process), and uses up no script.
  /// Recorded all the same; what came in between is not answered afterwards.
  void mute(bool on);

  // --- pushing and breaking ----------------------------------------------------------------
  /// Sends bytes nobody asked for on one connection, or on all (connection 0), after what waits
  /// there; from a handler: before the reply to the command at hand.
  void send(int connection, const std::string& bytes);
  /// Closes at once; bytes that wait are dropped. With `reset` by RST instead of FIN.
  void close(int connection, bool reset = false);
  void close_all(bool reset = false);
  /// Refuses connections from now on (open ones stay); listens again on the same port.
  void stop_listening();
  void listen_again();

  // --- what was seen -----------------------------------------------------------------------
  std::size_t accepts() const;
  std::size_t open_connections() const;
  std::vector<ConnectionRecord> connections() const;
  ConnectionRecord connection(int number) const;
  /// All commands in order of arrival.
  std::vector<ReceivedCommand> commands() const;
  /// Those that begin with these words (matched as scripts are).
  std::vector<ReceivedCommand> commands(const Command& leading_words) const;
  std::size_t count(const Command& leading_words) const;
  /// count("GET"), count("CLUSTER", "SLOTS")
  template <class... Words>
  requires(std::convertible_to<const Words&, std::string_view>&&...) std::size_t
      count(const Words&... words)
  const { return count(Command{std::string(std::string_view(words))...}); }
  /// Forgets commands and accepts counted so far; connections stay, closed ones are forgotten.
  void reset_counts();
  /// Until that many such commands have come.
  void wait_for(const Command& leading_words, std::size_t at_least = 1,
                milliseconds limit = milliseconds(5000)) const;

 private:
  std::unique_ptr<ScriptedLoop> loop_;
};

/// Scripted nodes that tell one map, which gives each an equal part of the slots.
class ScriptedCluster {
 public:
  explicit ScriptedCluster(std::size_t count, const ScriptedNodeOptions& options = {});

  ScriptedNode& operator[](std::size_t index) { return *nodes_.at(index); }
  std::size_t size() const noexcept { return nodes_.size(); }
  ScriptedMap& map() noexcept { return *map_; }
  /// "valkey+cluster://a,b,c"
  std::string uri() const;

 private:
  std::shared_ptr<ScriptedMap> map_ = std::make_shared<ScriptedMap>();
  std::vector<std::unique_ptr<ScriptedNode>> nodes_;
};

}  // namespace slotwise::kit
