#include "kit/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "kit/error.hpp"
#include "kit/lab_state.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

ClusterOptions cluster_options(const LabOptions& lab, const LabNetworkState& network,
                               const Progress& progress) {
  ClusterOptions options;
  options.primaries = lab.primaries;
  options.replicas = lab.replicas;
  options.node_timeout = lab.node_timeout;
  options.appendonly = lab.appendonly;
  options.config = lab.config;
  options.own_addresses = lab.own_addresses || lab.hostnames;
  options.hostnames = lab.hostnames;
  options.dns_servers = network.dns_servers;
  options.proxied = options.proxies_elsewhere = lab.proxies;
  options.tls = lab.tls;
  options.user = lab.user;
  options.password = lab.password;
  options.dir = lab.dir;
  options.binaries = ServerBinaries::in(lab.servers);
  options.lifetime = lab.lifetime;
  options.progress = progress;
  options.on_change = [dir = lab.dir, network](const NodeState& node) {
    LabStateFile(dir).update(node);
    if (network.process.pid != 0) LabNetwork(dir).update(node);
  };
  return options;
}

SentinelOptions sentinel_options(const LabOptions& lab, const Progress& progress) {
  SentinelOptions options;
  options.replicas = lab.replicas;
  options.sentinels = lab.sentinels;
  options.own_addresses = lab.own_addresses;
  options.config = lab.config;
  if (lab.appendonly) options.config.emplace_back("appendonly", "yes");
  options.tls = options.sentinel_tls = lab.tls;
  options.user = lab.user;
  options.password = lab.password;
  options.dir = lab.dir;
  options.binaries = ServerBinaries::in(lab.servers);
  options.lifetime = lab.lifetime;
  options.progress = progress;
  options.on_change = [file = LabStateFile(lab.dir)](const NodeState& node) { file.update(node); };
  return options;
}

std::vector<ProcessId> running_in(const fs::path& dir) {
  auto running = servers_working_in(dir);
  if (const LabStateFile file(dir); file.exists()) {
    for (const auto& node : file.read().nodes) {
      const bool known = std::find(running.begin(), running.end(), node.process) != running.end();
      if (!known && is_running(node.process)) running.push_back(node.process);
    }
  }
  return running;
}

