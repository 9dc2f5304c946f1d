#include "kit/proxy_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "kit/sockets.hpp"

namespace slotwise::kit {

namespace {

// Per turn, so that one busy connection does not hold up the others.
constexpr int rounds = 8;
constexpr int sends_in_a_round = 512;
constexpr std::size_t read_size = 32 * 1024;

void no_delay(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// What has come and was not read would make close() send RST, and FIN was asked for.
void read_away(int fd) {
  std::array<char, read_size> nowhere{};
  for (int i = 0; i < 64 && ::recv(fd, nowhere.data(), nowhere.size(), MSG_DONTWAIT) > 0;)
    ++i;
}

}  // namespace

ProxyConnection::ProxyConnection(int client_fd, std::string source, std::size_t buffer,
                                 ProxyCounts& counts)
    : source_(std::move(source)), buffer_(buffer), counts_(counts) {
  client_.fd = client_fd;
  no_delay(client_fd);
  to_server_.count = &counts.bytes_to_server;
  to_client_.count = &counts.bytes_to_client;
}

ProxyConnection::~ProxyConnection() {
  close(Verdict::close);
}

bool ProxyConnection::cut_off() const noexcept {
  return to_server_.faults.swallow && to_client_.faults.swallow;
}

int ProxyConnection::connect(const Address& target) {
  if (verdict_ != Verdict::wait) return -1;
  const auto where = to_socket_address(target);
  server_.fd = ::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  connecting_ = true;
  server_.readable = false;
  server_.writable = false;
  if (server_.fd >= 0) no_delay(server_.fd);
  if (::connect(server_.fd, where.data(), where.size) == 0 || errno == EINPROGRESS) {
    return server_.fd;
  }
  verdict_ = Verdict::reset;
  return -1;
}

void ProxyConnection::set_faults(const StreamFaults& faults, Direction direction) {
  const auto set = [&](Stream& stream) {
    const bool swallowed = std::exchange(stream.faults, faults).swallow;
    if (faults.swallow && !swallowed) start_losing(stream);
    if (!faults.swallow && swallowed && stream.lost) verdict_ = Verdict::reset;
    stream.not_before = {};
  };
  if (direction != Direction::to_client) set(to_server_);
  if (direction != Direction::to_server) set(to_client_);
}

/// What is on its way is lost as well.
void ProxyConnection::start_losing(Stream& stream) {
  counts_.bytes_swallowed += stream.waiting_bytes;
  stream.lost = stream.lost || !stream.waiting.empty() || (stream.ended && !stream.passed_end);
  stream.waiting.clear();
  stream.waiting_bytes = 0;
  stream.offset = 0;
}

void ProxyConnection::cut_after(std::uint64_t bytes, Direction counted, bool reset) {
  left_before_cut_ = bytes;
  cut_how_ = reset ? Verdict::reset : Verdict::cut;
  to_server_.counts_for_cut = counted != Direction::to_client;
  to_client_.counts_for_cut = counted != Direction::to_server;
}

void ProxyConnection::on_event(End end, std::uint32_t events) {
  Side& side = end == End::client ? client_ : server_;
  if (end == End::server && connecting_) {
    int error = 0;
    ::socklen_t size = sizeof error;
    ::getsockopt(side.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) verdict_ = Verdict::reset;
    connecting_ = false;
  }
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) side.readable = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) side.writable = true;
}

ProxyConnection::Verdict ProxyConnection::pump() {
  for (int round = 0; round < rounds; ++round) {
    if (verdict_ != Verdict::wait) return verdict_;
    const auto now = Clock::now();
    const bool moved = step(to_server_, client_, server_, now);
    if (!step(to_client_, server_, client_, now) && !moved) {
      // A direction that swallows never passes its end on.
      const auto over = [](const Stream& stream) {
        return stream.passed_end || (stream.ended && stream.faults.swallow);
      };
      const bool no_server = server_.fd < 0 && cut_off();
      if (over(to_server_) && (over(to_client_) || no_server)) verdict_ = Verdict::close;
      return verdict_;
    }
  }
  return verdict_ == Verdict::wait ? Verdict::again : verdict_;
}

/// Whether anything moved.
bool ProxyConnection::step(Stream& stream, Side& source, Side& sink, Clock::time_point now) {
  const bool filled = fill(stream, source, now);
  return (!stream.faults.swallow && drain(stream, sink, now)) || filled;
}

