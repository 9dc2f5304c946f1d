#include "client/config_sentinel.hpp"

#include <algorithm>
#include <tuple>

#include "client/config_uri.hpp"

namespace slotwise::client {

namespace {

auto ca_of(const TlsConfig& tls) {
  return std::tie(tls.ca_file, tls.ca_dir);
}
auto key_of(const TlsConfig& tls) {
  return std::tie(tls.cert_file, tls.key_file, tls.key_password);
}

}  // namespace

TlsConfig& sentinel_tls(Config& config) {
  if (!config.sentinel_tls) config.sentinel_tls = config.tls;
  return *config.sentinel_tls;
}

bool same_files(const TlsConfig& a, const TlsConfig& b) noexcept {
  return ca_of(a) == ca_of(b) && key_of(a) == key_of(b) && a.server_name == b.server_name;
}

void SentinelTlsParams::add(const Param& param, std::string value, bool may_show) {
  given_.push_back({&param, std::move(value), may_show});
}

const SentinelTlsParams::Given* SentinelTlsParams::find(std::string_view name) const noexcept {
  const auto at = std::find_if(given_.begin(), given_.end(),
                               [&](const Given& one) { return one.param->name == name; });
  return at == given_.end() ? nullptr : &*at;
}

void SentinelTlsParams::apply(Config& config) const {
  if (given_.empty()) return;
  if (find("sentinel_key_password") != nullptr && find("sentinel_key") == nullptr) {
    bad_uri("parameter 'sentinel_key_password' is of no use without sentinel_key; write both");
  }
  config.sentinel_tls = config.tls;
  TlsConfig& tls = *config.sentinel_tls;
  if (find("sentinel_ca") != nullptr || find("sentinel_ca_dir") != nullptr) {
    tls.ca_file.clear();
    tls.ca_dir.clear();
  }
  if (find("sentinel_cert") != nullptr || find("sentinel_key") != nullptr) {
    tls.cert_file.clear();
    tls.key_file.clear();
    tls.key_password.clear();
  }
  for (const Given& one : given_) {
    if (auto wrong = read_param(*one.param, config, one.value, one.may_show); !wrong.empty()) {
      bad_uri(wrong);
    }
  }
  if (tls.enabled) return;
  const bool refused = find("sentinel_tls") != nullptr;
  for (const Given& one : given_) {
    if (one.param->name == "sentinel_tls") continue;
    bad_uri("parameter '" + std::string(one.param->name) + "' needs TLS at the sentinels: " +
            (refused ? "write sentinel_tls=yes, or leave it out" : "write sentinel_tls=yes too"));
  }
  // Nothing of the copy is used, and it must not look as if somebody had wanted it.
  tls = TlsConfig{};
}

std::vector<std::pair<std::string_view, std::string>> print_sentinel_tls(const Config& config) {
  std::vector<std::pair<std::string_view, std::string>> out;
  if (!config.sentinel_tls) return out;
  const TlsConfig& tls = *config.sentinel_tls;
  out.emplace_back("sentinel_tls", tls.enabled ? "yes" : "no");
  if (!tls.enabled) return out;
  if (ca_of(tls) != ca_of(config.tls)) {
    // An empty one takes that of the data servers back.
    if (!tls.ca_file.empty() || tls.ca_dir.empty()) out.emplace_back("sentinel_ca", tls.ca_file);
    if (!tls.ca_dir.empty()) out.emplace_back("sentinel_ca_dir", tls.ca_dir);
  }
  if (key_of(tls) != key_of(config.tls)) {
    out.emplace_back("sentinel_cert", tls.cert_file);
    out.emplace_back("sentinel_key", tls.key_file);
    if (!tls.key_password.empty()) out.emplace_back("sentinel_key_password", "***");
  }
  if (tls.server_name != config.tls.server_name) {
    out.emplace_back("sentinel_server_name", tls.server_name);
  }
  return out;
}

}  // namespace slotwise::client
