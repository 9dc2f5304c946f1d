#include "kit/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

// The kit's own user, so that a test may change or lock the application's. Not a secret: these
// servers listen on loopback only and live as long as a test.
constexpr const char* kit_user = "slotwise-kit";
constexpr const char* kit_password = "slotwise-kit-password";

ServerOptions with_binaries(ServerOptions options) {
  if (!options.binaries) options.binaries = ServerBinaries::find();
  return options;
}

std::string value_in(const std::string& info, const std::string& field) {
  std::istringstream lines(info);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(field + ":")) continue;
    if (line.back() == '\r') line.pop_back();
    return line.substr(field.size() + 1);
  }
  return {};
}

/// "calls=3,usec=10,...": the number after `name`.
std::int64_t number_in(const std::string& stat, const std::string& name) {
  const auto at = ("," + stat).find("," + name + "=");
  return at == std::string::npos ? 0 : std::stoll(stat.substr(at + name.size() + 1));
}

}  // namespace

Server::Server(ServerOptions options, Prepared) : options_(with_binaries(std::move(options))) {
  prepare();
  if (options_.port == 0) {
    ports_.push_back(Port::reserve());
    options_.port = ports_.back().number();
  }
  fs::create_directories(dir_);
  if (options_.ca) certificate_ = options_.ca->issue(options_.certificate);
  ConfigFile(dir_ / "server.conf").write(first_config());
}

Server::Server(ServerOptions options) : Server(std::move(options), Prepared{}) {
  start();
}

Server::Server(ServerOptions options, const ProcessId& process)
    : options_(with_binaries(std::move(options))) {
  prepare();
  if (auto port = Port::try_reserve(options_.port)) ports_.push_back(std::move(port));
  if (const auto file = config("tls-cert-file"); !file.empty()) {
    certificate_ = Certificate{.cert_file = file, .key_file = config("tls-key-file")};
  }
  process_ = Process::attach(process);
  id_ = process;
}

void Server::prepare() {
  if (options_.dir.empty()) {
    own_dir_.emplace(options_.name);
    options_.dir = own_dir_->path();
  }
  dir_ = fs::absolute(options_.dir) / options_.name;
  if (!options_.password.empty()) {
    admin_user_ = kit_user;
    admin_password_ = kit_password;
  }
  auto& wanted = options_.certificate;
  if (wanted.dns.empty() && wanted.ips.empty()) wanted.ips.push_back(options_.host);
  if (wanted.file_stem == CertificateOptions().file_stem) wanted.file_stem = options_.name;
}

Server::~Server() = default;

std::vector<ConfigLine> Server::first_config() const {
  const bool plain_redis = !options_.sentinel;
  std::vector<ConfigLine> lines = {{"bind", options_.host},
                                   {"dir", config_word(dir_.string())},
                                   {"daemonize", "no"},
                                   {"protected-mode", "no"}};
  if (plain_redis) {
    lines.insert(lines.end(), {{"save", "\"\""},
                               {"enable-debug-command", "yes"},
                               {"repl-diskless-sync", "yes"},
                               {"repl-diskless-sync-delay", "0"},
                               {"repl-ping-replica-period", "1"},
                               {"repl-timeout", "10"}});
  }
  const auto port = std::to_string(options_.port);
  lines.emplace_back("port", certificate_ ? "0" : port);
  if (certificate_) {
    lines.insert(lines.end(), {{"tls-port", port},
                               {"tls-cert-file", config_word(certificate_->cert_file.string())},
                               {"tls-key-file", config_word(certificate_->key_file.string())},
                               {"tls-ca-cert-file", config_word(options_.ca->ca_file().string())},
                               {"tls-auth-clients", "no"},
                               {"tls-replication", "yes"}});
  }
  if (!options_.password.empty()) {
    if (options_.user.empty()) {
      lines.emplace_back("requirepass", config_word(options_.password));
    } else {
      lines.emplace_back("user", "default off");
      lines.emplace_back("user", fmt::format("{} on {} ~* &* +@all", options_.user,
                                             config_word(">" + options_.password)));
    }
    lines.emplace_back("user", fmt::format("{} on >{} ~* &* +@all", kit_user, kit_password));
    if (plain_redis) {
      lines.emplace_back("masteruser", kit_user);
      lines.emplace_back("masterauth", kit_password);
    }
  }
  lines.insert(lines.end(), options_.config.begin(), options_.config.end());
  return lines;
}

void Server::set_config(const std::string& name, const std::string& value) {
  ConfigFile(dir_ / "server.conf").set(name, value);
}

void Server::drop_config(const std::string& name) {
  ConfigFile(dir_ / "server.conf").drop(name);
}

void Server::replace_config_words(const std::map<std::string, std::string>& words) {
  ConfigFile(dir_ / "server.conf").replace_words(words);
}

std::string Server::config(const std::string& name) const {
  return config_text(ConfigFile(dir_ / "server.conf").get(name).value_or(""));
}

void Server::launch() {
  const std::lock_guard work(work_mutex_);
  if (process_ && process_->running()) return;
  std::vector<std::string> command{options_.binaries->server.string(),
                                   (dir_ / "server.conf").string()};
  if (options_.sentinel) command.emplace_back("--sentinel");
  process_.emplace(ProcessOptions{.command = std::move(command),
                                  .working_dir = dir_,
                                  .log_file = log_file(),
                                  .hosts_file = options_.hosts_file,
                                  .lifetime = options_.lifetime});
  {
    const std::lock_guard lock(address_mutex_);
    id_ = process_->id();
  }
  forget_admin(true);
}

