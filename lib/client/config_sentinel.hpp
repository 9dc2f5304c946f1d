// TLS of the sentinels in a URI: what the data servers use, unless the URI says something else.
//
// Thread rule: pure functions and plain values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/config.hpp>

#include "client/config_params.hpp"

namespace slotwise::client {

/// Config::sentinel_tls; if it is absent, it is made as a copy of `tls`.
TlsConfig& sentinel_tls(Config& config);

/// Same CA, client certificate and name.
bool same_files(const TlsConfig& a, const TlsConfig& b) noexcept;

/// The sentinel_tls... parameters of a URI, put aside until `tls` is complete, since it is what
/// they start from, wherever they stand. Settings that make sense together only are replaced
/// together: sentinel_ca and sentinel_ca_dir; sentinel_cert, sentinel_key and
/// sentinel_key_password. So the sentinels' CA is never one of two, and no key meets a foreign
/// password.
class SentinelTlsParams {
 public:
  void add(const Param& param, std::string value, bool may_show);
  /// Engages Config::sentinel_tls if there was any. Throws Error(invalid_argument).
  void apply(Config& config) const;

 private:
  struct Given {
    const Param* param;
    std::string value;
    bool may_show;
  };
  const Given* find(std::string_view name) const noexcept;

  std::vector<Given> given_;
};

/// Name and value of each parameter that it takes to get Config::sentinel_tls from `tls`; the
/// value "***" for a secret. Nothing if it is absent.
std::vector<std::pair<std::string_view, std::string>> print_sentinel_tls(const Config& config);

}  // namespace slotwise::client
