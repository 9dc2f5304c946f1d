// How clients reach a cluster: proxies, names, URIs.
#include <fmt/format.h>

#include "kit/cluster.hpp"
#include "kit/cluster_node.hpp"
#include "kit/error.hpp"
#include "kit/uri.hpp"

namespace slotwise::kit {

/// Its proxy and its name.
void Cluster::give_network(Node& node) const {
  const auto address = node.server->address();
  if (node.proxy_number != 0 && !options_.proxies_elsewhere) {
    node.proxy = std::make_unique<FaultProxy>(
        address, FaultProxyOptions{.host = address.host, .port = node.proxy_number});
  }
  if (options_.dns && !node.hostname.empty()) {
    options_.dns->set(node.hostname, {.ips = {address.host}});
  }
}

void Cluster::update_dns(std::size_t index) {
  const auto& node = at(index);
  if (!options_.dns || node.hostname.empty()) throw Error("the cluster has no names in a DNS");
  const auto host = node.server->address().host;
  options_.dns->set(node.hostname, {.ips = {host}});
  say(fmt::format("DNS: {} is {}", node.hostname, host));
}

Address Cluster::client_address(std::size_t index) const {
  const auto& node = at(index);
  auto address = node.server->address();
  if (node.proxy_number != 0) address.port = node.proxy_number;
  return address;
}

FaultProxy& Cluster::proxy(std::size_t index) const {
  const auto& node = at(index);
  if (node.proxy) return *node.proxy;
  throw Error(fmt::format("{} has no proxy here", node.name));
}

std::string Cluster::uri() const {
  return uri(members());
}

std::string Cluster::uri(const std::vector<std::size_t>& seeds) const {
  UriParts parts{.scheme = "cluster",
                 .tls = options_.tls,
                 .user = options_.user,
                 .password = options_.password};
  if (ca_) parts.options.emplace_back("ca", ca_->ca_file().string());
  if (!options_.dns_servers.empty() && options_.hostnames) {
    parts.options.emplace_back("dns_servers", options_.dns_servers);
  }
  for (const auto index : seeds) {
    const auto& name = at(index).hostname;
    const auto address = client_address(index);
    parts.hosts.push_back(name.empty() ? address.to_string()
                                       : fmt::format("{}:{}", name, address.port));
  }
  return make_uri(parts);
}

}  // namespace slotwise::kit
