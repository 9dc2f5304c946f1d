// Making a cluster and looking at it. Waiting is in cluster_wait.cpp, change in cluster_change.cpp,
// proxies, names and URIs in cluster_network.cpp.
#include "kit/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "kit/cluster_node.hpp"
#include "kit/error.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  if (!options_.binaries) options_.binaries = ServerBinaries::find();
  open_folder();
  if (options_.own_addresses) {
    net_ = LoopbackNet::reserve();
    common_port_ = reserve_port();
    common_bus_port_ = reserve_port();
    common_number_ = common_port_.number();
    common_bus_number_ = common_bus_port_.number();
    if (options_.proxied) common_proxy_port_ = reserve_port();
    common_proxy_number_ = common_proxy_port_.number();
  }
  try {
    create();
  } catch (...) {
    // Detached servers would outlive a cluster that was never handed to anybody.
    for (const auto& node : nodes_)
      node->server->kill();
    throw;
  }
}

Cluster::Cluster(ClusterOptions options, const std::vector<NodeState>& nodes)
    : options_(std::move(options)) {
  if (!options_.binaries) options_.binaries = ServerBinaries::find();
  open_folder();
  int highest = 0;
  for (const auto& state : nodes) {
    auto node = std::make_shared<Node>();
    node->name = state.name;
    node->hostname = state.hostname;
    node->bus_number = state.bus_port;
    node->proxy_number = state.proxy_port;
    node->removed = state.removed;
    auto server = server_options(*node, nodes_.size());
    server.host = state.address.host;
    server.port = state.address.port;
    node->server = std::make_unique<Server>(std::move(server), state.process);
    nodes_.push_back(std::move(node));
    if (options_.own_addresses) {
      const auto dot = state.address.host.rfind('.');
      if (!net_) net_ = LoopbackNet::of(state.address.host.substr(0, dot + 1));
      common_number_ = state.address.port;
      common_bus_number_ = state.bus_port;
      common_proxy_number_ = state.proxy_port;
      highest = std::max(highest, std::stoi(state.address.host.substr(dot + 1)));
    }
  }
  net_.skip_to(highest);
}

Cluster::~Cluster() = default;

/// Also what else both constructors have in common.
void Cluster::open_folder() {
  if (options_.dir.empty()) {
    own_dir_.emplace("cluster");
    options_.dir = own_dir_->path();
  }
  dir_ = fs::absolute(options_.dir);
  fs::create_directories(dir_);
  if (options_.dns) options_.dns_servers = options_.dns->address().to_string();
  if (options_.tls) ca_ = std::make_shared<const CertificateAuthority>(dir_ / "tls");
}

/// All but the address.
ServerOptions Cluster::server_options(const Node& node, std::size_t index) const {
  ServerOptions server;
  server.name = node.name;
  server.dir = dir_;
  server.binaries = options_.binaries;
  server.user = options_.user;
  server.password = options_.password;
  server.ca = ca_;
  server.lifetime = options_.lifetime;
  server.start_limit = options_.ready_limit;
  if (!node.hostname.empty()) server.certificate.dns.push_back(node.hostname);
  server.certificate.file_stem = node.name;
  server.config = {
      {"cluster-enabled", "yes"},
      {"cluster-config-file", "nodes.conf"},
      {"cluster-node-timeout", std::to_string(options_.node_timeout.count())},
      {"cluster-port", std::to_string(node.bus_number)},
      // Else a primary that lost its last slot turns into a replica of somebody else, and the
      // shape is no longer the one that the test asked for.
      {"cluster-allow-replica-migration", "no"},
      {"appendonly", options_.appendonly ? "yes" : "no"},
      // With `everysec` a server that waits for an fsync answers before it has written: killed in
      // those milliseconds it loses what it acknowledged, and a test would blame the client.
      {"appendfsync", "always"},
  };
  auto& lines = server.config;
  if (options_.tls) lines.emplace_back("tls-cluster", "yes");
  auto preferred = options_.preferred_endpoint_type;
  if (!node.hostname.empty()) {
    lines.emplace_back("cluster-announce-hostname", node.hostname);
    if (preferred.empty()) preferred = "hostname";
  }
  if (node.proxy_number != 0) {
    lines.emplace_back(options_.tls ? "cluster-announce-tls-port" : "cluster-announce-port",
                       std::to_string(node.proxy_number));
  }
  if (!preferred.empty()) lines.emplace_back("cluster-preferred-endpoint-type", preferred);
  lines.insert(lines.end(), options_.config.begin(), options_.config.end());
  if (options_.certificate) options_.certificate(index, server.certificate);
  return server;
}