bool ProxyConnection::fill(Stream& stream, Side& source, Clock::time_point now) {
  if (source.fd < 0 || !source.readable || stream.ended) return false;
  if (stream.waiting_bytes >= buffer_ || verdict_ != Verdict::wait) return false;
  std::array<char, read_size> block;  // NOLINT: filled by recv
  const auto got =
      ::recv(source.fd, block.data(), std::min(block.size(), buffer_ - stream.waiting_bytes), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    source.readable = errno == EINTR;
    return errno == EINTR;
  }
  const bool swallow = stream.faults.swallow;
  if (got > 0 && !swallow) {
    const auto size = static_cast<std::size_t>(got);
    stream.waiting.push_back({std::string(block.data(), size), now});
    stream.waiting_bytes += size;
    return true;
  }
  if (swallow) stream.lost = true;
  if (got > 0) {
    counts_.bytes_swallowed += static_cast<std::uint64_t>(got);
    return true;
  }
  if (got < 0 && !swallow) verdict_ = Verdict::reset;
  stream.ended = true;
  stream.ended_at = now;
  return true;
}

/// How many bytes of the first chunk may leave in one go.
std::size_t ProxyConnection::portion(const Stream& stream) const {
  std::uint64_t most = stream.waiting.front().bytes.size() - stream.offset;
  const auto rate = stream.faults.bytes_per_second;
  if (rate > 0) most = std::min(most, std::max<std::uint64_t>(1, rate / 100));
  if (stream.faults.one_byte) most = 1;
  if (left_before_cut_ && stream.counts_for_cut) most = std::min(most, *left_before_cut_);
  return static_cast<std::size_t>(most);
}

bool ProxyConnection::drain(Stream& stream, Side& sink, Clock::time_point now) {
  bool moved = false;
  for (int i = 0; i < sends_in_a_round && verdict_ == Verdict::wait; ++i) {
    const auto when = due(stream, sink);
    if (!when || *when > now) return moved;
    moved = true;
    if (stream.waiting.empty()) {
      ::shutdown(sink.fd, SHUT_WR);
      stream.passed_end = true;
      return true;
    }
    const auto n = ::send(sink.fd, stream.waiting.front().bytes.data() + stream.offset,
                          portion(stream), MSG_NOSIGNAL);
    if (n >= 0) {
      sent(stream, static_cast<std::size_t>(n), now);
    } else if (errno == EAGAIN) {
      sink.writable = false;
    } else if (errno != EINTR) {
      verdict_ = Verdict::reset;
    }
  }
  return moved;
}

void ProxyConnection::sent(Stream& stream, std::size_t bytes, Clock::time_point now) {
  *stream.count += bytes;
  stream.waiting_bytes -= bytes;
  stream.offset += bytes;
  if (stream.offset == stream.waiting.front().bytes.size()) {
    stream.waiting.pop_front();
    stream.offset = 0;
  }
  if (const auto rate = stream.faults.bytes_per_second; rate > 0) {
    const std::chrono::duration<double> pause(static_cast<double>(bytes) /
                                              static_cast<double>(rate));
    stream.not_before =
        std::max(now, stream.not_before) + std::chrono::duration_cast<Clock::duration>(pause);
  }
  if (!left_before_cut_ || !stream.counts_for_cut) return;
  *left_before_cut_ -= bytes;
  if (*left_before_cut_ == 0) verdict_ = cut_how_;
}

/// When the next bytes of the stream, or its end, may leave; nothing if that is up to others.
std::optional<ProxyConnection::Clock::time_point> ProxyConnection::due(const Stream& stream,
                                                                       const Side& sink) const {
  if (sink.fd < 0 || !sink.writable || stream.faults.swallow || stream.passed_end) {
    return std::nullopt;
  }
  if (stream.waiting.empty() && !stream.ended) return std::nullopt;
  const auto came = stream.waiting.empty() ? stream.ended_at : stream.waiting.front().came;
  return std::max(came + stream.faults.delay, stream.not_before);
}

std::optional<ProxyConnection::Clock::time_point> ProxyConnection::next_due() const {
  const auto a = due(to_server_, server_);
  const auto b = due(to_client_, client_);
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

void ProxyConnection::close(Verdict how) {
  for (Side* side : {&client_, &server_}) {
    if (side->fd < 0) continue;
    if (how == Verdict::reset) abort_connection(side->fd);
    if (how == Verdict::cut) {
      ::shutdown(side->fd, SHUT_WR);
      read_away(side->fd);
    }
    ::close(side->fd);
    side->fd = -1;
  }
}

}  // namespace slotwise::kit
