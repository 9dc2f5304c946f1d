#include "kit/fault_proxy.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kit/error.hpp"
#include "kit/ports.hpp"
#include "kit/proxy_connection.hpp"
#include "kit/sockets.hpp"

namespace slotwise::kit {

namespace {

constexpr std::uint32_t all_edges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
// What epoll tells back: these two, or a connection's number times two, plus one for its server
// end.
constexpr std::uint64_t wake_tag = 0;
constexpr std::uint64_t listener_tag = 1;

}  // namespace

/// Invariants:
/// 1. All members are guarded by mutex_, except those fixed at construction.
/// 2. Sockets are closed by anybody under the mutex. The thread may hold events of them still; it
///    knows connections by numbers that are never used again, so those say nothing any more.
class FaultProxy::Loop {
 public:
  Loop(Address target, FaultProxyOptions options);
  ~Loop();

  Address address() const;
  Address target() const;
  void move(std::optional<Address> listen, Address target);
  void set_faults(const StreamFaults& faults, Direction direction, Scope scope);
  void cut_new_connections(const CutAfter& cut);
  void block(Sources sources);
  void close_clients(ProxyConnection::Verdict how);
  void stop_listening();
  void listen_again();
  ProxyCounts counts() const;

 private:
  using Clock = ProxyConnection::Clock;
  using Connections = std::map<std::uint64_t, ProxyConnection>;

  void run();
  int prepare_wait();
  void watch(int fd, std::uint64_t tag, std::uint32_t events) const;
  int open_listener(const Address& address) const;
  void close_listener();
  void accept_all();
  bool spared(const std::string& source) const { return spared_ && spared_(source); }
  void apply_faults(Connections::value_type& connection);
  void connect(Connections::value_type& connection);
  Connections::iterator close(Connections::iterator connection, ProxyConnection::Verdict how);
  void pump_ready();

  std::size_t buffer_;  // fixed at construction
  Sources spared_;      // fixed at construction
  int epoll_fd_;        // fixed at construction
  WakeUp wake_;

  mutable std::mutex mutex_;
  Port own_port_;
  Address address_;
  Address target_;
  int listen_fd_ = -1;
  bool stopping_ = false;
  StreamFaults to_server_;  // of new connections
  StreamFaults to_client_;
  Sources blocked_;
  CutAfter cut_;
  std::mt19937_64 random_;
  ProxyCounts counts_;
  Connections connections_;
  std::uint64_t last_number_ = 0;
  std::set<std::uint64_t> ready_;    // to be pumped
  std::set<std::uint64_t> waiting_;  // for the clock
  std::thread thread_;
};

FaultProxy::Loop::Loop(Address target, FaultProxyOptions options)
    : buffer_(options.buffer),
      spared_(std::move(options.spared)),
      epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)),
      target_(std::move(target)) {
  if (options.port == 0) {
    own_port_ = Port::reserve();
    options.port = own_port_.number();
  }
  address_ = {std::move(options.host), options.port};
  (void)to_socket_address(target_);  // throws if it is none
  try {
    listen_fd_ = open_listener(address_);
  } catch (...) {
    ::close(epoll_fd_);
    throw;
  }
  watch(wake_.fd(), wake_tag, EPOLLIN);
  thread_ = std::thread([this] { run(); });
}

FaultProxy::Loop::~Loop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.signal();
  thread_.join();
  for (auto& [number, connection] : connections_)
    connection.close(ProxyConnection::Verdict::reset);
  close_listener();
  ::close(epoll_fd_);
}

Address FaultProxy::Loop::address() const {
  const std::lock_guard lock(mutex_);
  return address_;
}

Address FaultProxy::Loop::target() const {
  const std::lock_guard lock(mutex_);
  return target_;
}

ProxyCounts FaultProxy::Loop::counts() const {
  const std::lock_guard lock(mutex_);
  auto counts = counts_;
  counts.open = connections_.size();
  return counts;
}

void FaultProxy::Loop::watch(int fd, std::uint64_t tag, std::uint32_t events) const {
  ::epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
}

