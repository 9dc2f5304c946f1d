// One primary, its replicas, and the sentinels that watch it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/server.hpp"

namespace slotwise::kit {

struct SentinelOptions {
  int replicas = 2;
  int sentinels = 3;
  int quorum = 0;                          ///< 0: majority
  std::string name = "mymaster";
  milliseconds down_after{1000};
  milliseconds failover_timeout{5000};
  bool own_addresses = false;              ///< 127.A.B.N per process
  std::vector<ConfigLine> config{};          ///< data servers
  std::vector<ConfigLine> sentinel_config{};

  std::string user{};                        ///< data servers
  std::string password{};
  std::string sentinel_user{};               ///< sentinels
  std::string sentinel_password{};
  bool tls = false;                        ///< data servers
  bool sentinel_tls = false;

  std::filesystem::path dir{};
  std::optional<ServerBinaries> binaries{};
  Lifetime lifetime = Lifetime::with_test;
  milliseconds ready_limit{20000};
  Progress progress{};
};

/// Data servers are s1 (first primary), s2, ...: indexes 0 .. replicas. Sentinels are w1, w2, ...
///
/// Thread rule: any thread may call any method at any time.
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
  void wait_ready(std::optional<milliseconds> limit = std::nullopt) const;
  /// Until most sentinels name another primary than `not_this`, and that one says so itself.
  std::size_t wait_for_new_primary(std::size_t not_this, milliseconds limit) const;
  /// SENTINEL FAILOVER, and wait. Returns the new primary.
  std::size_t failover();
  /// Roles swapped by REPLICAOF behind the sentinels' back; connections of clients stay open.
  void swap_roles_by_hand(std::size_t new_primary);

  void on_change(std::function<void(const NodeState&)> hook);

 private:
  void start_all();
  ServerOptions options_of_server(std::size_t index) const;
  ServerOptions options_of_sentinel(std::size_t index) const;
  std::string trouble() const;
  void changed(const Server& server) const;

  SentinelOptions options_;
  std::optional<TempDir> own_dir_;
  std::filesystem::path dir_;
  std::shared_ptr<const CertificateAuthority> ca_;
  LoopbackNet net_;
  std::vector<std::unique_ptr<Server>> servers_;    // fixed after construction
  std::vector<std::unique_ptr<Server>> sentinels_;  // fixed after construction
  std::function<void(const NodeState&)> change_hook_;
};

}  // namespace slotwise::kit
