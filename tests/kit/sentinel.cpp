#include "kit/sentinel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

bool is_sentinel_name(const std::string& name) {
  return name.starts_with("w");
}

/// "host:port" as two words.
std::string words_of(std::string endpoint) {
  endpoint[endpoint.rfind(':')] = ' ';
  return endpoint;
}

}  // namespace

SentinelSet::SentinelSet(SentinelOptions options) : options_(std::move(options)) {
  if (options_.proxied) options_.own_addresses = true;
  open_folder();
  if (options_.own_addresses) {
    const bool lab = options_.lifetime == Lifetime::detached;
    net_ = LoopbackNet::reserve();
    common_port_ = lab ? Port::reserve_for_lab() : Port::reserve();
    common_sentinel_port_ = lab ? Port::reserve_for_lab() : Port::reserve();
  }
  if (options_.proxied) {
    common_proxy_port_ = Port::reserve();
    common_sentinel_proxy_port_ = Port::reserve();
  }
  try {
    create();
  } catch (...) {
    for (const auto& server : servers_)
      server->kill();
    for (const auto& sentinel : sentinels_)
      sentinel->kill();
    throw;
  }
}

SentinelSet::SentinelSet(SentinelOptions options, const std::vector<NodeState>& nodes)
    : options_(std::move(options)) {
  open_folder();
  int highest = 0;
  for (const auto& state : nodes) {
    const bool sentinel = is_sentinel_name(state.name);
    auto server = sentinel ? sentinel_options(state.name) : server_options(state.name);
    server.host = state.address.host;
    server.port = state.address.port;
    auto& list = sentinel ? sentinels_ : servers_;
    list.push_back(std::make_unique<Server>(std::move(server), state.process));
    if (!options_.own_addresses) continue;
    const auto dot = state.address.host.rfind('.');
    if (!net_) net_ = LoopbackNet::of(state.address.host.substr(0, dot + 1));
    highest = std::max(highest, std::stoi(state.address.host.substr(dot + 1)));
  }
  net_.skip_to(highest);
}

SentinelSet::~SentinelSet() = default;

void SentinelSet::open_folder() {
  if (!options_.binaries) options_.binaries = ServerBinaries::find();
  if (options_.quorum == 0) options_.quorum = options_.sentinels / 2 + 1;
  if (options_.dir.empty()) {
    own_dir_.emplace("sentinel");
    options_.dir = own_dir_->path();
  }
  dir_ = fs::absolute(options_.dir);
  fs::create_directories(dir_);
  if (options_.tls || options_.sentinel_tls) {
    ca_ = sentinel_ca_ = std::make_shared<const CertificateAuthority>(dir_ / "tls");
  }
  if (options_.sentinel_authority) {
    sentinel_ca_ = std::make_shared<const CertificateAuthority>(dir_ / "sentinel-tls");
    std::ofstream both(dir_ / "both.crt");
    for (const auto& ca : {ca_, sentinel_ca_})
      both << std::ifstream(ca->ca_file()).rdbuf();
  }
}

/// All but the address.
ServerOptions SentinelSet::server_options(const std::string& name) const {
  ServerOptions server;
  server.name = name;
  server.dir = dir_;
  server.binaries = options_.binaries;
  server.user = options_.user;
  server.password = options_.password;
  if (options_.tls) server.ca = ca_;
  server.lifetime = options_.lifetime;
  server.start_limit = options_.ready_limit;
  server.config = options_.config;
  if (options_.names == SentinelNames::announced) server.hosts_file = dir_ / "hosts";
  return server;
}

ServerOptions SentinelSet::sentinel_options(const std::string& name) const {
  ServerOptions sentinel;
  sentinel.name = name;
  sentinel.dir = dir_;
  sentinel.binaries = options_.binaries;
  sentinel.sentinel = true;
  sentinel.user = options_.sentinel_user;
  sentinel.password = options_.sentinel_password;
  if (options_.sentinel_tls) sentinel.ca = sentinel_ca_;
  if (options_.names == SentinelNames::announced) sentinel.hosts_file = dir_ / "hosts";
  sentinel.lifetime = options_.lifetime;
  sentinel.start_limit = options_.ready_limit;
  return sentinel;
}

