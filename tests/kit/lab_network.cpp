#include "kit/lab_network.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kit/error.hpp"
#include "kit/lab_network_socket.hpp"
#include "kit/lab_state.hpp"

namespace slotwise::kit {

using nlohmann::json;

SocketFile::SocketFile(const std::filesystem::path& dir, const std::string& name)
    : dir_fd_(::open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (dir_fd_ < 0) throw Error(fmt::format("there is no folder {}", dir.string()));
  address_.sun_family = AF_UNIX;
  const auto path = fmt::format("/proc/self/fd/{}/{}", dir_fd_, name);
  std::memcpy(address_.sun_path, path.c_str(), path.size() + 1);
}

SocketFile::~SocketFile() {
  ::close(dir_fd_);
}

std::string read_line(int fd, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string line;
  std::array<char, 4096> buffer{};
  while (line.empty() || line.back() != '\n') {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    ::pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&p, 1, static_cast<int>(left.count())) != 1) return line;
    const auto got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return line;
    line.append(buffer.data(), static_cast<std::size_t>(got));
  }
  line.pop_back();
  return line;
}

void write_line(int fd, std::string line) {
  line += '\n';
  for (std::size_t done = 0; done < line.size();) {
    const auto sent = ::send(fd, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return;  // whoever asked is gone
    done += static_cast<std::size_t>(sent);
  }
}

json LabNetwork::ask(const json& request) const {
  const SocketFile file(dir_, socket_name);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string line;
  if (::connect(fd, file.data(), file.size()) == 0) {
    write_line(fd, request.dump());
    line = read_line(fd, milliseconds(5000));
  }
  ::close(fd);
  const auto answer = json::parse(line, nullptr, false);
  if (answer.is_discarded()) {
    throw Error(fmt::format("the process with the lab's proxies and DNS does not answer (see {})",
                            (dir_ / log_name).string()));
  }
  if (answer.contains("error")) throw Error(answer.at("error").get<std::string>());
  return answer;
}

Address LabNetwork::dns_address() const {
  const auto answer = ask({{"do", "status"}});
  return {answer.at("dns_host"), answer.at("dns_port")};
}

std::map<std::string, LabNetworkNode> LabNetwork::nodes() const {
  std::map<std::string, LabNetworkNode> nodes;
  const auto answer = ask({{"do", "status"}});
  for (const auto& [name, node] : answer.at("nodes").items()) {
    nodes[name] = {.fault = node.at("fault"),
                   .connections = node.at("connections"),
                   .record = node.at("record")};
  }
  return nodes;
}

void LabNetwork::update(const NodeState& node) const {
  ask({{"do", "update"}, {"state", node}});
}

void LabNetwork::set_fault(const std::string& node, const LabFault& fault) const {
  ask({{"do", "fault"},
       {"node", node},
       {"delay_ms", fault.stream.delay.count()},
       {"swallow", fault.stream.swallow},
       {"one_byte", fault.stream.one_byte},
       {"bytes_per_second", fault.stream.bytes_per_second},
       {"refuse", fault.refuse},
       {"cut_after", fault.cut_after}});
}

void LabNetwork::reset_connections(const std::string& node) const {
  ask({{"do", "reset"}, {"node", node}});
}

void LabNetwork::set_record(const std::string& node, const std::vector<std::string>& answer) const {
  ask({{"do", "dns"}, {"node", node}, {"answer", answer}});
}

}  // namespace slotwise::kit
