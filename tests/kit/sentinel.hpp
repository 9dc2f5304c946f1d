// One primary, its replicas, and the sentinels that watch it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/dns_responder.hpp"
#include "kit/fault_proxy.hpp"
#include "kit/server.hpp"

namespace slotwise::kit {

/// Who is called by name (s1.lab.test, w1.lab.test) rather than by address.
enum class SentinelNames : std::uint8_t {
  none,
  /// The sentinels, in uri() and nowhere else. What they tell of themselves and of the servers is
  /// addresses.
  uri,
  /// All, everywhere: the sentinels resolve and announce hostnames, and every server and sentinel
  /// is announced, monitored and replicated by its name. They resolve by a hosts file of their own;
  /// needs can_have_own_hosts().
  announced,
};

struct SentinelOptions {
  int replicas = 2;
  int sentinels = 3;
  int quorum = 0;  ///< 0: majority
  std::string name = "mymaster";
  milliseconds down_after{1000};
  milliseconds failover_timeout{5000};
  bool own_addresses = false;  ///< 127.A.B.N per process
  SentinelNames names = SentinelNames::none;
  /// With names: knows them, and is named in uri(). See update_dns().
  std::shared_ptr<DnsResponder> dns{};
  /// Every server and sentinel gets a FaultProxy on its own address, and announces its port, so
  /// that clients find nothing else. Sentinels and replicas follow what is announced as well, but
  /// what the proxies do (faults, cuts, resets) they do to clients alone: theirs come from
  /// 127.0.0.1, while servers and sentinels connect from their own addresses. Only
  /// stop_listening() concerns all. Servers that are to be cut off from one another: isolate().
  /// Implies own_addresses. A proxy whose server is down accepts and resets.
  bool proxied = false;
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
  /// The certificates of the sentinels are signed by another authority than those of the data
  /// servers (see sentinel_ca()). The sentinels themselves trust both.
  bool sentinel_authority = false;

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
  /// The one of the sentinels' certificates.
  std::shared_ptr<const CertificateAuthority> sentinel_ca() const noexcept { return sentinel_ca_; }

  /// Where everybody but the kit goes: its proxy, if it has one.
  Address client_address(const Server& server) const;
  /// "host:port" as the sentinels announce it: by name or by address.
  std::string endpoint(const Server& server) const;
  /// "s1.lab.test"; empty without names.
  std::string hostname(const Server& server) const;
  FaultProxy& proxy(const Server& server) const;
  /// All connections of clients to the data servers get RST.
  void reset_clients();
  /// No other server or sentinel reaches it, and it reaches none: what they send one another is
  /// swallowed. Clients reach it as before. One at a time, until rejoin(). With proxies.
  void isolate(const Server& server);
  void rejoin();
  /// The names have the addresses that the servers have now.
  void update_dns();

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
  /// Roles swapped by REPLICAOF behind the sentinels' back, as a careful operator does it: writes
  /// are paused until all is done, so nothing is lost, and those that waited are answered READONLY.
  /// Connections of clients stay open. To the sentinels the primary is then a replica, so it is
  /// down: some seconds later (at the quick pace, else after 20) they make a primary of one that
  /// they choose, unless they are stopped or told otherwise.
  void swap_roles_by_hand(std::size_t new_primary);

  void kill(Server& server, int signal = SIGKILL);
  /// Returns when it answers; see Cluster::restart.
  void restart(Server& server, std::optional<Address> address = std::nullopt);
  Address spare_address();
  /// Everything is killed and started again on new addresses, the ports as before. Addresses in
  /// the configuration files are rewritten as the tooling of an operator would; names stay, and the
  /// servers' own hosts file knows their new addresses. DNS keeps the old ones until update_dns().
  /// Data survives only if the servers write it down. With own_addresses.
  void move_all();

 private:
  static constexpr std::string_view hostname_suffix = ".lab.test";

  void open_folder();
  void create();
  ServerOptions server_options(const std::string& name) const;
  ServerOptions sentinel_options(const std::string& name) const;
  std::vector<ConfigLine> monitor_lines(const ServerOptions& sentinel) const;
  void place(ServerOptions& server, Port& common);
  std::vector<ConfigLine> announce_lines(const ServerOptions& server) const;
  std::uint16_t proxy_port(bool of_sentinel) const;
  void give_proxy(const Server& server);
  void follow(const Server& server);
  void write_hosts(const std::map<std::string, std::string>& moves = {}) const;
  std::vector<Server*> all() const;
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
  std::shared_ptr<const CertificateAuthority> sentinel_ca_;
  LoopbackNet net_;
  Port common_port_;  // with own addresses
  Port common_sentinel_port_;
  Port common_proxy_port_;
  Port common_sentinel_proxy_port_;
  std::vector<Port> ports_;
  std::vector<std::unique_ptr<Server>> servers_;                  // fixed after construction
  std::vector<std::unique_ptr<Server>> sentinels_;                // fixed after construction
  std::map<const Server*, std::unique_ptr<FaultProxy>> proxies_;  // fixed after construction
};

}  // namespace slotwise::kit
