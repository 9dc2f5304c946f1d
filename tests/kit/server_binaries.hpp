// Which server is tested, and what it can do.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>

namespace slotwise::kit {

enum class Flavour : std::uint8_t { valkey, redis };

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
  std::string to_string() const;
};

/// A server program with its facts. Looked for in this order:
///   1. the folder in the environment variable SLOTWISE_SERVERS,
///   2. what `./dev setup` brought: .deps/servers/valkey-9.1/bin,
///   3. PATH (valkey-server before redis-server).
struct ServerBinaries {
  std::filesystem::path server{};  ///< also runs as sentinel, with --sentinel
  Flavour flavour = Flavour::valkey;
  Version version{};

  /// Throws kit::Error that names every place looked at. The answer is remembered per process.
  static const ServerBinaries& find();
  /// The one in this folder.
  static ServerBinaries in(const std::filesystem::path& bin_dir);

  bool is_valkey(int major, int minor = 0) const;
  bool is_redis(int major, int minor = 0) const;

  /// CLUSTER MIGRATESLOTS (atomic slot migration, Valkey 9.0).
  bool has_migrateslots() const { return is_valkey(9); }
  /// cluster-databases: SELECT in a cluster (Valkey 9.0).
  bool has_cluster_databases() const { return is_valkey(9); }
  /// CLUSTER SLOT-STATS (Valkey 8.0, Redis 8.2).
  bool has_slot_stats() const { return is_valkey(8) || is_redis(8, 2); }
  /// CLIENT CAPA redirect and -REDIRECT (Valkey 8.0).
  bool has_redirect_capability() const { return is_valkey(8); }
  /// availability-zone in HELLO and INFO (Valkey 8.1).
  bool has_availability_zone() const { return is_valkey(8, 1); }

  /// "valkey 9.1.2"
  std::string to_string() const;
};

}  // namespace slotwise::kit