int FaultProxy::Loop::open_listener(const Address& address) const {
  const int fd = listen_on(address, "fault proxy");
  watch(fd, listener_tag, EPOLLIN | EPOLLET);
  return fd;
}

void FaultProxy::Loop::close_listener() {
  if (listen_fd_ >= 0) ::close(listen_fd_);
  listen_fd_ = -1;
}

void FaultProxy::Loop::stop_listening() {
  const std::lock_guard lock(mutex_);
  close_listener();
}

void FaultProxy::Loop::listen_again() {
  const std::lock_guard lock(mutex_);
  if (listen_fd_ < 0) listen_fd_ = open_listener(address_);
}

void FaultProxy::Loop::move(std::optional<Address> listen, Address target) {
  (void)to_socket_address(target);
  const std::lock_guard lock(mutex_);
  target_ = std::move(target);
  if (!listen || *listen == address_) return;
  if (listen_fd_ >= 0) {
    const int fd = open_listener(*listen);
    close_listener();
    listen_fd_ = fd;
  }
  address_ = std::move(*listen);
}

void FaultProxy::Loop::set_faults(const StreamFaults& faults, Direction direction, Scope scope) {
  const std::lock_guard lock(mutex_);
  if (direction != Direction::to_client) to_server_ = faults;
  if (direction != Direction::to_server) to_client_ = faults;
  if (scope == Scope::new_connections) return;
  for (auto& entry : connections_) {
    auto& [number, connection] = entry;
    const auto& source = connection.source();
    if (spared(source) || (blocked_ && blocked_(source))) continue;
    connection.set_faults(faults, direction);
    if (connection.fd(ProxyConnection::End::server) < 0 && !connection.cut_off()) connect(entry);
    ready_.insert(number);
  }
  pump_ready();  // here, so that connections that have lost something are reset on return
  wake_.signal();
}

void FaultProxy::Loop::apply_faults(Connections::value_type& entry) {
  auto& connection = entry.second;
  const auto& source = connection.source();
  if (blocked_ && blocked_(source)) {
    connection.set_faults({.swallow = true}, Direction::both);
  } else if (!spared(source)) {
    connection.set_faults(to_server_, Direction::to_server);
    connection.set_faults(to_client_, Direction::to_client);
  } else {
    connection.set_faults({}, Direction::both);
  }
}

void FaultProxy::Loop::block(Sources sources) {
  const std::lock_guard lock(mutex_);
  const auto before = std::exchange(blocked_, std::move(sources));
  for (auto& entry : connections_) {
    auto& [number, connection] = entry;
    const auto& source = connection.source();
    const bool was = before && before(source);
    const bool is = blocked_ && blocked_(source);
    if (was == is) continue;
    apply_faults(entry);
    if (connection.fd(ProxyConnection::End::server) < 0 && !connection.cut_off()) connect(entry);
    ready_.insert(number);
  }
  pump_ready();
  wake_.signal();
}

void FaultProxy::Loop::cut_new_connections(const CutAfter& cut) {
  if (cut.at_most < cut.at_least) throw Error("a cut after at most less than at least bytes");
  const std::lock_guard lock(mutex_);
  cut_ = cut;
  random_.seed(cut.seed);
}

void FaultProxy::Loop::close_clients(ProxyConnection::Verdict how) {
  const std::lock_guard lock(mutex_);
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    if (spared(connection->second.source())) {
      ++connection;
    } else {
      connection = close(connection, how);
    }
  }
}

FaultProxy::Loop::Connections::iterator FaultProxy::Loop::close(Connections::iterator connection,
                                                                ProxyConnection::Verdict how) {
  ready_.erase(connection->first);
  waiting_.erase(connection->first);
  connection->second.close(how);
  return connections_.erase(connection);
}

