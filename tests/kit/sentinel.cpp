#include "kit/sentinel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kit/error.hpp"
#include "kit/uri.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

std::string role_of(Server& server) {
  return server.command("ROLE").at(0).str();
}

bool is_sentinel_name(const std::string& name) {
  return name.starts_with("w");
}

}  // namespace

SentinelSet::SentinelSet(SentinelOptions options) : options_(std::move(options)) {
  open_folder();
  if (options_.own_addresses) {
    const bool lab = options_.lifetime == Lifetime::detached;
    net_ = LoopbackNet::reserve();
    common_port_ = lab ? Port::reserve_for_lab() : Port::reserve();
    common_sentinel_port_ = lab ? Port::reserve_for_lab() : Port::reserve();
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
    ca_ = std::make_shared<const CertificateAuthority>(dir_ / "tls");
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
  if (options_.sentinel_tls) sentinel.ca = ca_;
  sentinel.lifetime = options_.lifetime;
  sentinel.start_limit = options_.ready_limit;
  return sentinel;
}

void SentinelSet::place(ServerOptions& server, Port& common) {
  const bool lab = options_.lifetime == Lifetime::detached;
  if (options_.own_addresses) {
    server.host = net_.next();
    server.port = common.number();
    return;
  }
  ports_.push_back(lab ? Port::reserve_for_lab() : Port::reserve());
  server.port = ports_.back().number();
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
    if (options_.own_addresses) {
      server.config.insert(server.config.begin(), {{"bind-source-addr", server.host},
                                                   {"replica-announce-ip", server.host}});
    }
    if (i > 0) {
      const auto primary = servers_.front()->address();
      server.config.emplace_back("replicaof", fmt::format("{} {}", primary.host, primary.port));
    }
    servers_.push_back(std::make_unique<Server>(std::move(server), Server::Prepared{}));
  }
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
  }
  start(sentinels_);
  wait_ready();
  say(fmt::format("{} with {} replicas is watched by {} sentinels", options_.name,
                  options_.replicas, options_.sentinels));
}

std::vector<ConfigLine> SentinelSet::monitor_lines(const ServerOptions& sentinel) const {
  const auto& primary = *servers_.front();
  const auto address = primary.address();
  const auto& name = options_.name;
  std::vector<ConfigLine> lines = {
      {"sentinel",
       fmt::format("monitor {} {} {} {}", name, address.host, address.port, options_.quorum)},
      {"sentinel", fmt::format("down-after-milliseconds {} {}", name, options_.down_after.count())},
      {"sentinel", fmt::format("failover-timeout {} {}", name, options_.failover_timeout.count())},
      {"sentinel", fmt::format("parallel-syncs {} 10", name)}};
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
  if (options_.own_addresses) {
    lines.emplace_back("bind-source-addr", sentinel.host);
    lines.emplace_back("sentinel", "announce-ip " + sentinel.host);
  }
  if (options_.tls || options_.sentinel_tls) {
    // A sentinel has one switch for all that it connects to: data servers and other sentinels.
    lines.emplace_back("tls-replication", options_.tls ? "yes" : "no");
    lines.emplace_back("tls-ca-cert-file", config_word(ca_->ca_file().string()));
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

std::string SentinelSet::uri() const {
  UriParts parts{.scheme = "sentinel",
                 .tls = options_.tls,
                 .user = options_.user,
                 .password = options_.password,
                 .path = options_.name};
  for (const auto& sentinel : sentinels_)
    parts.hosts.push_back(sentinel->address().to_string());
  if (!options_.sentinel_user.empty()) {
    parts.options.emplace_back("sentinel_user", options_.sentinel_user);
  }
  if (!options_.sentinel_password.empty()) {
    parts.options.emplace_back("sentinel_password", options_.sentinel_password);
  }
  if (ca_) parts.options.emplace_back("ca", ca_->ca_file().string());
  return make_uri(parts);
}

std::optional<std::size_t> SentinelSet::server_at(const std::string& endpoint) const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->address().to_string() == endpoint) return i;
  }
  return std::nullopt;
}

std::size_t SentinelSet::primary_according_to(std::size_t index) const {
  const auto reply = sentinel(index).command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", options_.name);
  const auto endpoint = fmt::format("{}:{}", reply.at(0).str(), reply.at(1).str());
  if (const auto found = server_at(endpoint)) return *found;
  throw Error(fmt::format("{} names {}, which is none of ours", sentinel(index).name(), endpoint));
}