Port Cluster::reserve_port() const {
  return options_.lifetime == Lifetime::detached ? Port::reserve_for_lab() : Port::reserve();
}

std::size_t Cluster::add_node() {
  auto node = std::make_shared<Node>();
  std::string host = "127.0.0.1";
  std::uint16_t port = common_number_;
  node->bus_number = common_bus_number_;
  node->proxy_number = common_proxy_number_;
  if (!options_.own_addresses) {
    node->port = reserve_port();
    node->bus_port = reserve_port();
    port = node->port.number();
    node->bus_number = node->bus_port.number();
    if (options_.proxied) node->proxy_port = reserve_port();
    node->proxy_number = node->proxy_port.number();
  }
  const std::lock_guard lock(nodes_mutex_);
  const auto index = nodes_.size();
  node->name = fmt::format("n{}", index + 1);
  if (options_.hostnames) node->hostname = node->name + options_.hostname_suffix;
  if (options_.own_addresses) host = net_.next();
  auto server = server_options(*node, index);
  server.host = host;
  server.port = port;
  if (!options_.certificate) server.certificate.ips.push_back(host);
  if (options_.own_addresses) {
    // Without these the bus takes 127.0.0.1 from the connections that others accept.
    server.config.emplace(server.config.begin(), "bind-source-addr", host);
  }
  if (options_.own_addresses || options_.hostnames || options_.proxied) {
    server.config.emplace(server.config.begin(), "cluster-announce-ip", host);
  }
  node->server = std::make_unique<Server>(std::move(server), Server::Prepared{});
  give_network(*node);
  nodes_.push_back(std::move(node));
  return index;
}

void Cluster::start_nodes(const std::vector<std::size_t>& which) {
  for (const auto index : which) {
    server(index).launch();
    changed(index);
  }
  for (const auto index : which) {
    server(index).wait_ready();
    say(fmt::format("{} started on {}", at(index).name, server(index).address().to_string()));
  }
}

void Cluster::create() {
  std::vector<std::size_t> primaries;
  std::vector<std::size_t> replicas;
  for (int i = 0; i < options_.primaries; ++i)
    primaries.push_back(add_node());
  for (int i = 0; i < options_.primaries * options_.replicas; ++i)
    replicas.push_back(add_node());
  std::vector<std::size_t> all = primaries;
  all.insert(all.end(), replicas.begin(), replicas.end());
  start_nodes(all);
  set_epochs(all, 0);
  // Slots before the first meeting: a primary that starts stays "fail" for two seconds in any case
  // (CLUSTER_WRITABLE_DELAY in the server), and all that follows fits into them.
  const auto count = static_cast<int>(primaries.size());
  for (int i = 0; i < count; ++i) {
    // As the command line tools do: 0-5460, 5461-10922, 10923-16383.
    const auto bound = [&](int part) { return (slot_count * part + count / 2) / count; };
    server(primaries[static_cast<std::size_t>(i)])
        .command("CLUSTER", "ADDSLOTSRANGE", bound(i), bound(i + 1) - 1);
  }
  meet(all);
  give_replicas(primaries, replicas);
  wait_ready_to_fail_over();
  say(fmt::format("cluster of {} primaries and {} replicas is ready", count, replicas.size()));
}

