// A real cluster: N primaries with M replicas each, made in about two seconds, and everything that
// can happen to it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kit/cluster_view.hpp"
#include "kit/dns_responder.hpp"
#include "kit/fault_proxy.hpp"
#include "kit/server.hpp"
#include "kit/slot_migration.hpp"

namespace slotwise::kit {

/// Told what happens, one line each: "n4 started on 127.0.0.1:12003".
using Progress = std::function<void(const std::string&)>;

/// What must be remembered of a node to take a detached cluster up again.
struct NodeState {
  std::string name{};
  Address address{};
  std::uint16_t bus_port = 0;
  std::uint16_t proxy_port = 0;  ///< on the node's host; 0: it has no proxy
  std::string hostname{};
  ProcessId process{};
  bool removed = false;
};

struct ClusterOptions {
  int primaries = 3;
  int replicas = 0;  ///< of each primary
  milliseconds node_timeout{2000};
  bool appendonly = false;           ///< with appendfsync always: what is acknowledged is written
  std::vector<ConfigLine> config{};  ///< for every node, after the kit's lines
  /// Every node gets an address of its own (127.A.B.N, one port for all); else all nodes are on
  /// 127.0.0.1 with ports of their own.
  bool own_addresses = false;
  /// Announce n1.lab.test, n2.lab.test ... and prefer them as endpoints.
  bool hostnames = false;
  std::string hostname_suffix = ".lab.test";
  /// "ip", "hostname", "unknown-endpoint"; empty: the server's default, or hostname with hostnames.
  std::string preferred_endpoint_type{};
  /// With hostnames: knows each node's name from its start on, and is named in uri(). A node that
  /// is restarted elsewhere keeps its old record until update_dns(); one that leaves loses it.
  std::shared_ptr<DnsResponder> dns{};
  /// "127.0.0.1:5353", in uri(): where somebody else's DNS knows the names. Set from `dns`, if that
  /// is there.
  std::string dns_servers{};

  /// Every node gets a FaultProxy, and announces the proxy's port (on its own address) to clients,
  /// so that uri(), the map and redirects lead through it. The kit itself goes to the real address.
  /// Replicas and MIGRATESLOTS follow the announced port as well: a fault of a primary's proxy is
  /// one of its replication too, while the bus, which has no proxy, stays alive, and so nobody
  /// fails over. A proxy whose node is down accepts and resets (stop_listening() makes it refuse).
  bool proxied = false;
  /// The ports are reserved and announced, but somebody else runs the proxies; on_change tells him
  /// where. For the lab, whose proxies outlive a Cluster.
  bool proxies_elsewhere = false;

  bool tls = false;  ///< certificates name each node's address (IP SAN) and hostname (DNS SAN)
  /// Changes a node's certificate before it is issued (wrong name, expired ...).
  std::function<void(std::size_t node, CertificateOptions&)> certificate{};
  std::string user{};  ///< see ServerOptions
  std::string password{};