std::size_t SentinelSet::primary() const {
  std::map<std::size_t, int> votes;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (!sentinels_[i]->running() || sentinels_[i]->paused()) continue;
    ++votes[primary_according_to(i)];
  }
  if (votes.empty()) throw Error("no sentinel is running");
  return std::max_element(votes.begin(), votes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// What keeps one sentinel from a failover; empty if nothing does.
std::string SentinelSet::trouble_of(Server& sentinel) const {
  const auto state = sentinel.command("SENTINEL", "MASTER", options_.name);
  const auto flags = state.at("flags").text;
  if (flags != "master") return "has its primary as " + flags;
  if (state.at("num-slaves").num() != static_cast<std::int64_t>(servers_.size()) - 1) {
    return fmt::format("knows {} replicas", state.at("num-slaves").text);
  }
  if (state.at("num-other-sentinels").num() != static_cast<std::int64_t>(sentinels_.size()) - 1) {
    return fmt::format("knows {} other sentinels", state.at("num-other-sentinels").text);
  }
  for (const auto& replica : sentinel.command("SENTINEL", "REPLICAS", options_.name).items) {
    if (replica.at("flags").text != "slave") {
      return fmt::format("has {} as {}", replica.at("name").text, replica.at("flags").text);
    }
    if (replica.at("master-link-status").text != "ok") {
      return fmt::format("sees {} without link to its primary", replica.at("name").text);
    }
  }
  const auto quorum = sentinel.try_command("SENTINEL", "CKQUORUM", options_.name);
  return quorum.is_error() ? quorum.text : "";
}

void SentinelSet::set_pace(bool quick) const {
  // The second of each pair is the server's default.
  const char* info = quick ? "500" : "10000";
  const char* publish = quick ? "300" : "2000";
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running() || sentinel->paused()) continue;
    sentinel->try_command("SENTINEL", "DEBUG", "INFO-PERIOD", info, "PUBLISH-PERIOD", publish);
    // A sentinel that did not run for two seconds does nothing for thirty (TILT): on a busy machine
    // that would be the test's failure, not the server's.
    sentinel->try_command("SENTINEL", "DEBUG", "TILT-TRIGGER", "30000");
  }
}

void SentinelSet::wait_ready(std::optional<milliseconds> limit) const {
  set_pace(true);
  const Server* who = nullptr;
  std::string what;
  const auto ready = [&] {
    for (const auto& sentinel : sentinels_) {
      if (!sentinel->running() || sentinel->paused()) continue;
      who = sentinel.get();
      try {
        what = trouble_of(*sentinel);
      } catch (const Error& error) {
        what = error.what();
      }
      if (!what.empty()) return false;
    }
    return true;
  };
  wait_until(
      ready, limit.value_or(options_.ready_limit),
      [&] {
        return fmt::format("the sentinels to be ready: {} {}; its log ends with:\n{}", who->name(),
                           what, who->log_tail());
      },
      milliseconds(20));
  set_pace(options_.quick);
}

std::size_t SentinelSet::wait_for_new_primary(std::size_t not_this, milliseconds limit) const {
  std::size_t found = not_this;
  std::string last;
  const auto changed_over = [&] {
    try {
      found = primary();
      if (found == not_this) {
        last = "the sentinels name the old one";
        return false;
      }
      last =
          fmt::format("{} says that it is {}", servers_[found]->name(), role_of(*servers_[found]));
      return role_of(*servers_[found]) == "master";
    } catch (const Error& error) {
      last = error.what();
      return false;
    }
  };
  wait_until(changed_over, limit, [&] {
    return fmt::format("another primary than {}: {}", servers_.at(not_this)->name(), last);
  });
  say(fmt::format("{} took over from {}", servers_[found]->name(), servers_[not_this]->name()));
  return found;
}

std::size_t SentinelSet::failover() {
  const auto old = primary();
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running() || sentinel->paused()) continue;
    sentinel->command("SENTINEL", "FAILOVER", options_.name);
    return wait_for_new_primary(old, options_.ready_limit);
  }
  throw Error("no sentinel is running");
}

void SentinelSet::kill(Server& server, int signal) {
  server.kill(signal);
  say(fmt::format("{} got SIG{}", server.name(), ::sigabbrev_np(signal)));
}

void SentinelSet::restart(Server& server, std::optional<Address> address) {
  if (address && address->host != server.address().host) {
    server.kill();
    server.set_config("bind-source-addr", address->host);
    if (!is_sentinel_name(server.name())) server.set_config("replica-announce-ip", address->host);
  }
  server.restart(std::move(address));
  changed(server);
  say(fmt::format("{} started again on {}", server.name(), server.address().to_string()));
}

Address SentinelSet::spare_address() {
  if (options_.own_addresses) return {net_.next(), servers_.front()->address().port};
  ports_.push_back(options_.lifetime == Lifetime::detached ? Port::reserve_for_lab()
                                                           : Port::reserve());
  return {"127.0.0.1", ports_.back().number()};
}

void SentinelSet::swap_roles_by_hand(std::size_t new_primary) {
  const auto address = server(new_primary).address();
  server(new_primary).command("REPLICAOF", "NO", "ONE");
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (i != new_primary && servers_[i]->running()) {
      servers_[i]->command("REPLICAOF", address.host, address.port);
    }
  }
}

}  // namespace slotwise::kit
