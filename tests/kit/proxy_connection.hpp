// One connection through a fault proxy: two sockets, and the bytes between them. Not for tests: see
// FaultProxy.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "kit/fault_proxy.hpp"

namespace slotwise::kit {

/// Its sockets are in an epoll set with edges (EPOLLET): it remembers what they can do, and stops
/// reading by not reading.
///
/// Thread rule: under the mutex of its proxy.
class ProxyConnection {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Verdict : std::uint8_t {
    wait,   ///< for an event, or for next_due()
    again,  ///< there is more to do: pump again after the others
    close,  ///< both ends of stream were passed on
    cut,
    reset,
  };
  enum class End : std::uint8_t { client, server };

  ProxyConnection(int client_fd, std::string source, std::size_t buffer, ProxyCounts& counts);
  ~ProxyConnection();  ///< closes what close() has not
  ProxyConnection(const ProxyConnection&) = delete;
  ProxyConnection& operator=(const ProxyConnection&) = delete;

  int fd(End end) const noexcept { return end == End::client ? client_.fd : server_.fd; }
  /// The client's IP address.
  const std::string& source() const noexcept { return source_; }
  /// Both directions are swallowed: whether there is a server cannot be noticed.
  bool cut_off() const noexcept;
  /// Begins to connect; -1 if that has failed already, or if the connection ends anyway.
  int connect(const Address& target);

  void set_faults(const StreamFaults& faults, Direction direction);
  /// Ends the connection after this many bytes.
  void cut_after(std::uint64_t bytes, Direction counted, bool reset);

  void on_event(End end, std::uint32_t events);
  /// Moves what can be moved now.
  Verdict pump();
  /// When there is something to do by the clock alone.
  std::optional<Clock::time_point> next_due() const;
  /// Closes both sockets: `cut` by FIN, `reset` by RST.
  void close(Verdict how);

 private:
  struct Side {
    int fd = -1;
    bool readable = true;  // as far as we know: until EAGAIN
    bool writable = true;
  };
  struct Chunk {
    std::string bytes;
    Clock::time_point came;
  };
  struct Stream {
    StreamFaults faults;
    std::deque<Chunk> waiting;
    std::size_t waiting_bytes = 0;
    std::size_t offset = 0;   // of waiting.front(): sent already
    bool ended = false;       // the source has said all
    bool passed_end = false;  // and the sink knows
    bool lost = false;        // something was swallowed
    Clock::time_point ended_at;
    Clock::time_point not_before;    // by bytes_per_second
    std::uint64_t* count = nullptr;  // in counts_
    bool counts_for_cut = false;
  };

  bool step(Stream& stream, Side& source, Side& sink, Clock::time_point now);
  bool fill(Stream& stream, Side& source, Clock::time_point now);
  bool drain(Stream& stream, Side& sink, Clock::time_point now);
  std::size_t portion(const Stream& stream) const;
  void sent(Stream& stream, std::size_t bytes, Clock::time_point now);
  void start_losing(Stream& stream);
  std::optional<Clock::time_point> due(const Stream& stream, const Side& sink) const;

  std::string source_;
  std::size_t buffer_;
  ProxyCounts& counts_;
  Side client_;
  Side server_;
  bool connecting_ = false;
  Stream to_server_;
  Stream to_client_;
  std::optional<std::uint64_t> left_before_cut_;
  Verdict cut_how_ = Verdict::cut;
  Verdict verdict_ = Verdict::wait;  // once it is close, cut or reset it stays
};

}  // namespace slotwise::kit
