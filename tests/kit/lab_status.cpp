// What a lab says of itself.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kit/error.hpp"
#include "kit/lab.hpp"

namespace slotwise::kit {

namespace {

void fill_process(LabNode& node, const Server& server) {
  node.name = server.name();
  node.address = server.address();
  node.state = !server.running() ? "down" : server.paused() ? "stopped" : "up";
  node.pid = server.running() ? server.process().pid : 0;
  node.role = "?";
}

/// "link down" for a replica whose primary it cannot hear.
std::string link_trouble(Server& server) {
  if (!server.running() || server.paused()) return {};
  try {
    return server.info("master_link_status") == "down" ? "link down" : "";
  } catch (const Error& error) {
    return "does not answer";
  }
}

}  // namespace

std::string Lab::description() const {
  const auto binaries = ServerBinaries::in(options_.servers);
  std::string text = binaries.to_string();
  if (cluster_) {
    const auto members = cluster_->members().size();
    const auto each = static_cast<std::size_t>(1 + options_.replicas);
    text += fmt::format(", cluster of {} nodes in {} shards", members, members / each);
  } else {
    text += fmt::format(", 1 primary, {} replicas, {} sentinels", options_.replicas,
                        options_.sentinels);
  }
  return text + (options_.tls ? ", TLS" : "") + (options_.proxies ? ", proxies" : "") +
         (network_.dns_servers.empty() ? "" : ", DNS on " + network_.dns_servers);
}

std::vector<LabNode> Lab::status() const {
  return cluster_ ? cluster_status() : sentinel_status();
}

std::vector<LabNode> Lab::cluster_status() const {
  std::vector<ClusterNode> seen;
  try {
    seen = cluster_->nodes();
  } catch (const Error&) {
    // none answers: what the processes tell must do
  }
  std::vector<LabNode> all;
  for (const auto index : cluster_->members()) {
    LabNode node;
    fill_process(node, cluster_->server(index));
    const auto found = std::find_if(seen.begin(), seen.end(),
                                    [&](const ClusterNode& other) { return other.index == index; });
    if (found != seen.end()) {
      node.hostname = found->hostname;
      node.role = found->is_primary ? "primary" : "replica";
      if (found->primary) node.follows = cluster_->server(*found->primary).name();
      for (const auto& range : found->slots) {
        node.slots += (node.slots.empty() ? "" : " ") + range.to_string();
      }
      node.slot_total = found->slot_total;
      node.id = found->id;
      node.trouble = found->in_trouble ? "fail" : link_trouble(cluster_->server(index));
    }
    if (options_.proxies) node.proxy = cluster_->client_address(index);
    all.push_back(std::move(node));
  }
  if (network_.process.pid != 0) add_network_status(all);
  return all;
}

void Lab::add_network_status(std::vector<LabNode>& nodes) const {
  std::map<std::string, LabNetworkNode> seen;
  try {
    seen = LabNetwork(options_.dir).nodes();
  } catch (const Error&) {
    for (auto& node : nodes)
      node.trouble += node.trouble.empty() ? "no proxy or DNS" : ", no proxy or DNS";
    return;
  }
  for (auto& node : nodes) {
    node.fault = seen[node.name].fault;
    node.record = seen[node.name].record;
  }
}

std::vector<LabNode> Lab::sentinel_status() const {
  std::vector<LabNode> all;
  for (std::size_t i = 0; i < sentinels_->server_count(); ++i) {
    auto& server = sentinels_->server(i);
    LabNode node;
    fill_process(node, server);
    if (node.state == "up") {
      const auto role = server.command("ROLE");
      node.role = role.at(0).str() == "master" ? "primary" : "replica";
      if (node.role == "replica") {
        const auto endpoint = fmt::format("{}:{}", role.at(1).str(), role.at(2).num());
        const auto* primary = sentinels_->find(endpoint);
        node.follows = primary != nullptr ? primary->name() : endpoint;
      }
      node.trouble = link_trouble(server);
    }
    all.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < sentinels_->sentinel_count(); ++i) {
    LabNode node;
    fill_process(node, sentinels_->sentinel(i));
    node.role = "sentinel";
    if (node.state == "up") {
      try {
        node.follows = sentinels_->server(sentinels_->primary_according_to(i)).name();
      } catch (const Error& error) {
        node.trouble = error.what();  // it names a server's old address, for one
      }
    }
    all.push_back(std::move(node));
  }
  return all;
}

}  // namespace slotwise::kit
