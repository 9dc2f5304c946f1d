#include "kit/scripted_loop.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kit/error.hpp"

namespace slotwise::kit {

ScriptedLoop::ScriptedLoop(ScriptedNodeOptions options) {
  if (options.port == 0) {
    own_port_ = Port::reserve();
    options.port = own_port_.number();
  }
  host = options.host;
  port = options.port;
  id = options.id.empty() ? fmt::format("{:040x}", 0xfa0e0000U + port) : options.id;
  map = options.map ? options.map : std::make_shared<ScriptedMap>();
  manners_.id = id;
  manners_.host = host;
  manners_.port = port;
  manners_.role = options.role;
  manners_.mode = options.mode;
  manners_.version = options.version;
  manners_.map = map;
  listen_fd_ = open_listener();
  thread_ = std::thread([this] { run(); });
}

ScriptedLoop::~ScriptedLoop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.signal();
  thread_.join();
  for (const auto& [number, peer] : peers_)
    ::close(peer.fd);
  if (listen_fd_ >= 0) ::close(listen_fd_);
}

int ScriptedLoop::open_listener() const {
  return listen_on({host, port}, "scripted node");
}

void ScriptedLoop::stop_listening() {
  const std::lock_guard lock(mutex_);
  if (listen_fd_ < 0 || retired_listener_) return;
  ::shutdown(listen_fd_, SHUT_RDWR);
  retired_listener_ = true;
  wake_.signal();
}

void ScriptedLoop::listen_again() {
  const std::lock_guard lock(mutex_);
  if (listen_fd_ >= 0 && !retired_listener_) return;
  const int fd = open_listener();
  if (listen_fd_ >= 0) {
    // The loop may be polling the old descriptor: put the new socket in its place.
    ::dup3(fd, listen_fd_, O_CLOEXEC);
    ::close(fd);
  } else {
    listen_fd_ = fd;
  }
  retired_listener_ = false;
  wake_.signal();
}

void ScriptedLoop::send(int connection, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, peer] : peers_) {
    if (connection == 0 || connection == number) queue(peer, bytes);
  }
  wake_.signal();
}

void ScriptedLoop::close(int connection, bool reset) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, peer] : peers_) {
    if (connection != 0 && connection != number) continue;
    if (reset) {
      abort_connection(peer.fd);
    } else {
      ::shutdown(peer.fd, SHUT_RDWR);
    }
    peer.hung_up = true;
    records_[number].open = false;
  }
  wake_.signal();
}

void ScriptedLoop::reset_counts() {
  const std::lock_guard lock(mutex_);
  accepts_ = 0;
  // Not clear(): tests that measure memory want theirs back.
  commands_ = std::vector<ReceivedCommand>();
  for (auto record = records_.begin(); record != records_.end();) {
    record->second.commands = std::vector<ReceivedCommand>();
    record = record->second.open ? std::next(record) : records_.erase(record);
  }
}

void ScriptedLoop::run() {
  std::vector<pollfd> fds;
  std::vector<int> numbers;  // of the peers in fds, from the third on
  while (true) {
    int wait_ms = -1;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      wait_ms = prepare_poll(fds, numbers);
    }
    ::poll(fds.data(), fds.size(), wait_ms);
    if (fds[0].revents != 0) wake_.clear();
    if (fds[1].revents != 0) accept_all();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if ((fds[i + 2].revents & ~POLLOUT) != 0) read_from(numbers[i]);
    }
    const std::lock_guard lock(mutex_);
    for (auto& [number, peer] : peers_)
      flush(peer);
    close_finished();
  }
}

/// What to wait for, and until the next piece is due.
int ScriptedLoop::prepare_poll(std::vector<pollfd>& fds, std::vector<int>& numbers) {
  if (retired_listener_ && listen_fd_ >= 0) {
    ::close(listen_fd_);
    listen_fd_ = -1;
    retired_listener_ = false;
  }
  fds.assign({{.fd = wake_.fd(), .events = POLLIN, .revents = 0},
              {.fd = listen_fd_, .events = POLLIN, .revents = 0}});
  numbers.clear();
  std::optional<Clock::time_point> next;
  for (const auto& [number, peer] : peers_) {
    const auto events = static_cast<short>(POLLIN | (peer.blocked ? POLLOUT : 0));
    fds.push_back({.fd = peer.fd, .events = events, .revents = 0});
    numbers.push_back(number);
    if (!peer.pieces.empty() && !peer.blocked) {
      next = next ? std::min(*next, peer.pieces.front().due) : peer.pieces.front().due;
    }
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now());
  return static_cast<int>(std::max<milliseconds::rep>(0, left.count()));
}