void SentinelSet::place(ServerOptions& server, Port& common) {
  const bool lab = options_.lifetime == Lifetime::detached;
  if (options_.own_addresses) {
    server.host = net_.next();
    server.port = common.number();
  } else {
    ports_.push_back(lab ? Port::reserve_for_lab() : Port::reserve());
    server.port = ports_.back().number();
  }
  if (options_.names != SentinelNames::none) {
    server.certificate.ips = {server.host};
    server.certificate.dns = {server.name + std::string(hostname_suffix)};
  }
}

void SentinelSet::start(std::vector<std::unique_ptr<Server>>& list) {
  for (const auto& server : list) {
    server->launch();
    changed(*server);
  }
  for (const auto& server : list) {
    server->wait_ready();
    say(fmt::format("{} started on {}", server->name(), server->address().to_string()));
  }
}

void SentinelSet::create() {
  for (int i = 0; i <= options_.replicas; ++i) {
    auto server = server_options(fmt::format("s{}", i + 1));
    place(server, common_port_);
    const auto announced = announce_lines(server);
    server.config.insert(server.config.begin(), announced.begin(), announced.end());
    if (i > 0) server.config.emplace_back("replicaof", words_of(endpoint(*servers_.front())));
    servers_.push_back(std::make_unique<Server>(std::move(server), Server::Prepared{}));
    give_proxy(*servers_.back());
  }
  write_hosts();
  start(servers_);
  // A sentinel learns the replicas from INFO, which it asks for at its start and then every ten
  // seconds only: so it starts when the primary knows its replicas.
  wait_until([&] { return replicas_online() == options_.replicas; }, options_.ready_limit,
             [&] { return "the replicas to be online:\n" + servers_.front()->log_tail(); });
  for (int i = 0; i < options_.sentinels; ++i) {
    auto sentinel = sentinel_options(fmt::format("w{}", i + 1));
    place(sentinel, common_sentinel_port_);
    const auto lines = monitor_lines(sentinel);
    sentinel.config.insert(sentinel.config.end(), lines.begin(), lines.end());
    sentinels_.push_back(std::make_unique<Server>(std::move(sentinel), Server::Prepared{}));
    give_proxy(*sentinels_.back());
  }
  write_hosts();
  update_dns();
  start(sentinels_);
  wait_ready();
  say(fmt::format("{} with {} replicas is watched by {} sentinels", options_.name,
                  options_.replicas, options_.sentinels));
}

std::vector<ConfigLine> SentinelSet::monitor_lines(const ServerOptions& sentinel) const {
  const auto& primary = *servers_.front();
  const auto& name = options_.name;
  std::vector<ConfigLine> lines = announce_lines(sentinel);
  const std::vector<ConfigLine> monitor = {
      {"sentinel",
       fmt::format("monitor {} {} {}", name, words_of(endpoint(primary)), options_.quorum)},
      {"sentinel", fmt::format("down-after-milliseconds {} {}", name, options_.down_after.count())},
      {"sentinel", fmt::format("failover-timeout {} {}", name, options_.failover_timeout.count())},
      {"sentinel", fmt::format("parallel-syncs {} 10", name)}};
  lines.insert(lines.end(), monitor.begin(), monitor.end());
  if (!primary.admin_password().empty()) {
    lines.emplace_back("sentinel", fmt::format("auth-user {} {}", name, primary.admin_user()));
    lines.emplace_back("sentinel", fmt::format("auth-pass {} {}", name, primary.admin_password()));
  }
  if (!options_.sentinel_password.empty()) {
    if (!options_.sentinel_user.empty()) {
      lines.emplace_back("sentinel", "sentinel-user " + options_.sentinel_user);
    }
    lines.emplace_back("sentinel", "sentinel-pass " + config_word(options_.sentinel_password));
  }
  if (options_.tls || options_.sentinel_tls) {
    // A sentinel has one switch for all that it connects to: data servers and other sentinels.
    lines.emplace_back("tls-replication", options_.tls ? "yes" : "no");
    if (options_.tls && !options_.sentinel_tls) {
      // It will not connect with TLS without a certificate of its own, which nobody asks for here.
      const auto own = ca_->issue({.file_stem = sentinel.name, .ips = {sentinel.host}});
      lines.emplace_back("tls-cert-file", config_word(own.cert_file.string()));
      lines.emplace_back("tls-key-file", config_word(own.key_file.string()));
    }
    lines.emplace_back("tls-ca-cert-file",
                       config_word(options_.sentinel_authority ? (dir_ / "both.crt").string()
                                                               : ca_->ca_file().string()));
  }
  lines.insert(lines.end(), options_.sentinel_config.begin(), options_.sentinel_config.end());
  return lines;
}

