// The kit for a person: servers that outlive the command, kept in a folder with a state file.
// This is what `slotwise lab` is made of.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/lab_network.hpp"
#include "kit/sentinel.hpp"

namespace slotwise::kit {

struct LabOptions {
  std::filesystem::path dir{};
  int primaries = 3;
  int replicas = 1;
  int sentinels = 0;  ///< more than 0: a sentinel set (primaries must be 1), no cluster
  bool tls = false;
  bool hostnames = false;  ///< cluster only: nN.lab.test; implies own_addresses
  bool proxies = false;    ///< cluster only: clients are led through a FaultProxy for each node
  bool own_addresses = false;
  bool appendonly = false;
  milliseconds node_timeout{2000};
  std::string user{};
  std::string password{};
  std::vector<ConfigLine> config{};
  Lifetime lifetime = Lifetime::detached;  ///< with_test: everything ends with this process
  std::filesystem::path servers{};         ///< a bin folder; empty: ServerBinaries::find()
  /// A command that calls serve_lab_network() with the word that is put behind it, the folder. It
  /// runs the proxies and the DNS with the names; empty: there are neither.
  std::vector<std::string> network_command{};
};

/// The process with the lab's proxies and DNS; a pid of 0: there is none.
struct LabNetworkState {
  ProcessId process{};
  std::string dns_servers{};  ///< its DNS; empty: the lab's nodes have no names
};

struct LabNode {
  std::string name{};  ///< "n1"; sentinel sets: "s1" (data), "w1" (sentinel)
  Address address{};
  std::string hostname{};
  pid_t pid = 0;          ///< 0 when it does not run
  std::string state{};    ///< "up", "down", "stopped" (SIGSTOP)
  std::string role{};     ///< "primary", "replica", "sentinel", "?"
  std::string follows{};  ///< name of a replica's primary
  std::string slots{};    ///< "0-5460 5462"
  int slot_total = 0;
  std::string id{};       ///< cluster node id
  std::string trouble{};  ///< "fail", "link down" ...; empty if well
  Address proxy{};        ///< port 0: none
  std::string fault{};    ///< of the proxy: "cut", "delay 50 ms" ...; empty: none
  std::string record{};   ///< what the DNS says of its hostname: "127.3.4.1", "nxdomain" ...
};

/// All methods throw kit::Error. Any number of processes may work on one folder at a time: the
/// state file is read and written under a lock, but the lock is not held while a command works, so
/// that a node can be killed while another command moves slots.
///
/// Thread rule: use one Lab from one thread at a time.
class Lab {
 public:
  /// Starts everything and returns when it is ready to fail over. Refuses a folder that has a lab
  /// with running servers. If it fails, or the process is interrupted, nothing is left running
  /// that down() would not end.
  static Lab up(const LabOptions& options, Progress progress = {});
  /// Takes up what up() left in this folder.
  static Lab open(const std::filesystem::path& dir, Progress progress = {});
  /// Ends every server of the lab (SIGKILL), known from the state file or found by its working
  /// folder, and removes what up() made in the folder. Works on half-made labs too.
  static void down(const std::filesystem::path& dir, Progress progress = {});

  Lab(Lab&&) noexcept;
  Lab& operator=(Lab&&) noexcept;
  ~Lab();

  /// That a client can use as it is: with names only if the lab has a DNS that knows them.
  std::string uri() const;
  std::vector<LabNode> status() const;
  std::string description() const;  ///< "valkey 9.1.2, 3 primaries, 3 replicas, TLS"

  /// Node by name, id or address. Signal as number; see signal_number().
  void kill(std::string_view node, int signal = SIGKILL);
  /// An empty host or a port of 0 in the address stay as they are.
  /// The DNS keeps the record that it has.
  void restart(std::string_view node, std::optional<Address> address = std::nullopt);
  /// An address for restart() that nobody uses.
  Address spare_address();
  void add_shards(int count);
  void remove_shards(int count);
  void migrate(int first, int last, std::string_view to, bool legacy = false);
  /// Cluster: makes a replica of this primary (or this replica) the primary. Sentinel: SENTINEL
  /// FAILOVER; the node is not needed. Returns the new primary's name.
  std::string failover(std::string_view node = {});
  void wait_ready() const;

  /// Introduces all nodes of a cluster to each other: needed after all of them moved at once.
  void meet();

  /// What the node's proxy does from now on, instead of what it did.
  void set_fault(std::string_view node, const LabFault& fault);
  /// RST to all connections through the node's proxy.
  void reset_connections(std::string_view node);
  /// What the DNS says of the node's name: "127.3.4.1", "127.3.4.1 ::1", "nxdomain", "silent" ...
  std::string record(std::string_view node) const;
  /// IP addresses, or one word: real (the node's present address), nxdomain, servfail, empty,
  /// silent.
  void set_record(std::string_view node, std::vector<std::string> answer);

  /// Null where it is the other kind.
  Cluster* cluster() noexcept { return cluster_.get(); }
  SentinelSet* sentinel_set() noexcept { return sentinels_.get(); }

 private:
  Lab() = default;
  void start_network();
  LabNetwork network(std::string_view command) const;
  void add_network_status(std::vector<LabNode>& nodes) const;
  Cluster& need_cluster(std::string_view command) const;
  std::size_t cluster_node(std::string_view name) const;
  Server& sentinel_node(std::string_view name) const;
  std::vector<LabNode> cluster_status() const;
  std::vector<LabNode> sentinel_status() const;

  LabOptions options_;
  Progress progress_;
  LabNetworkState network_;
  std::optional<Process> network_process_;  // of a lab that ends with this process
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SentinelSet> sentinels_;
};

/// "KILL", "SIGKILL", "9" -> 9; throws on anything else.
int signal_number(std::string_view name);

}  // namespace slotwise::kit
