// The proxies and the DNS of a lab: a process of its own that outlives the commands, and how they
// speak to it. Not for users: see Lab.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kit/cluster.hpp"

namespace slotwise::kit {

/// Serves the network of the lab in this folder over a socket in it, DIR/network.sock. Returns when
/// that socket is gone or is another's: the lab was taken down. Throws kit::Error if it cannot
/// begin.
void serve_lab_network(const std::filesystem::path& dir);

/// What a node's proxy does to connections, in both directions.
struct LabFault {
  StreamFaults stream{};
  bool refuse = false;          ///< does not listen
  std::uint64_t cut_after = 0;  ///< new connections end after 1 ... this many bytes; 0: they do not

  std::string to_string() const;  ///< "cut", "delay 50 ms, one byte at a time"; empty: none
};

/// A node as the network knows it.
struct LabNetworkNode {
  std::string fault{};            ///< LabFault::to_string()
  std::uint64_t connections = 0;  ///< through its proxy, now
  std::string record{};           ///< "127.3.4.1 ::1", "nxdomain", ...; empty: it has no name
};

/// Each call is one request and one answer of the process; kit::Error if it does not answer, or
/// says that it cannot.
///
/// Thread rule: a value without state of its own; any thread.
class LabNetwork {
 public:
  explicit LabNetwork(std::filesystem::path dir) : dir_(std::move(dir)) {}

  Address dns_address() const;
  /// Nodes by name.
  std::map<std::string, LabNetworkNode> nodes() const;
  /// A node that has come, moved or left. Its proxy follows; its name gets a record when it is seen
  /// for the first time, and keeps that whatever becomes of the node.
  void update(const NodeState& node) const;
  void set_fault(const std::string& node, const LabFault& fault) const;
  void reset_connections(const std::string& node) const;
  /// IP addresses of both families, or one word: nxdomain, servfail, empty, silent.
  void set_record(const std::string& node, const std::vector<std::string>& answer) const;

  static constexpr const char* socket_name = "network.sock";
  static constexpr const char* log_name = "network.log";

 private:
  nlohmann::json ask(const nlohmann::json& request) const;

  std::filesystem::path dir_;
};

}  // namespace slotwise::kit
