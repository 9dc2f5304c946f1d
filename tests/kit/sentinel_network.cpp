// How sentinels and servers are reached, by clients and by one another: addresses, proxies, names.
#include <fmt/format.h>

#include <fstream>

#include "kit/error.hpp"
#include "kit/sentinel.hpp"
#include "kit/uri.hpp"

namespace slotwise::kit {

std::string SentinelSet::hostname(const Server& server) const {
  if (options_.names == SentinelNames::none) return {};
  return server.name() + std::string(hostname_suffix);
}

Address SentinelSet::client_address(const Server& server) const {
  const auto found = proxies_.find(&server);
  return found == proxies_.end() ? server.address() : found->second->address();
}

std::string SentinelSet::endpoint(const Server& server) const {
  const auto address = client_address(server);
  if (options_.names != SentinelNames::announced) return address.to_string();
  return fmt::format("{}:{}", hostname(server), address.port);
}

FaultProxy& SentinelSet::proxy(const Server& server) const {
  const auto found = proxies_.find(&server);
  if (found == proxies_.end()) throw Error(fmt::format("{} has no proxy", server.name()));
  return *found->second;
}

/// Of a server or of a sentinel.
std::vector<ConfigLine> SentinelSet::announce_lines(const ServerOptions& server) const {
  std::vector<ConfigLine> lines;
  const bool by_name = options_.names == SentinelNames::announced;
  if (server.sentinel && by_name) {
    lines.emplace_back("sentinel", "resolve-hostnames yes");
    lines.emplace_back("sentinel", "announce-hostnames yes");
  }
  if (options_.own_addresses) lines.emplace_back("bind-source-addr", server.host);
  const auto announce = [&](const std::string& what, const std::string& value) {
    if (server.sentinel) {
      lines.emplace_back("sentinel", fmt::format("announce-{} {}", what, value));
    } else {
      lines.emplace_back("replica-announce-" + what, value);
    }
  };
  if (by_name || options_.own_addresses) {
    announce("ip", by_name ? server.name + std::string(hostname_suffix) : server.host);
  }
  if (options_.proxied) announce("port", std::to_string(proxy_port(server.sentinel)));
  return lines;
}

std::uint16_t SentinelSet::proxy_port(bool of_sentinel) const {
  return (of_sentinel ? common_sentinel_proxy_port_ : common_proxy_port_).number();
}

void SentinelSet::give_proxy(const Server& server) {
  if (!options_.proxied) return;
  const auto address = server.address();
  FaultProxyOptions options;
  options.host = address.host;
  options.port = proxy_port(server.name().starts_with("w"));
  options.spared = [this](const std::string& host) { return host.starts_with(net_.prefix()); };
  proxies_.emplace(&server, std::make_unique<FaultProxy>(address, std::move(options)));
}

/// After it has moved.
void SentinelSet::follow(const Server& server) {
  const auto found = proxies_.find(&server);
  if (found == proxies_.end()) return;
  const auto address = server.address();
  found->second->move({address.host, found->second->address().port}, address);
}

void SentinelSet::reset_clients() {
  for (const auto& server : servers_)
    proxy(*server).reset();
}

void SentinelSet::isolate(const Server& server) {
  const auto alone = server.address().host;
  for (const auto& [owner, its_proxy] : proxies_) {
    if (owner == &server) {
      its_proxy->block([this](const std::string& host) { return host.starts_with(net_.prefix()); });
    } else {
      its_proxy->block([alone](const std::string& host) { return host == alone; });
    }
  }
}

void SentinelSet::rejoin() {
  for (const auto& [owner, its_proxy] : proxies_)
    its_proxy->block({});
}

std::vector<Server*> SentinelSet::all() const {
  std::vector<Server*> all;
  for (const auto* list : {&servers_, &sentinels_}) {
    for (const auto& server : *list)
      all.push_back(server.get());
  }
  return all;
}

/// With these hosts in place of those. In place: running servers have it mounted.
void SentinelSet::write_hosts(const std::map<std::string, std::string>& moves) const {
  if (options_.names != SentinelNames::announced) return;
  std::string text = "127.0.0.1 localhost\n";
  for (const Server* server : all()) {
    const auto now = server->address().host;
    const auto move = moves.find(now);
    text += fmt::format("{} {}\n", move == moves.end() ? now : move->second, hostname(*server));
  }
  std::ofstream file(dir_ / "hosts", std::ios::trunc);
  file << text;
  if (!file.flush()) throw Error("cannot write the servers' hosts file");
}

void SentinelSet::update_dns() {
  if (!options_.dns) return;
  for (const Server* server : all()) {
    const auto name = hostname(*server);
    if (!name.empty()) options_.dns->set(name, {.ips = {server->address().host}});
  }
}

void SentinelSet::move_all() {
  if (!options_.own_addresses) throw Error("servers without addresses of their own cannot move");
  std::map<std::string, std::string> moves;
  for (Server* server : all()) {
    server->kill();
    moves[server->address().host] = net_.next();
  }
  for (Server* server : all())
    server->replace_config_words(moves);
  write_hosts(moves);  // before the first one looks for another
  for (Server* server : all()) {
    const auto address = server->address();
    server->restart(Address{moves.at(address.host), address.port});
    follow(*server);
    changed(*server);
    say(fmt::format("{} started again on {}", server->name(), server->address().to_string()));
  }
}

std::string SentinelSet::uri() const {
  UriParts parts{.scheme = "sentinel",
                 .tls = options_.tls,
                 .user = options_.user,
                 .password = options_.password,
                 .path = options_.name};
  for (const auto& sentinel : sentinels_) {
    const auto address = client_address(*sentinel);
    const auto name = hostname(*sentinel);
    parts.hosts.push_back(name.empty() ? address.to_string()
                                       : fmt::format("{}:{}", name, address.port));
  }
  if (!options_.sentinel_user.empty()) {
    parts.options.emplace_back("sentinel_user", options_.sentinel_user);
  }
  if (!options_.sentinel_password.empty()) {
    parts.options.emplace_back("sentinel_password", options_.sentinel_password);
  }
  if (options_.tls) parts.options.emplace_back("ca", ca_->ca_file().string());
  if (options_.tls != options_.sentinel_tls) {
    parts.options.emplace_back("sentinel_tls", options_.sentinel_tls ? "yes" : "no");
  }
  if (options_.sentinel_tls && (!options_.tls || options_.sentinel_authority)) {
    parts.options.emplace_back("sentinel_ca", sentinel_ca_->ca_file().string());
  }
  if (options_.dns) parts.options.emplace_back("dns_servers", options_.dns->address().to_string());
  return make_uri(parts);
}

Address SentinelSet::spare_address() {
  if (options_.own_addresses) return {net_.next(), servers_.front()->address().port};
  ports_.push_back(options_.lifetime == Lifetime::detached ? Port::reserve_for_lab()
                                                           : Port::reserve());
  return {"127.0.0.1", ports_.back().number()};
}

}  // namespace slotwise::kit