/// Distinct epochs from the start, so that no node has to settle a collision later.
void Cluster::set_epochs(const std::vector<std::size_t>& newcomers, std::uint64_t after) {
  for (const auto index : newcomers)
    server(index).command("CLUSTER", "SET-CONFIG-EPOCH", ++after);
}

void Cluster::meet(const std::vector<std::size_t>& newcomers) {
  // Everybody meets everybody, since gossip alone takes seconds to get round.
  const auto everybody = running_members();
  for (const auto newcomer : newcomers) {
    for (const auto other : everybody) {
      const bool both_new = std::find(newcomers.begin(), newcomers.end(), other) != newcomers.end();
      if (other == newcomer || (both_new && other < newcomer)) continue;
      const auto address = server(other).address();
      server(newcomer).command("CLUSTER", "MEET", address.host, address.port, at(other).bus_number);
    }
  }
  wait_ready(Ready::to_know_each_other, {}, "all nodes to know each other");
}

void Cluster::give_replicas(const std::vector<std::size_t>& primaries,
                            const std::vector<std::size_t>& replicas) {
  const auto each = static_cast<std::size_t>(options_.replicas);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    server(replicas[i]).command("CLUSTER", "REPLICATE", id(primaries[i / each]));
  }
}

void Cluster::changed(std::size_t index) const {
  if (options_.on_change) options_.on_change(state().at(index));
}

void Cluster::say(const std::string& text) const {
  if (options_.progress) options_.progress(text);
}

Cluster::Node& Cluster::at(std::size_t index) const {
  const std::lock_guard lock(nodes_mutex_);
  if (index < nodes_.size()) return *nodes_[index];
  throw Error(fmt::format("the cluster has no node {}", index));
}

std::size_t Cluster::size() const {
  const std::lock_guard lock(nodes_mutex_);
  return nodes_.size();
}

bool Cluster::removed(std::size_t node) const {
  return at(node).removed;
}

Server& Cluster::server(std::size_t node) const {
  return *at(node).server;
}

const ServerBinaries& Cluster::binaries() const {
  return *options_.binaries;
}

std::vector<std::size_t> Cluster::members() const {
  const std::lock_guard lock(nodes_mutex_);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i]->removed) all.push_back(i);
  }
  return all;
}

std::vector<std::size_t> Cluster::running_members() const {
  auto all = members();
  std::erase_if(all, [&](std::size_t i) { return !server(i).running() || server(i).paused(); });
  return all;
}

std::vector<NodeState> Cluster::state() const {
  const std::lock_guard lock(nodes_mutex_);
  std::vector<NodeState> all;
  for (const auto& node : nodes_) {
    all.push_back({.name = node->name,
                   .address = node->server->address(),
                   .bus_port = node->bus_number,
                   .proxy_port = node->proxy_number,
                   .hostname = node->hostname,
                   .process = node->server->process(),
                   .removed = node->removed});
  }
  return all;
}

/// The view of a node that is not cut off, if there is one, else of any that answers.
ClusterView Cluster::any_view() const {
  std::optional<ClusterView> second_best;
  std::string last = "none is running";
  for (const auto index : running_members()) {
    try {
      auto replies = server(index).pipeline({{"CLUSTER", "INFO"}, {"CLUSTER", "NODES"}});
      auto seen = ClusterView::parse(replies[1].str());
      if (replies[0].str().find("cluster_state:ok") != std::string::npos) return seen;
      second_best = std::move(seen);
    } catch (const Error& error) {
      last = error.what();  // killed a moment ago by somebody: ask the next
    }
  }
  if (!second_best) throw Error("no node of the cluster answers: " + last);
  return std::move(*second_best);
}

ClusterView Cluster::view(std::size_t node) const {
  return ClusterView::parse(server(node).command("CLUSTER", "NODES").str());
}