/// A folder that up() made for a node or for certificates: "n12", "s1", "w3", "tls".
bool is_ours(const fs::path& path) {
  const auto name = path.filename().string();
  if (name == "tls") return true;
  return name.size() > 1 && std::string_view("nsw").find(name[0]) != std::string_view::npos &&
         name.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

int signal_number(std::string_view name) {
  auto wanted = upper(name);
  if (wanted.starts_with("SIG")) wanted.erase(0, 3);
  for (int signal = 1; signal < 32; ++signal) {
    if (wanted == std::to_string(signal) || wanted == ::sigabbrev_np(signal)) return signal;
  }
  throw Error(fmt::format("'{}' is no signal: say KILL, TERM, STOP, CONT or a number", name));
}

Lab::Lab(Lab&&) noexcept = default;
Lab& Lab::operator=(Lab&&) noexcept = default;
Lab::~Lab() = default;

Lab Lab::up(const LabOptions& wanted, Progress progress) {
  Lab lab;
  lab.options_ = wanted;
  lab.progress_ = std::move(progress);
  auto& options = lab.options_;
  if (options.dir.empty()) throw Error("a lab needs a folder");
  if (options.sentinels > 0 && options.primaries != 1) {
    throw Error("sentinels watch one primary: with sentinels, primaries must be 1");
  }
  if (options.proxies && options.sentinels > 0) throw Error("proxies are for clusters only");
  if (options.proxies && options.network_command.empty()) {
    throw Error("proxies need a command that runs them");
  }
  options.dir = fs::absolute(options.dir).lexically_normal();
  if (fs::exists(options.dir) && !fs::is_empty(options.dir)) {
    if (!LabStateFile(options.dir).exists()) {
      throw Error(fmt::format("{} has other things in it", options.dir.string()));
    }
    if (!running_in(options.dir).empty()) {
      throw Error(fmt::format("a lab runs in {} already", options.dir.string()));
    }
    down(options.dir);
  }
  if (options.servers.empty()) options.servers = ServerBinaries::find().server.parent_path();
  fs::create_directories(options.dir);
  // First of all, so that down() works at whatever point this ends.
  LabStateFile(options.dir).write({.options = options});
  if (options.sentinels > 0) {
    lab.sentinels_ = std::make_unique<SentinelSet>(sentinel_options(options, lab.progress_));
    return lab;
  }
  if (options.proxies || (options.hostnames && !options.network_command.empty())) {
    lab.start_network();
  }
  try {
    lab.cluster_ = std::make_unique<Cluster>(cluster_options(options, lab.network_, lab.progress_));
  } catch (...) {
    send_signal(lab.network_.process, SIGKILL);
    throw;
  }
  return lab;
}

void Lab::start_network() {
  const auto log = options_.dir / LabNetwork::log_name;
  auto command = options_.network_command;
  command.push_back(options_.dir.string());
  Process process({.command = std::move(command),
                   .working_dir = options_.dir,
                   .log_file = log,
                   .lifetime = options_.lifetime});
  network_.process = process.id();
  const LabStateFile file(options_.dir);
  file.update(network_);
  std::string dns;
  const auto answers = [&] {
    if (!process.running()) {
      throw Error(fmt::format("the lab's proxies and DNS did not start:\n{}", tail_of(log)));
    }
    try {
      dns = LabNetwork(options_.dir).dns_address().to_string();
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  wait_until(answers, milliseconds(10000), "the lab's proxies and DNS to answer");
  if (options_.hostnames) network_.dns_servers = dns;
  file.update(network_);
  network_process_.emplace(std::move(process));
}

Lab Lab::open(const fs::path& dir, Progress progress) {
  const auto folder = fs::absolute(dir).lexically_normal();
  auto state = LabStateFile(folder).read();
  Lab lab;
  lab.options_ = state.options;
  lab.progress_ = std::move(progress);
  lab.network_ = state.network;
  if (lab.options_.sentinels > 0) {
    lab.sentinels_ =
        std::make_unique<SentinelSet>(sentinel_options(lab.options_, lab.progress_), state.nodes);
  } else {
    lab.cluster_ = std::make_unique<Cluster>(
        cluster_options(lab.options_, lab.network_, lab.progress_), state.nodes);
  }
  return lab;
}

void Lab::down(const fs::path& dir, Progress progress) {
  const auto folder = fs::absolute(dir).lexically_normal();
  if (!LabStateFile(folder).exists()) {
    throw Error(fmt::format("there is no lab in {}", folder.string()));
  }
  auto running = running_in(folder);
  const auto servers = running.size();
  running.push_back(LabStateFile(folder).read().network.process);
  for (const auto& process : running)
    send_signal(process, SIGKILL);
  wait_until([&] { return std::none_of(running.begin(), running.end(), is_running); },
             milliseconds(10000), "the lab's servers to end");
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_ours(entry.path())) fs::remove_all(entry.path());
  }
  LabStateFile(folder).remove();
  std::error_code not_empty;
  fs::remove(folder, not_empty);  // only if it is empty: somebody may keep notes there
  if (progress) progress(fmt::format("{} servers ended", servers));
}

std::string Lab::uri() const {
  if (!cluster_) return sentinels_->uri();
  std::string uri = cluster_->uri();
  if (!options_.hostnames || !network_.dns_servers.empty()) return uri;
  // A client learns the names from the cluster, and their addresses too.
  for (const auto& node : cluster_->state()) {
    const auto at = uri.find(node.hostname);
    if (at != std::string::npos) uri.replace(at, node.hostname.size(), node.address.host);
  }
  return uri;
}

Cluster& Lab::need_cluster(std::string_view command) const {
  if (cluster_) return *cluster_;
  throw Error(fmt::format("{} needs a cluster; this lab has sentinels", command));
}

std::size_t Lab::cluster_node(std::string_view name) const {
  if (const auto index = cluster_->index_of(name)) return *index;
  std::string known;
  for (const auto index : cluster_->members())
    known += " " + cluster_->server(index).name();
  throw Error(fmt::format("there is no node '{}'; there are{}", name, known));
}

Server& Lab::sentinel_node(std::string_view name) const {
  if (auto* server = sentinels_->find(name)) return *server;
  throw Error(fmt::format("there is no node '{}'; there are s1, s2 ... and w1, w2 ...", name));
}

void Lab::kill(std::string_view node, int signal) {
  if (cluster_) {
    cluster_->kill(cluster_node(node), signal);
  } else {
    sentinels_->kill(sentinel_node(node), signal);
  }
}

void Lab::restart(std::string_view node, std::optional<Address> address) {
  const auto complete = [&](const Server& server) {
    if (!address) return;
    if (address->host.empty()) address->host = server.address().host;
    if (address->port == 0) address->port = server.address().port;
  };
  if (cluster_) {
    const auto index = cluster_node(node);
    complete(cluster_->server(index));
    cluster_->restart(index, address);
  } else {
    auto& server = sentinel_node(node);
    complete(server);
    sentinels_->restart(server, address);
  }
}

Address Lab::spare_address() {
  return cluster_ ? cluster_->spare_address() : sentinels_->spare_address();
}

void Lab::add_shards(int count) {
  need_cluster("add-shards").add_shards(count);
}

void Lab::remove_shards(int count) {
  need_cluster("remove-shards").remove_shards(count);
}

void Lab::migrate(int first, int last, std::string_view to, bool legacy) {
  auto& cluster = need_cluster("migrate");
  if (first < 0 || last >= slot_count || first > last) {
    throw Error(fmt::format("{}-{} is no range of slots", first, last));
  }
  if (legacy) {
    cluster.migrate_legacy(first, last, cluster_node(to));
  } else {
    cluster.migrate(first, last, cluster_node(to));
  }
}

std::string Lab::failover(std::string_view node) {
  if (cluster_) return cluster_->server(cluster_->failover(cluster_node(node))).name();
  return sentinels_->server(sentinels_->failover()).name();
}

LabNetwork Lab::network(std::string_view command) const {
  if (network_.process.pid != 0) return LabNetwork(options_.dir);
  throw Error(fmt::format("{} needs a lab that was made with names or proxies", command));
}

void Lab::meet() {
  need_cluster("meet").meet_again();
}

void Lab::set_fault(std::string_view node, const LabFault& fault) {
  const auto name = need_cluster("a fault").server(cluster_node(node)).name();
  network("a fault").set_fault(name, fault);
  const auto text = fault.to_string();
  if (progress_) progress_(fmt::format("proxy of {}: {}", name, text.empty() ? "no fault" : text));
}

void Lab::reset_connections(std::string_view node) {
  const auto name = need_cluster("reset-connections").server(cluster_node(node)).name();
  network("reset-connections").reset_connections(name);
  if (progress_) progress_(fmt::format("{}: its connections were reset", name));
}

std::string Lab::record(std::string_view node) const {
  const auto name = need_cluster("dns").server(cluster_node(node)).name();
  return network("dns").nodes()[name].record;
}

void Lab::set_record(std::string_view node, std::vector<std::string> answer) {
  const auto& server = need_cluster("dns").server(cluster_node(node));
  if (answer == std::vector<std::string>{"real"}) answer = {server.address().host};
  network("dns").set_record(server.name(), answer);
}

void Lab::wait_ready() const {
  if (cluster_) {
    cluster_->wait_ready_to_fail_over();
  } else {
    sentinels_->wait_ready();
  }
}

}  // namespace slotwise::kit