  std::filesystem::path dir{};  ///< of all nodes; empty: a TempDir
  std::optional<ServerBinaries> binaries{};
  Lifetime lifetime = Lifetime::with_test;
  milliseconds ready_limit{20000};
  Progress progress{};
  /// Told of each node that was started, restarted or removed; for the lab's state file.
  std::function<void(const NodeState&)> on_change{};
};

/// A node as the cluster itself describes it, joined with what the kit knows.
struct ClusterNode {
  std::size_t index = 0;
  std::string name{};  ///< "n1"
  std::string id{};
  Address address{};
  std::string hostname{};
  bool running = false;  ///< its process runs
  bool is_primary = false;
  std::optional<std::size_t> primary{};  ///< index of a replica's primary
  std::vector<SlotRange> slots{};
  int slot_total = 0;
  std::uint64_t config_epoch = 0;
  bool in_trouble = false;  ///< flagged fail, fail?, handshake or noaddr by the others
};

/// Nodes are named by an index that never changes and is never used again: 0 .. P-1 are the first
/// primaries, then come their replicas (of primary 0 first), then whatever add_shards() adds, each
/// new primary followed by its replicas. Roles move with failovers, indexes do not.
///
/// Thread rule: any thread may call any method at any time; two calls that change the shape
/// (add_shards, remove_shards) exclude each other.
///
/// Invariant: when a call that waits returns, every running node agrees on what was changed.
class Cluster {
 public:
  /// Starts it; returns when it is ready to fail over (without replicas: to serve).
  explicit Cluster(ClusterOptions options = {});
  /// Takes up a detached cluster.
  Cluster(ClusterOptions options, const std::vector<NodeState>& nodes);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // --- what there is -----------------------------------------------------------------------
  std::size_t size() const;  ///< all indexes ever given, removed ones too
  bool removed(std::size_t node) const;
  Server& server(std::size_t node) const;    ///< command(), connect(), counts, log
  std::vector<std::size_t> members() const;  ///< indexes that were not removed
  std::vector<NodeState> state() const;
  /// As the first running node that is not cut off sees it.
  std::vector<ClusterNode> nodes() const;
  ClusterNode node(std::size_t index) const;
  /// One node's own view.
  ClusterView view(std::size_t node) const;
  std::string id(std::size_t node) const;
  std::optional<std::size_t> index_of(std::string_view id_or_name_or_address) const;
  std::vector<std::size_t> primaries() const;  ///< that own slots
  std::vector<std::size_t> replicas_of(std::size_t primary) const;
  /// The running node that owns the slot in the view of most; throws if there is none.
  std::size_t owner_of(int slot) const;
  std::size_t owner_of_key(std::string_view key) const;
  int slot_of(std::string_view key) const;  ///< asks a server: CLUSTER KEYSLOT
  /// "valkey+cluster://127.0.0.1:12001,...", with TLS "valkeys+cluster://...?ca=FILE"; credentials
  /// included. Names instead of addresses where hostnames are announced (and `dns_servers`, if
  /// options() have them), the proxies' ports where there are proxies.
  std::string uri() const;
  /// The same with these nodes only.
  std::string uri(const std::vector<std::size_t>& seeds) const;
  /// Where clients find the node: its proxy, if it has one, else itself.
  Address client_address(std::size_t node) const;
  /// Throws if the cluster is not proxied.
  FaultProxy& proxy(std::size_t node) const;
  const std::filesystem::path& dir() const noexcept { return dir_; }
  const ClusterOptions& options() const noexcept { return options_; }
  const ServerBinaries& binaries() const;
  /// The CA that signed the nodes' certificates (null without TLS).
  std::shared_ptr<const CertificateAuthority> ca() const noexcept { return ca_; }

  // --- waiting -----------------------------------------------------------------------------
  /// Every running member answers cluster_state:ok, owns or knows every slot, agrees with the
  /// others on each owner, and has nobody in handshake.
  void wait_ready_to_serve(std::optional<milliseconds> limit = std::nullopt) const;
  /// The same, and every replica that runs has its link to its primary up and its first sync done,
  /// and every node knows it as that primary's replica and names it in CLUSTER SLOTS.
  /// cluster_state:ok alone comes earlier: a primary killed then would stay without a successor.
  void wait_ready_to_fail_over(std::optional<milliseconds> limit = std::nullopt) const;
  /// Until somebody other than `not_this` owns the slot and all running members say so.
  std::size_t wait_for_new_owner(int slot, std::size_t not_this, milliseconds limit) const;

  // --- things that happen to it ------------------------------------------------------------
  void kill(std::size_t node, int signal = SIGKILL);
  void stop(std::size_t node);  ///< SIGTERM and wait
  void pause(std::size_t node) { kill(node, SIGSTOP); }
  void resume(std::size_t node) { kill(node, SIGCONT); }
  /// Ends it if it runs and starts it with its data, on the same or on another address. Returns
  /// when the node answers; see wait_ready_to_serve for the cluster. Its proxy goes with it: to
  /// another host with the port that it has, and on the same host it only gets a new target.
  void restart(std::size_t node, std::optional<Address> address = std::nullopt);
  /// An address for restart() that nobody uses: the next of the cluster's own addresses, or
  /// another port.
  Address spare_address();
  /// The DNS names the node's present address from now on.
  void update_dns(std::size_t node);
  /// Introduces all running members to each other again: after all of them moved at once, none
  /// finds another by the addresses in its nodes.conf.
  void meet_again();

