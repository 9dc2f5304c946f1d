// The process with a lab's proxies and DNS.
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>
#include <utility>

#include "kit/error.hpp"
#include "kit/lab_network.hpp"
#include "kit/lab_network_socket.hpp"
#include "kit/lab_state.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;
using nlohmann::json;

std::string LabFault::to_string() const {
  std::vector<std::string> parts;
  if (stream.swallow) parts.emplace_back("cut");
  if (stream.delay.count() > 0) parts.push_back(fmt::format("delay {} ms", stream.delay.count()));
  if (stream.one_byte) parts.emplace_back("one byte at a time");
  if (stream.bytes_per_second > 0) {
    parts.push_back(fmt::format("{} bytes a second", stream.bytes_per_second));
  }
  if (cut_after > 0) parts.push_back(fmt::format("ends within {} bytes", cut_after));
  if (refuse) parts.emplace_back("refuses");
  return fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

LabFault fault_from(const json& request) {
  return {.stream = {.delay = milliseconds(request.at("delay_ms").get<milliseconds::rep>()),
                     .swallow = request.at("swallow"),
                     .one_byte = request.at("one_byte"),
                     .bytes_per_second = request.at("bytes_per_second")},
          .refuse = request.at("refuse"),
          .cut_after = request.at("cut_after")};
}

class Network {
 public:
  json answer(const std::string& line);

 private:
  struct Node {
    std::string hostname;
    std::unique_ptr<FaultProxy> proxy;
    std::string fault;
  };

  json status() const;
  std::string record(const std::string& hostname) const;
  void update(const NodeState& state);
  void set_fault(const std::string& name, const LabFault& fault);
  void set_record(const Node& node, const std::vector<std::string>& answer);
  Node& node(const std::string& name);
  FaultProxy& proxy(const std::string& name);

  DnsResponder dns_;
  std::map<std::string, Node> nodes_;
};

json Network::answer(const std::string& line) {
  try {
    const auto request = json::parse(line);
    const std::string what = request.at("do");
    if (what == "update") {
      update(request.at("state").get<NodeState>());
    } else if (what == "fault") {
      set_fault(request.at("node"), fault_from(request));
    } else if (what == "reset") {
      proxy(request.at("node")).reset();
    } else if (what == "dns") {
      set_record(node(request.at("node")), request.at("answer"));
    } else if (what != "status") {
      throw Error(fmt::format("a lab's network cannot {}", what));
    }
    return status();
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

json Network::status() const {
  json nodes = json::object();
  for (const auto& [name, node] : nodes_) {
    nodes[name] = {{"fault", node.fault},
                   {"connections", node.proxy ? node.proxy->counts().open : 0},
                   {"record", node.hostname.empty() ? "" : record(node.hostname)}};
  }
  return {{"dns_host", dns_.address().host}, {"dns_port", dns_.address().port}, {"nodes", nodes}};
}

std::string Network::record(const std::string& hostname) const {
  const auto a = dns_.a(hostname);
  const auto aaaa = dns_.aaaa(hostname);
  if (a.silent) return "silent";
  if (a.code == DnsCode::nxdomain) return "nxdomain";
  if (a.code == DnsCode::servfail) return "servfail";
  auto ips = a.ips;
  ips.insert(ips.end(), aaaa.ips.begin(), aaaa.ips.end());
  return ips.empty() ? "empty" : fmt::format("{}", fmt::join(ips, " "));
}

void Network::update(const NodeState& state) {
  if (state.removed) {
    const auto found = nodes_.find(state.name);
    if (found == nodes_.end()) return;
    if (!state.hostname.empty()) dns_.remove(state.hostname);
    nodes_.erase(found);
    return;
  }
  const auto [found, fresh] = nodes_.try_emplace(state.name);
  auto& node = found->second;
  if (fresh && !state.hostname.empty()) {
    node.hostname = state.hostname;
    dns_.set(state.hostname, {.ips = {state.address.host}});
  }
  if (state.proxy_port == 0) return;
  const Address listen{state.address.host, state.proxy_port};
  if (node.proxy) {
    node.proxy->move(listen, state.address);
  } else {
    node.proxy = std::make_unique<FaultProxy>(
        state.address, FaultProxyOptions{.host = listen.host, .port = listen.port});
  }
}

void Network::set_fault(const std::string& name, const LabFault& fault) {
  auto& proxy = this->proxy(name);
  proxy.cut_new_connections({.at_least = std::min<std::uint64_t>(fault.cut_after, 1),
                             .at_most = fault.cut_after,
                             .seed = std::random_device{}()});
  proxy.set_faults(fault.stream);
  if (fault.refuse) {
    proxy.stop_listening();
  } else {
    proxy.listen_again();
  }
  node(name).fault = fault.to_string();
}

void Network::set_record(const Node& node, const std::vector<std::string>& answer) {
  if (node.hostname.empty()) throw Error("the nodes of this lab have no names");
  DnsAnswer a;
  DnsAnswer aaaa;
  if (answer == std::vector<std::string>{"nxdomain"}) {
    dns_.remove(node.hostname);
    return;
  }
  if (answer == std::vector<std::string>{"silent"}) {
    a.silent = aaaa.silent = true;
  } else if (answer == std::vector<std::string>{"servfail"}) {
    a.code = aaaa.code = DnsCode::servfail;
  } else if (answer != std::vector<std::string>{"empty"}) {
    for (const auto& ip : answer)
      (ip.find(':') == std::string::npos ? a : aaaa).ips.push_back(ip);
  }
  dns_.set(node.hostname, std::move(a), std::move(aaaa));
}

Network::Node& Network::node(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) throw Error(fmt::format("the lab's network knows no node {}", name));
  return found->second;
}

FaultProxy& Network::proxy(const std::string& name) {
  if (const auto& proxy = node(name).proxy) return *proxy;
  throw Error("the nodes of this lab have no proxies");
}

/// Tells the file that the path names from one made later (which may get the same inode).
std::tuple<::ino_t, std::time_t, long> identity_of(const fs::path& path) {
  struct ::stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

void serve_lab_network(const fs::path& dir) {
  const auto path = dir / LabNetwork::socket_name;
  Network network;
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const SocketFile file(dir, LabNetwork::socket_name);
  ::unlink(path.c_str());
  if (::bind(listener, file.data(), file.size()) != 0 || ::listen(listener, 64) != 0) {
    const int error = errno;
    ::close(listener);
    throw Error(fmt::format("cannot listen on {}: {}", path.string(), std::strerror(error)));
  }
  const auto mine = identity_of(path);
  while (identity_of(path) == mine) {
    ::pollfd p{.fd = listener, .events = POLLIN, .revents = 0};
    if (::poll(&p, 1, 500) != 1) continue;
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (const auto line = read_line(fd, milliseconds(2000)); !line.empty()) {
      write_line(fd, network.answer(line).dump());
    }
    ::close(fd);
  }
  ::close(listener);
}

}  // namespace slotwise::kit
