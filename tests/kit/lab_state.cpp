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

json to_json(const NodeState& node) {
  return {{"name", node.name},
          {"host", node.address.host},
          {"port", node.address.port},
          {"bus_port", node.bus_port},
          {"hostname", node.hostname},
          {"pid", node.process.pid},
          {"start_time", node.process.start_time},
          {"removed", node.removed}};
}

NodeState node_from(const json& from) {
  return {.name = from.at("name"),
          .address = {.host = from.at("host"), .port = from.at("port")},
          .bus_port = from.at("bus_port"),
          .hostname = from.at("hostname"),
          .process = {.pid = from.at("pid"), .start_time = from.at("start_time")},
          .removed = from.at("removed")};
}

json to_json(const LabOptions& options) {
  return {{"primaries", options.primaries},
          {"replicas", options.replicas},
          {"sentinels", options.sentinels},
          {"tls", options.tls},
          {"hostnames", options.hostnames},
          {"own_addresses", options.own_addresses},
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
  options.appendonly = from.at("appendonly");
  options.node_timeout = milliseconds(from.at("node_timeout_ms").get<std::int64_t>());
  options.user = from.at("user");
  options.password = from.at("password");
  options.config = from.at("config").get<std::vector<ConfigLine>>();
  options.servers = from.at("servers").get<std::string>();
  return options;
}

}  // namespace

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
    for (const auto& node : all.at("nodes"))
      state.nodes.push_back(node_from(node));
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
  json nodes = json::array();
  for (const auto& node : state.nodes)
    nodes.push_back(to_json(node));
  const json all = {{"options", to_json(state.options)}, {"nodes", std::move(nodes)}};
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

void LabStateFile::remove() const {
  std::error_code ignored;
  for (const char* name : {"lab.json", "lab.json.new", ".lab.lock"}) {
    fs::remove(dir_ / name, ignored);
  }
}

}  // namespace slotwise::kit
