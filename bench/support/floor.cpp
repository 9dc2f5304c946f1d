// Baseline (6), the floor: prepared bytes out, replies skipped. It keeps no calls, builds no
// values, knows no errors beyond ending the run, and so shows what the machine and the servers
// allow.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "support/drive.hpp"
#include "support/sides.hpp"

namespace slotwise::bench {

namespace {

constexpr const char* name = "floor";

class Floor : public Side {
 public:
  Floor(const Deployment& deployment, const Workload& workload, std::size_t in_flight)
      : in_flight_(in_flight), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    prepare(workload);
    for (std::size_t i = 0; i < node_count; ++i)
      connect(nodes_.at(i), deployment.address(i));
  }

  ~Floor() override {
    for (const auto& node : nodes_)
      close(node.fd);
    close(epoll_);
  }

  Counts run(double seconds) override {
    return run_threads(1, seconds, time_every_async,
                       [this](int /*thread*/, const Stop& stop, ThreadCounts& counts) {
                         for (std::size_t i = 0; i < in_flight_; ++i)
                           start_next(counts);
                         while (pending_ > 0) {
                           flush_all();
                           wait(stop, counts);
                         }
                         if (set_replies_ != sets_) fail(name, "a GET had a SET's reply");
                       });
  }

 private:
  struct Command {
    std::string bytes;
    std::uint8_t node = 0;
    bool set = false;
  };
  struct Timed {
    std::uint64_t number = 0;
    Clock::time_point start;
  };
  struct Node {
    int fd = -1;
    std::string out;
    std::vector<char> in = std::vector<char>(std::size_t{256} * 1024);
    std::size_t held = 0;  // bytes of `in` that are a part of a reply
    std::uint64_t sent = 0;
    std::uint64_t replied = 0;
    std::deque<Timed> timed;
  };

  void prepare(const Workload& workload) {
    const auto word = [](std::string_view text) {
      std::string bytes = "$" + std::to_string(text.size());
      bytes += "\r\n";
      bytes += text;
      bytes += "\r\n";
      return bytes;
    };
    for (std::size_t i = 0; i < Workload::operation_count; ++i) {
      const auto& operation = workload.operation(i);
      std::string bytes = operation.set ? "*3\r\n" + word("SET") : "*2\r\n" + word("GET");
      bytes += word(workload.key(operation));
      if (operation.set) bytes += word(workload.value());
      commands_.push_back({bytes, operation.node, operation.set});
    }
    value_head_ = word(workload.value());
    value_reply_size_ = value_head_.size();
    value_head_.resize(value_head_.find('\n') + 1);
  }

  void connect(Node& node, const kit::Address& address) const {
    node.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
    const int on = 1;
    setsockopt(node.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (::connect(node.fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
      fail(name, std::strerror(errno));
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &node;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, node.fd, &event);
  }

  void start_next(ThreadCounts& counts) {
    const Command& command = commands_[next_++ % Workload::operation_count];
    Node& node = nodes_.at(command.node);
    node.out += command.bytes;
    if (counts.latencies.due()) node.timed.push_back({node.sent, Clock::now()});
    ++node.sent;
    sets_ += command.set ? 1 : 0;
    ++pending_;
  }

  void flush_all() {
    for (auto& node : nodes_) {
      std::size_t done = 0;
      while (done < node.out.size()) {
        const auto n = send(node.fd, node.out.data() + done, node.out.size() - done, MSG_NOSIGNAL);
        if (n <= 0) fail(name, std::strerror(errno));
        done += static_cast<std::size_t>(n);
      }
      node.out.clear();
    }
  }

  void wait(const Stop& stop, ThreadCounts& counts) {
    std::array<epoll_event, node_count> events{};
    const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i)
      read(*static_cast<Node*>(events.at(static_cast<std::size_t>(i)).data.ptr), stop, counts);
  }

  void read(Node& node, const Stop& stop, ThreadCounts& counts) {
    const auto n = recv(node.fd, node.in.data() + node.held, node.in.size() - node.held, 0);
    if (n <= 0) fail(name, "a connection was closed");
    const std::string_view bytes(node.in.data(), node.held + static_cast<std::size_t>(n));
    std::size_t at = 0;
    while (const std::size_t size = reply_size(bytes.substr(at))) {
      if (size > bytes.size() - at) break;
      at += size;
      --pending_;
      ++counts.operations;
      if (!node.timed.empty() && node.timed.front().number == node.replied) {
        counts.latencies.add(microseconds_since(node.timed.front().start));
        node.timed.pop_front();
      }
      ++node.replied;
      if (!stop.over()) start_next(counts);
    }
    node.held = bytes.size() - at;
    if (node.held > 0) std::memmove(node.in.data(), node.in.data() + at, node.held);
  }

  /// 0: not known yet.
  std::size_t reply_size(std::string_view bytes) {
    if (bytes.empty()) return 0;
    if (bytes.front() == '$') {
      if (bytes.size() < value_head_.size()) return 0;
      if (!bytes.starts_with(value_head_)) fail(name, "a value of another size");
      return value_reply_size_;
    }
    constexpr std::string_view ok = "+OK\r\n";
    if (bytes.size() < ok.size()) return 0;
    if (!bytes.starts_with(ok)) fail(name, bytes.substr(0, bytes.find('\r')));
    ++set_replies_;
    return ok.size();
  }

  std::size_t in_flight_;
  int epoll_;
  std::vector<Command> commands_;
  std::string value_head_;  // "$64\r\n"
  std::size_t value_reply_size_ = 0;
  std::array<Node, node_count> nodes_;
  std::size_t next_ = 0;
  std::size_t pending_ = 0;
  std::uint64_t sets_ = 0;
  std::uint64_t set_replies_ = 0;
};

}  // namespace

SidePtr floor_async(const Deployment& deployment, const Workload& workload, std::size_t in_flight) {
  return std::make_unique<Floor>(deployment, workload, in_flight);
}

}  // namespace slotwise::bench
