#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "base/endpoint.hpp"
#include "client/config_params.hpp"
#include "client/config_sentinel.hpp"
#include "client/config_uri.hpp"
#include "client/nearest.hpp"

namespace slotwise {

namespace {

using client::bad_uri;
using client::Needs;
using client::Param;

constexpr std::uint16_t dns_port = 53;

// The database in the path, or the primary's name with or without it.
void take_path(const client::UriParts& parts, Config& config, std::set<std::string_view>& seen) {
  std::size_t next = 0;
  if (config.mode == Mode::sentinel) {
    if (parts.path.empty() || parts.path[0].empty()) {
      bad_uri("the name of the primary is missing; write valkey+sentinel://host,host/name");
    }
    config.sentinel_name = parts.path[next++];
  }
  if (next < parts.path.size()) {
    const Param& db = *client::find_param("db");
    if (!client::read_param(db, config, parts.path[next++], false).empty()) {
      bad_uri("the path must be the number of a database" +
              std::string(config.mode == Mode::sentinel ? " after the primary's name" : ""));
    }
    seen.insert(db.name);
  }
  if (next < parts.path.size()) bad_uri("the path has too many parts");
}

void check_needs(const Param& param, const Config& config) {
  const std::string shown = "parameter '" + std::string(param.name) + "' ";
  const bool sentinel = config.mode == Mode::sentinel;
  if (param.needs == Needs::tls && !config.tls.enabled) {
    bad_uri(shown + "needs TLS: write valkeys:// or rediss:// for the scheme" +
            (sentinel ? ", or sentinel_" + std::string(param.name) +
                            " and sentinel_tls=yes for the sentinels alone"
                      : ""));
  }
  if ((param.needs == Needs::sentinel || param.needs == Needs::sentinel_tls) && !sentinel) {
    bad_uri(shown + "needs a scheme with +sentinel");
  }
}

void take_query(const client::UriParts& parts, Config& config, std::set<std::string_view>& seen) {
  bool may_show = parts.may_show;
  client::SentinelTlsParams sentinel_tls;
  for (const auto& [name, value] : parts.query) {
    const Param* param = client::find_param(name);
    if (param == nullptr) {
      const std::string shown = client::quoted(name, may_show);
      if (shown.empty()) {
        bad_uri("unknown parameter (not shown; in a password '&' is written %26, '@' %40)");
      }
      bad_uri("unknown parameter " + shown + client::suggestion(name, client::param_names()));
    }
    const std::string shown = "parameter '" + name + "' ";
    if (!seen.insert(param->name).second) bad_uri(shown + "is there twice");
    check_needs(*param, config);
    if (param->needs == Needs::sentinel_tls) {
      sentinel_tls.add(*param, value, may_show);
    } else if (auto wrong = client::read_param(*param, config, value, may_show); !wrong.empty()) {
      bad_uri(wrong);
    }
    // What follows may be the rest of a password with an '&' that nobody encoded.
    may_show = may_show && !param->secret;
  }
  sentinel_tls.apply(config);
}

[[noreturn]] void bad_config(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, Outcome::not_sent, "bad configuration: " + text);
}

void check_endpoints(const Config& config) {
  if (config.endpoints.empty()) bad_config("endpoints is empty; name at least one host");
  if (config.mode == Mode::single && config.endpoints.size() > 1) {
    bad_config("endpoints has " + std::to_string(config.endpoints.size()) +
               " entries, but a single server is one; for a cluster use Mode::cluster "
               "(valkey+cluster://)");
  }
  for (const Endpoint& endpoint : config.endpoints) {
    if (!base::is_valid_host(endpoint.host)) {
      bad_config("endpoints: '" + client::percent_encode(endpoint.host, "-._:%[]") +
                 "' is neither a host name nor an IP literal without brackets");
    }
    if (endpoint.port == 0) bad_config("endpoints: port 0 of " + endpoint.host);
  }
  if (config.mode == Mode::sentinel && config.sentinel_name.empty()) {
    bad_config("sentinel_name is empty; it is the name of the primary at the sentinels");
  }
}

/// `given` is false if all of it is a copy of other settings.
void check_tls(const TlsConfig& tls, const std::string& name, bool given) {
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    bad_config(name + ".cert_file and " + name + ".key_file are set together or not at all");
  }
  if (tls.min_version != 12 && tls.min_version != 13) {
    bad_config(name + ".min_version is " + std::to_string(tls.min_version) +
               "; write 12 for TLS 1.2 or 13 for TLS 1.3");
  }
  const bool wanted = !tls.ca_file.empty() || !tls.ca_dir.empty() || !tls.cert_file.empty() ||
                      !tls.server_name.empty();
  if (given && wanted && !tls.enabled) {
    bad_config(name + " has settings but is not enabled; set " + name + ".enabled (" +
               (name == "tls" ? "valkeys://)" : "sentinel_tls=yes)"));
  }
}