std::string Cluster::id(std::size_t index) const {
  auto& node = at(index);
  const std::lock_guard lock(node.id_mutex);
  if (!node.id.empty()) return node.id;
  if (node.server->running() && !node.server->paused()) {
    try {
      node.id = node.server->command("CLUSTER", "MYID").str();
      return node.id;
    } catch (const Error&) {
      // killed a moment ago: its file knows too
    }
  }
  std::ifstream in(node.server->dir() / "nodes.conf");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const auto& line : ClusterView::parse(text).nodes) {
    if (line.myself()) return line.id;
  }
  throw Error(fmt::format("{} does not run and has no nodes.conf with its id", node.name));
}

std::vector<ClusterNode> Cluster::nodes() const {
  const auto seen = any_view();
  std::map<std::string, std::size_t> index_by_id;
  const auto all = members();
  for (const auto index : all)
    index_by_id[id(index)] = index;
  std::vector<ClusterNode> result;
  for (const auto index : all) {
    ClusterNode node;
    node.index = index;
    node.name = at(index).name;
    node.id = id(index);
    node.address = server(index).address();
    node.hostname = at(index).hostname;
    node.running = server(index).running();
    const auto* line = seen.find(node.id);
    node.in_trouble = line == nullptr || line->in_trouble();
    if (line != nullptr) {
      node.is_primary = line->is_primary();
      const auto primary = index_by_id.find(line->primary_id);
      if (primary != index_by_id.end()) node.primary = primary->second;
      node.slots = line->slots;
      for (const auto& range : line->slots)
        node.slot_total += range.size();
      node.config_epoch = line->config_epoch;
    }
    result.push_back(std::move(node));
  }
  return result;
}

ClusterNode Cluster::node(std::size_t index) const {
  for (auto& node : nodes()) {
    if (node.index == index) return node;
  }
  throw Error(fmt::format("the cluster has no node {}", index));
}

std::optional<std::size_t> Cluster::index_of(std::string_view wanted) const {
  for (const auto index : members()) {
    if (at(index).name == wanted || at(index).hostname == wanted ||
        server(index).address().to_string() == wanted ||
        client_address(index).to_string() == wanted || id(index) == wanted) {
      return index;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> Cluster::primaries() const {
  std::vector<std::size_t> result;
  for (const auto& node : nodes()) {
    if (node.is_primary && node.slot_total > 0) result.push_back(node.index);
  }
  return result;
}

std::vector<std::size_t> Cluster::replicas_of(std::size_t primary) const {
  std::vector<std::size_t> result;
  for (const auto& node : nodes()) {
    if (node.primary == primary) result.push_back(node.index);
  }
  return result;
}

std::vector<int> Cluster::slots_of(std::size_t index) const {
  std::vector<int> slots;
  for (const auto& range : node(index).slots) {
    for (int slot = range.first; slot <= range.last; ++slot)
      slots.push_back(slot);
  }
  return slots;
}

std::size_t Cluster::owner_of(int slot) const {
  std::map<std::string, int> votes;
  for (const auto index : running_members()) {
    try {
      const auto seen = view(index);
      if (const auto* owner = seen.owners().at(static_cast<std::size_t>(slot))) ++votes[owner->id];
    } catch (const Error&) {
      // killed a moment ago: it has no vote
    }
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != votes.end()) {
    for (const auto index : running_members()) {
      if (id(index) == most->first) return index;
    }
  }
  throw Error(fmt::format("no running node owns slot {}", slot));
}

int Cluster::slot_of(std::string_view key) const {
  std::string last = "none is running";
  for (const auto index : running_members()) {
    try {
      return static_cast<int>(server(index).command("CLUSTER", "KEYSLOT", key).num());
    } catch (const Error& error) {
      last = error.what();
    }
  }
  throw Error("no node of the cluster answers: " + last);
}

std::size_t Cluster::owner_of_key(std::string_view key) const {
  return owner_of(slot_of(key));
}

}  // namespace slotwise::kit