void FaultProxy::Loop::run() {
  std::array<::epoll_event, 64> events{};
  while (true) {
    const int wait_ms = prepare_wait();
    const int count =
        ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), wait_ms);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == wake_tag) {
        wake_.clear();
      } else if (event.data.u64 == listener_tag) {
        accept_all();
      } else if (const auto found = connections_.find(event.data.u64 / 2);
                 found != connections_.end()) {
        found->second.on_event(
            event.data.u64 % 2 == 0 ? ProxyConnection::End::client : ProxyConnection::End::server,
            event.events);
        ready_.insert(found->first);
      }
    }
    pump_ready();
  }
}

/// Until something is due. What is due now is ready already.
int FaultProxy::Loop::prepare_wait() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::optional<Clock::time_point> next;
  for (auto number = waiting_.begin(); number != waiting_.end();) {
    const auto due = connections_.at(*number).next_due();
    if (!due || *due <= now) {
      if (due) ready_.insert(*number);
      number = waiting_.erase(number);
      continue;
    }
    next = next ? std::min(*next, *due) : *due;
    ++number;
  }
  if (!ready_.empty()) return 0;
  if (!next) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*next - now).count();
  return static_cast<int>(std::min<milliseconds::rep>(left, 60000));
}

void FaultProxy::Loop::accept_all() {
  while (listen_fd_ >= 0) {
    SocketAddress from;
    from.size = sizeof from.storage;
    const int fd = ::accept4(listen_fd_, from.data(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    ++counts_.accepted;
    const auto number = ++last_number_;
    auto& entry = *connections_.try_emplace(number, fd, host_of(from), buffer_, counts_).first;
    auto& connection = entry.second;
    apply_faults(entry);
    if (cut_.at_most > 0 && !spared(connection.source())) {
      std::uniform_int_distribution<std::uint64_t> bytes(std::max<std::uint64_t>(cut_.at_least, 1),
                                                         cut_.at_most);
      connection.cut_after(bytes(random_), cut_.counted, cut_.reset);
    }
    watch(fd, number * 2, all_edges);
    if (connection.cut_off()) continue;
    connect(entry);
  }
}

void FaultProxy::Loop::connect(Connections::value_type& entry) {
  const int fd = entry.second.connect(target_);
  if (fd >= 0) watch(fd, entry.first * 2 + 1, all_edges);
  ready_.insert(entry.first);
}

void FaultProxy::Loop::pump_ready() {
  for (const auto number : std::exchange(ready_, {})) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) continue;
    const auto verdict = found->second.pump();
    if (verdict == ProxyConnection::Verdict::again) {
      ready_.insert(number);
    } else if (verdict != ProxyConnection::Verdict::wait) {
      close(found, verdict);
    } else if (found->second.next_due()) {
      waiting_.insert(number);
    }
  }
}

FaultProxy::FaultProxy(Address target, FaultProxyOptions options)
    : loop_(std::make_unique<Loop>(std::move(target), std::move(options))) {}

FaultProxy::~FaultProxy() = default;

Address FaultProxy::address() const {
  return loop_->address();
}

Address FaultProxy::target() const {
  return loop_->target();
}

void FaultProxy::set_target(Address target) {
  loop_->move(std::nullopt, std::move(target));
}

void FaultProxy::move(Address listen, Address target) {
  loop_->move(std::move(listen), std::move(target));
}

void FaultProxy::set_faults(const StreamFaults& faults, Direction direction, Scope scope) {
  loop_->set_faults(faults, direction, scope);
}

void FaultProxy::cut_new_connections(const CutAfter& cut) {
  loop_->cut_new_connections(cut);
}

void FaultProxy::block(Sources sources) {
  loop_->block(std::move(sources));
}

void FaultProxy::heal() {
  cut_new_connections({});
  set_faults({});
  listen_again();
}

void FaultProxy::cut() {
  loop_->close_clients(ProxyConnection::Verdict::cut);
}

void FaultProxy::reset() {
  loop_->close_clients(ProxyConnection::Verdict::reset);
}

void FaultProxy::stop_listening() {
  loop_->stop_listening();
}

void FaultProxy::listen_again() {
  loop_->listen_again();
}

ProxyCounts FaultProxy::counts() const {
  return loop_->counts();
}

}  // namespace slotwise::kit