void check_names(const Config& config) {
  const bool printable = std::all_of(config.client_name.begin(), config.client_name.end(),
                                     [](char c) { return c > ' ' && c <= '~'; });
  if (!printable) {
    bad_config("client_name has blanks or special characters, which CLIENT SETNAME refuses");
  }
  if (config.read_from == ReadFrom::same_zone && config.availability_zone.empty()) {
    bad_config("read_from is same_zone, but availability_zone is empty");
  }
  for (const std::string& server : config.dns_servers) {
    const auto endpoint = client::parse_host_port(server, dns_port);
    if (!endpoint || !base::is_ip_literal(endpoint->host)) {
      bad_config("dns_servers: '" + client::percent_encode(server, "-._:%[]") +
                 "' is no IP address with or without port");
    }
  }
}

}  // namespace

Config Config::parse(std::string_view uri) {
  client::UriParts parts = client::split_uri(uri);
  Config config;
  config.mode = parts.mode;
  config.tls.enabled = parts.tls;
  config.credentials = std::move(parts.credentials);
  config.endpoints = std::move(parts.endpoints);
  if (config.mode == Mode::single && config.endpoints.size() > 1) {
    bad_uri("several hosts need a scheme with +cluster or +sentinel");
  }
  std::set<std::string_view> seen;
  take_path(parts, config, seen);
  take_query(parts, config, seen);
  return config;
}

void Config::validate() const {
  check_endpoints(*this);
  Config copy = *this;
  for (const Param& param : client::params()) {
    if (auto wrong = client::check_range(param, copy); !wrong.empty()) {
      bad_config(std::string(param.field) + " " + wrong);
    }
  }
  if (retry_backoff_max < retry_backoff_min) {
    bad_config("retry_backoff_max is below retry_backoff_min");
  }
  if (refresh_interval.count() > 0 && refresh_interval < refresh_min_interval) {
    bad_config("refresh_interval is below refresh_min_interval; 0 switches it off");
  }
  if (mode != Mode::sentinel &&
      !(sentinel_credentials.username.empty() && sentinel_credentials.password.empty())) {
    bad_config("sentinel_credentials are set, but mode is not Mode::sentinel");
  }
  check_tls(tls, "tls", true);
  if (sentinel_tls) {
    if (mode != Mode::sentinel) bad_config("sentinel_tls is set, but mode is not Mode::sentinel");
    check_tls(*sentinel_tls, "sentinel_tls", !client::same_files(*sentinel_tls, tls));
  }
  check_names(*this);
}

std::string Config::to_string() const {
  std::string text = tls.enabled ? "valkeys" : "valkey";
  if (mode == Mode::cluster) text += "+cluster";
  if (mode == Mode::sentinel) text += "+sentinel";
  text += "://";
  if (!credentials.username.empty() || !credentials.password.empty()) {
    text += client::percent_encode(credentials.username, "-._~") + ":";
    text += credentials.password.empty() ? "@" : "***@";
  }
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    text += (i == 0 ? "" : ",") + endpoints[i].to_string();
  }
  if (mode == Mode::sentinel) text += "/" + client::percent_encode(sentinel_name, "-._~:");
  Config copy = *this;
  char separator = '?';
  const auto add = [&](std::string_view name, const std::string& value) {
    text += separator + std::string(name) + "=";
    text += value == "***" ? value : client::percent_encode(value, "-._~:/,");
    separator = '&';
  };
  for (const Param& param : client::params()) {
    if (param.needs == Needs::sentinel_tls) continue;                        // see below
    if (param.needs == Needs::sentinel && mode != Mode::sentinel) continue;  // of no use
    if (const std::string value = client::print_param(param, copy); !value.empty()) {
      add(param.name, value);
    }
  }
  for (const auto& [name, value] : client::print_sentinel_tls(*this))
    add(name, value);
  return text;
}

}  // namespace slotwise