int SentinelSet::replicas_online() const {
  const auto info = servers_.front()->info_section("replication");
  int online = 0;
  for (auto at = info.find("state=online"); at != std::string::npos;
       at = info.find("state=online", at + 1)) {
    ++online;
  }
  return online;
}

void SentinelSet::changed(const Server& server) const {
  if (!options_.on_change) return;
  options_.on_change(
      {.name = server.name(), .address = server.address(), .process = server.process()});
}

void SentinelSet::say(const std::string& text) const {
  if (options_.progress) options_.progress(text);
}

Server& SentinelSet::server(std::size_t index) const {
  return *servers_.at(index);
}
Server& SentinelSet::sentinel(std::size_t index) const {
  return *sentinels_.at(index);
}
std::size_t SentinelSet::server_count() const {
  return servers_.size();
}
std::size_t SentinelSet::sentinel_count() const {
  return sentinels_.size();
}

Server* SentinelSet::find(std::string_view name) const {
  for (const auto* list : {&servers_, &sentinels_}) {
    for (const auto& server : *list) {
      if (server->name() == name || server->address().to_string() == name) return server.get();
    }
  }
  return nullptr;
}

std::vector<NodeState> SentinelSet::state() const {
  std::vector<NodeState> all;
  for (const auto* list : {&servers_, &sentinels_}) {
    for (const auto& server : *list) {
      all.push_back(
          {.name = server->name(), .address = server->address(), .process = server->process()});
    }
  }
  return all;
}

void SentinelSet::kill(Server& server, int signal) {
  server.kill(signal);
  say(fmt::format("{} got SIG{}", server.name(), ::sigabbrev_np(signal)));
}

void SentinelSet::restart(Server& server, std::optional<Address> address) {
  if (address && address->host != server.address().host) {
    server.kill();
    server.replace_config_words({{server.address().host, address->host}});
    write_hosts({{server.address().host, address->host}});
  }
  server.restart(std::move(address));
  follow(server);
  changed(server);
  say(fmt::format("{} started again on {}", server.name(), server.address().to_string()));
}

void SentinelSet::swap_roles_by_hand(std::size_t new_primary) {
  const auto where = endpoint(server(new_primary));
  const auto colon = where.rfind(':');
  Server* old = nullptr;
  for (const auto& server : servers_) {
    if (server->running() && server->role() == "master") old = server.get();
  }
  if (old == nullptr || old == &server(new_primary))
    throw Error("there are no roles to be swapped");
  old->command("CLIENT", "PAUSE", 10000, "WRITE");
  const auto written = std::stoll(old->info("master_repl_offset"));
  wait_until([&] { return std::stoll(server(new_primary).info("slave_repl_offset")) >= written; },
             options_.ready_limit, "the replica to have all that is written");
  server(new_primary).command("REPLICAOF", "NO", "ONE");
  for (const auto& server : servers_) {
    if (server.get() == &this->server(new_primary) || !server->running()) continue;
    server->command("REPLICAOF", where.substr(0, colon), where.substr(colon + 1));
  }
  old->command("CLIENT", "UNPAUSE");
  say(fmt::format("{} took over from {} by hand", server(new_primary).name(), old->name()));
}

}  // namespace slotwise::kit