void ScriptedLoop::accept_all() {
  const std::lock_guard lock(mutex_);
  while (listen_fd_ >= 0 && !retired_listener_) {
    const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int number = ++last_number_;
    ++accepts_;
    peers_[number].fd = fd;
    peers_[number].session.number = number;
    auto& record = records_[number];
    record.number = number;
    record.open = true;
  }
}

void ScriptedLoop::read_from(int number) {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(number);
    if (found == peers_.end() || found->second.hung_up) return;
    Peer& peer = found->second;
    char buffer[65536];
    while (true) {
      const auto got = ::recv(peer.fd, buffer, sizeof buffer, 0);
      if (got > 0) {
        peer.parser.feed({buffer, static_cast<std::size_t>(got)});
        continue;
      }
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) peer.hung_up = true;
      if (got == 0 || errno != EINTR) break;
    }
    auto& record = records_[number];
    while (auto command = peer.parser.next()) {
      const ReceivedCommand received{number, *command, Clock::now()};
      record.commands.push_back(received);
      commands_.push_back(received);
      commands.push_back(std::move(*command));
    }
    record.garbage = peer.parser.garbage();
  }
  for (const auto& command : commands)
    answer(number, command);
}

void ScriptedLoop::answer(int number, const Command& command) {
  if (command.empty()) return;  // "*0": servers pass over it
  auto reply = ask_script(number, command);
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(number);
  if (muted_ || found == peers_.end() || found->second.closing) return;
  Peer& peer = found->second;
  if (!reply) {
    reply = manners_.answer(peer.session, command);
  } else if (same_name(command[0], "HELLO")) {
    // A scripted HELLO that answers with a map has switched to RESP3.
    peer.session.resp3 = reply->bytes().starts_with('%');
  }
  records_[number].resp3 = peer.session.resp3;
  queue(peer, *reply);
}

std::optional<ScriptedReply> ScriptedLoop::ask_script(int number, const Command& command) {
  std::vector<Script::Handler> handlers;
  {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(number);
    if (muted_ || found == peers_.end() || found->second.closing) return std::nullopt;
    if (auto refusal = manners_.refusal(found->second.session, command)) return refusal;
    if (auto reply = script_.take_once(command)) return reply;
    handlers = script_.handlers_for(command);
  }
  for (const auto& handler : handlers) {
    if (auto reply = handler(number, command)) return reply;
  }
  return std::nullopt;
}

void ScriptedLoop::queue(Peer& peer, const ScriptedReply& reply) {
  if (reply.bytes().empty() && !reply.closes()) return;
  auto due = Clock::now() + reply.delay();
  if (!peer.pieces.empty()) due = std::max(due, peer.pieces.back().due);
  std::size_t from = 0;
  for (const auto offset : reply.splits()) {
    if (offset <= from || offset >= reply.bytes().size()) continue;
    peer.pieces.push_back({.bytes = reply.bytes().substr(from, offset - from), .due = due});
    from = offset;
    due += reply.gap();
  }
  peer.pieces.push_back({.bytes = reply.bytes().substr(from),
                         .due = due,
                         .closes = reply.closes(),
                         .resets = reply.resets()});
  if (reply.closes()) peer.closing = true;
}

void ScriptedLoop::flush(Peer& peer) {
  peer.blocked = false;
  const auto now = Clock::now();
  while (!peer.hung_up && !peer.pieces.empty() && peer.pieces.front().due <= now) {
    Piece& piece = peer.pieces.front();
    if (!piece.bytes.empty()) {
      const auto sent = ::send(peer.fd, piece.bytes.data(), piece.bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        peer.blocked = errno == EAGAIN;
        peer.hung_up = errno != EAGAIN && errno != EINTR;
        return;
      }
      piece.bytes.erase(0, static_cast<std::size_t>(sent));
      if (!piece.bytes.empty()) {
        peer.blocked = true;
        return;
      }
    }
    if (piece.closes) {
      if (piece.resets) {
        abort_connection(peer.fd);
      } else {
        ::shutdown(peer.fd, SHUT_RDWR);
      }
      peer.hung_up = true;
    }
    peer.pieces.pop_front();
  }
}

void ScriptedLoop::close_finished() {
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    if (!peer->second.hung_up) {
      ++peer;
      continue;
    }
    ::close(peer->second.fd);
    records_[peer->first].open = false;
    peer = peers_.erase(peer);
  }
}

}  // namespace slotwise::kit
