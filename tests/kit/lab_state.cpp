#include "kit/lab_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

class Lock {
 public:
  explicit Lock(const fs::path& dir)
      : fd_(::open((dir / ".lab.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw Error(fmt::format("cannot write in {}", dir.string()));
    ::flock(fd_, LOCK_EX);
  }
  ~Lock() { ::close(fd_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

json options_to_json(const LabOptions& options) {
  return {{"primaries", options.primaries},
          {"replicas", options.replicas},
          {"sentinels", options.sentinels},
          {"tls", options.tls},
          {"hostnames", options.hostnames},
          {"own_addresses", options.own_addresses},
          {"proxies", options.proxies},
          {"appendonly", options.appendonly},
          {"node_timeout_ms", options.node_timeout.count()},
          {"user", options.user},
          {"password", options.password},
          {"config", options.config},
          {"servers", options.servers.string()}};
}

LabOptions options_from(const json& from) {
  LabOptions options;
  options.primaries = from.at("primaries");
  options.replicas = from.at("replicas");
  options.sentinels = from.at("sentinels");
  options.tls = from.at("tls");
  options.hostnames = from.at("hostnames");
  options.own_addresses = from.at("own_addresses");
  options.proxies = from.at("proxies");
  options.appendonly = from.at("appendonly");
  options.node_timeout = milliseconds(from.at("node_timeout_ms").get<std::int64_t>());
  options.user = from.at("user");
  options.password = from.at("password");
  options.config = from.at("config").get<std::vector<ConfigLine>>();
  options.servers = from.at("servers").get<std::string>();
  return options;
}

json network_to_json(const LabNetworkState& network) {
  return {{"pid", network.process.pid},
          {"start_time", network.process.start_time},
          {"dns_servers", network.dns_servers}};
}

LabNetworkState network_from(const json& from) {
  return {.process = {.pid = from.at("pid"), .start_time = from.at("start_time")},
          .dns_servers = from.at("dns_servers")};
}

}  // namespace

void to_json(json& to, const NodeState& node) {
  to = {{"name", node.name},
        {"host", node.address.host},
        {"port", node.address.port},
        {"bus_port", node.bus_port},
        {"proxy_port", node.proxy_port},
        {"hostname", node.hostname},
        {"pid", node.process.pid},
        {"start_time", node.process.start_time},
        {"removed", node.removed}};
}

void from_json(const json& from, NodeState& node) {
  node = {.name = from.at("name"),
          .address = {.host = from.at("host"), .port = from.at("port")},
          .bus_port = from.at("bus_port"),
          .proxy_port = from.at("proxy_port"),
          .hostname = from.at("hostname"),
          .process = {.pid = from.at("pid"), .start_time = from.at("start_time")},
          .removed = from.at("removed")};
}

bool LabStateFile::exists() const {
  return fs::exists(file());
}

LabState LabStateFile::read() const {
  if (!exists()) throw Error(fmt::format("there is no lab in {}", dir_.string()));
  const Lock lock(dir_);
  return read_locked();
}

LabState LabStateFile::read_locked() const {
  try {
    std::ifstream in(file());
    const auto all = json::parse(in);
    LabState state;
    state.options = options_from(all.at("options"));
    state.options.dir = dir_;
    state.network = network_from(all.at("network"));
    state.nodes = all.at("nodes").get<std::vector<NodeState>>();
    return state;
  } catch (const json::exception& error) {
    throw Error(fmt::format("{} is not a lab's state: {}", file().string(), error.what()));
  }
}

void LabStateFile::write(const LabState& state) const {
  const Lock lock(dir_);
  write_locked(state);
}

void LabStateFile::write_locked(const LabState& state) const {
  const json all = {{"options", options_to_json(state.options)},
                    {"network", network_to_json(state.network)},
                    {"nodes", state.nodes}};
  const auto next = dir_ / "lab.json.new";
  std::ofstream out(next, std::ios::trunc);
  fs::permissions(next, fs::perms::owner_read | fs::perms::owner_write);  // it has the password
  out << all.dump(2) << '\n';
  out.close();
  if (!out) throw Error(fmt::format("cannot write {}", next.string()));
  fs::rename(next, file());
}

void LabStateFile::update(const NodeState& node) const {
  const Lock lock(dir_);
  auto state = read_locked();
  const auto found = std::find_if(state.nodes.begin(), state.nodes.end(),
                                  [&](const NodeState& old) { return old.name == node.name; });
  if (found == state.nodes.end()) {
    state.nodes.push_back(node);
  } else {
    *found = node;
  }
  write_locked(state);
}

void LabStateFile::update(const LabNetworkState& network) const {
  const Lock lock(dir_);
  auto state = read_locked();
  state.network = network;
  write_locked(state);
}

void LabStateFile::remove() const {
  std::error_code ignored;
  for (const char* name :
       {"lab.json", "lab.json.new", ".lab.lock", LabNetwork::socket_name, LabNetwork::log_name}) {
    fs::remove(dir_ / name, ignored);
  }
}

}  // namespace slotwise::kit
