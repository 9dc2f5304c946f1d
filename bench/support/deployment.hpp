// The servers that a bench runs against: three real primaries on loopback, without replicas.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kit/cluster.hpp"

namespace slotwise::bench {

inline constexpr std::size_t node_count = 3;

class Deployment {
 public:
  explicit Deployment(bool tls);

  std::string uri() const { return cluster_.uri(); }
  bool tls() const noexcept { return cluster_.options().tls; }
  std::string ca_file() const;
  const kit::Address& address(std::size_t node) const { return addresses_[node]; }
  std::uint8_t node_of(std::string_view key) const;
  std::string benchmark_program() const;  ///< valkey-benchmark, beside the servers

  /// Sets all these keys to this value.
  void fill(const std::vector<std::string_view>& keys, const std::string& value);

  /// User and system time that the servers have used since they were started.
  double cpu_seconds() const;

 private:
  kit::Cluster cluster_;
  std::array<kit::Address, node_count> addresses_;
  std::vector<std::uint8_t> node_of_slot_;
};

}  // namespace slotwise::bench