  /// Moves these slots to `to` by MIGRATESLOTS where the server has it, else slot by slot.
  /// Returns when they are there and all running members say so.
  void migrate(int first, int last, std::size_t to);
  /// Key by key: SETSLOT, GETKEYSINSLOT, MIGRATE. With `between` slot by slot; it is called between
  /// the steps of each (see SlotMigration) and may run commands of the test. Without, some slots at
  /// a time, which is faster.
  void migrate_legacy(int first, int last, std::size_t to,
                      const SlotMigration::Between& between = {});
  /// One slot by hand: marked on both sides, no key moved yet. For ASK and TRYAGAIN at will.
  SlotMigration begin_migration(int slot, std::size_t to);

  /// New primaries (with as many replicas as options() say), joined, each with a fair share of
  /// the slots. Returns the new primaries.
  std::vector<std::size_t> add_shards(int count);
  /// New primaries without any slot yet.
  std::vector<std::size_t> add_empty_shards(int count);
  /// Moves the slots of the last `count` shards to the others, forgets and stops their nodes.
  void remove_shards(int count);
  /// Like remove_shards, for this primary and its replicas.
  void remove_shard(std::size_t primary);
  /// Makes a replica of this primary (or this replica itself) the primary by CLUSTER FAILOVER.
  /// Returns the new primary when all running members agree.
  std::size_t failover(std::size_t node);

  // --- counting ----------------------------------------------------------------------------
  void reset_counts();
  /// Calls executed, summed over running members: command_count("get").
  std::int64_t command_count(const std::string& command) const;
  std::int64_t command_count(const std::string& command, std::size_t node) const;
  std::int64_t error_count(const std::string& word) const;  ///< "MOVED", "ASK" ...
  std::int64_t connections_received() const;
  std::int64_t connections_received(std::size_t node) const;

 private:
  struct Node;

  void open_folder();
  ServerOptions server_options(const Node& node, std::size_t index) const;
  Port reserve_port() const;
  std::size_t add_node();
  void give_network(Node& node) const;
  void start_nodes(const std::vector<std::size_t>& which);
  void create();
  void set_epochs(const std::vector<std::size_t>& newcomers, std::uint64_t after);
  void meet(const std::vector<std::size_t>& newcomers);
  void give_replicas(const std::vector<std::size_t>& primaries,
                     const std::vector<std::size_t>& replicas);
  void changed(std::size_t node) const;
  void say(const std::string& text) const;
  Node& at(std::size_t node) const;
  ClusterView any_view() const;
  std::vector<std::size_t> running_members() const;

  enum class Ready : std::uint8_t { to_know_each_other, to_serve, to_fail_over };
  struct Trouble {
    std::size_t node = 0;
    std::string what;
  };
  std::optional<Trouble> trouble(Ready ready) const;
  void wait_ready(Ready ready, std::optional<milliseconds> limit, const char* for_what) const;
  void wait_all_agree(const std::vector<int>& slots, std::size_t owner) const;

  std::vector<int> slots_of(std::size_t node) const;
  std::map<std::size_t, std::vector<int>> elsewhere(int first, int last, std::size_t to) const;
  void move_slots(std::size_t from, const std::vector<int>& slots, std::size_t to);
  void migrate_atomically(std::size_t from, const std::vector<int>& slots, std::size_t to);
  void migrate_key_by_key(std::size_t from, const std::vector<int>& slots, std::size_t to);
  std::vector<std::size_t> add_nodes_for(int shards);
  void wait_until_unused(std::size_t node) const;
  void empty_and_remove(std::size_t primary, const std::vector<std::size_t>& takers);

  friend class SlotMigration;

  ClusterOptions options_;
  std::optional<TempDir> own_dir_;
  std::filesystem::path dir_;
  std::shared_ptr<const CertificateAuthority> ca_;

  std::mutex shape_mutex_;                    // one add_shards or remove_shards at a time
  mutable std::mutex nodes_mutex_;            // never held during any work
  std::vector<std::shared_ptr<Node>> nodes_;  // guarded by nodes_mutex_; grows only
  LoopbackNet net_;                           // guarded by nodes_mutex_
  Port common_port_;                          // held with own addresses, which share one port
  Port common_bus_port_;
  Port common_proxy_port_;
  std::uint16_t common_number_ = 0;        // fixed after construction; 0: ports of their own
  std::uint16_t common_bus_number_ = 0;    // fixed after construction
  std::uint16_t common_proxy_number_ = 0;  // fixed after construction
  std::vector<Port> spare_ports_;          // guarded by nodes_mutex_
};

}  // namespace slotwise::kit