void Server::wait_ready() {
  std::string last;
  const auto answers = [&] {
    if (!running()) fail("ended while starting");
    try {
      const auto reply = try_command("PING");
      last = reply.to_string();
      return !reply.is_error();  // -LOADING, or a replica that syncs: it will be ready
    } catch (const Error& error) {
      last = error.what();
      return false;
    }
  };
  if (!wait_for(answers, options_.start_limit, milliseconds(5))) {
    fail(fmt::format("does not answer after {} ms (last: {})", options_.start_limit.count(), last));
  }
}

void Server::stop(milliseconds limit) {
  const std::lock_guard work(work_mutex_);
  if (process_) process_->terminate(limit);
  forget_admin(false);
}

void Server::kill(int signal) {
  const std::lock_guard work(work_mutex_);
  if (!process_) return;
  process_->signal(signal);
  if (signal != SIGKILL && signal != SIGTERM) return;
  if (!process_->wait(milliseconds(15000))) {
    fail(fmt::format("did not end within 15 s of signal {}", signal));
  }
  forget_admin(false);
}

void Server::restart(std::optional<Address> address) {
  {
    const std::lock_guard work(work_mutex_);
    if (process_) {
      process_->signal(SIGKILL);
      process_->wait(milliseconds(10000));
    }
    if (address) {
      const ConfigFile file(dir_ / "server.conf");
      const auto old = this->address();
      for (const char* name : {"bind", "bind-source-addr", "cluster-announce-ip"}) {
        if (config(name) == old.host) file.set(name, address->host);
      }
      file.set(certificate_ ? "tls-port" : "port", std::to_string(address->port));
      auto& ips = options_.certificate.ips;
      const bool names_it = std::find(ips.begin(), ips.end(), old.host) != ips.end();
      std::replace(ips.begin(), ips.end(), old.host, address->host);
      if (options_.ca && names_it) options_.ca->issue(options_.certificate);
      const std::lock_guard lock(address_mutex_);
      options_.host = address->host;
      options_.port = address->port;
    }
  }
  start();
}

bool Server::running() const {
  return is_running(process());
}

bool Server::paused() const {
  return is_stopped(process());
}

Address Server::address() const {
  const std::lock_guard lock(address_mutex_);
  return {options_.host, options_.port};
}

ProcessId Server::process() const {
  const std::lock_guard lock(address_mutex_);
  return id_;
}

std::string Server::log_tail(std::size_t lines) const {
  return tail_of(log_file(), lines);
}

void Server::fail(const std::string& what) const {
  throw Error(fmt::format("{} on {} ({}) {}; its log ends with:\n{}", options_.name,
                          address().to_string(), options_.binaries->to_string(), what, log_tail()));
}

ConnectionOptions Server::connection_options() const {
  ConnectionOptions options;
  options.user = admin_user_;
  options.password = admin_password_;
  if (certificate_) {
    // Not verified: the kit started this server, and must reach it also when a test gave it an
    // expired or wrong certificate.
    options.tls =
        std::make_shared<const ClientTls>(ClientTls{.cert_file = certificate_->cert_file.string(),
                                                    .key_file = certificate_->key_file.string()});
  }
  return options;
}

Connection Server::open(milliseconds connect_limit) const {
  auto options = connection_options();
  options.connect_limit = connect_limit;
  Connection connection(address(), std::move(options));
  ++own_connections_;
  return connection;
}

Connection Server::connect() const {
  return open(milliseconds(2000));
}

void Server::forget_admin(bool new_process) {
  const std::lock_guard lock(admin_mutex_);
  admin_.reset();
  if (new_process) own_connections_ = 0;
}

Connection& Server::admin() {
  if (!admin_ || !admin_->usable()) {
    admin_.reset();
    admin_ = std::make_unique<Connection>(open(milliseconds(2000)));
  }
  return *admin_;
}

Reply Server::try_command_words(const std::vector<std::string>& words) {
  const std::lock_guard lock(admin_mutex_);
  return admin().try_command_words(words);
}

Reply Server::command_words(const std::vector<std::string>& words) {
  const std::lock_guard lock(admin_mutex_);
  try {
    return admin().command_words(words);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", options_.name, error.what()));
  }
}

std::vector<Reply> Server::pipeline(const std::vector<std::vector<std::string>>& commands) {
  const std::lock_guard lock(admin_mutex_);
  return admin().pipeline(commands);
}

std::string Server::role() {
  return command("ROLE").at(0).str();
}

std::string Server::info_section(const std::string& section) {
  return command("INFO", section).str();
}

std::string Server::info(const std::string& field) {
  return value_in(command("INFO", "everything").str(), field);
}

void Server::reset_counts() {
  command("CONFIG", "RESETSTAT");
  own_connections_ = 0;
}

Server::CommandCount Server::command_count(const std::string& name) {
  const auto stat = value_in(info_section("commandstats"), "cmdstat_" + name);
  return {.calls = number_in(stat, "calls"),
          .rejected = number_in(stat, "rejected_calls"),
          .failed = number_in(stat, "failed_calls")};
}

std::int64_t Server::error_count(const std::string& word) {
  return number_in(value_in(info_section("errorstats"), "errorstat_" + word), "count");
}

std::int64_t Server::connections_received() {
  const auto all = value_in(info_section("stats"), "total_connections_received");
  return (all.empty() ? 0 : std::stoll(all)) - own_connections_;
}

}  // namespace slotwise::kit
