// One primary, its replicas, and the sentinels that watch it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/server.hpp"

namespace slotwise::kit {

struct SentinelOptions {
  int replicas = 2;
  int sentinels = 3;
  int quorum = 0;  ///< 0: majority
  std::string name = "mymaster";
  milliseconds down_after{1000};
  milliseconds failover_timeout{5000};
  bool own_addresses = false;  ///< 127.A.B.N per process
  /// Sentinels ask for INFO every half second instead of every ten and so notice roles and links
  /// sooner. Off, a primary that comes back keeps its role for as long as it would in production.
  bool quick = false;
  std::vector<ConfigLine> config{};  ///< data servers
  std::vector<ConfigLine> sentinel_config{};

  std::string user{};  ///< data servers
  std::string password{};
  std::string sentinel_user{};  ///< sentinels
  std::string sentinel_password{};
  /// TLS at the data servers and at the sentinels. A sentinel has one switch for everything that it
  /// connects to, other sentinels included: with two or more sentinels set both or none.
  bool tls = false;
  bool sentinel_tls = false;

  std::filesystem::path dir{};
  std::optional<ServerBinaries> binaries{};
  Lifetime lifetime = Lifetime::with_test;
  milliseconds ready_limit{20000};
  Progress progress{};
  std::function<void(const NodeState&)> on_change{};  ///< see ClusterOptions
};

/// Data servers are s1 (first primary), s2, ...: indexes 0 .. replicas. Sentinels are w1, w2, ...
///
/// Thread rule: any thread may call any method at any time, but for spare_address().
class SentinelSet {
 public:
  /// Returns when every sentinel knows all replicas and all other sentinels, all replica links are
  /// up, and (with two or more sentinels) CKQUORUM says that a failover could be authorised.
  explicit SentinelSet(SentinelOptions options = {});
  SentinelSet(SentinelOptions options, const std::vector<NodeState>& nodes);
  ~SentinelSet();
  SentinelSet(const SentinelSet&) = delete;
  SentinelSet& operator=(const SentinelSet&) = delete;

  std::size_t server_count() const;
  std::size_t sentinel_count() const;
  Server& server(std::size_t index) const;
  Server& sentinel(std::size_t index) const;
  /// By name ("s1", "w2"); null if there is none.
  Server* find(std::string_view name) const;
  std::vector<NodeState> state() const;

  /// "valkey+sentinel://127.0.0.1:p,.../mymaster"
  std::string uri() const;
  const SentinelOptions& options() const noexcept { return options_; }
  const std::filesystem::path& dir() const noexcept { return dir_; }
  std::shared_ptr<const CertificateAuthority> ca() const noexcept { return ca_; }

  /// The server that the sentinel names.
  std::size_t primary_according_to(std::size_t sentinel) const;
  /// The server that most running sentinels name.
  std::size_t primary() const;
  /// Sentinels run at the quick pace while this waits.
  void wait_ready(std::optional<milliseconds> limit = std::nullopt) const;
  /// See SentinelOptions::quick.
  void set_pace(bool quick) const;
  /// Until most sentinels name another primary than `not_this`, and that one says so itself.
  std::size_t wait_for_new_primary(std::size_t not_this, milliseconds limit) const;
  /// SENTINEL FAILOVER, and wait. Returns the new primary.
  std::size_t failover();
  /// Roles swapped by REPLICAOF behind the sentinels' back; connections of clients stay open. The
  /// sentinels undo it after some seconds, unless they are stopped or told otherwise.
  void swap_roles_by_hand(std::size_t new_primary);

  void kill(Server& server, int signal = SIGKILL);
  /// Returns when it answers; see Cluster::restart.
  void restart(Server& server, std::optional<Address> address = std::nullopt);
  Address spare_address();

 private:
  void open_folder();
  void create();
  ServerOptions server_options(const std::string& name) const;
  ServerOptions sentinel_options(const std::string& name) const;
  std::vector<ConfigLine> monitor_lines(const ServerOptions& sentinel) const;
  void place(ServerOptions& server, Port& common);
  void start(std::vector<std::unique_ptr<Server>>& list);
  int replicas_online() const;
  std::string trouble_of(Server& sentinel) const;
  std::optional<std::size_t> server_at(const std::string& endpoint) const;
  void changed(const Server& server) const;
  void say(const std::string& text) const;

  SentinelOptions options_;
  std::optional<TempDir> own_dir_;
  std::filesystem::path dir_;
  std::shared_ptr<const CertificateAuthority> ca_;
  LoopbackNet net_;
  Port common_port_;  // with own addresses
  Port common_sentinel_port_;
  std::vector<Port> ports_;
  std::vector<std::unique_ptr<Server>> servers_;    // fixed after construction
  std::vector<std::unique_ptr<Server>> sentinels_;  // fixed after construction
};

}  // namespace slotwise::kit
