// The sockets and the thread of a scripted node. Not for tests: see ScriptedNode.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kit/ports.hpp"
#include "kit/script.hpp"
#include "kit/scripted_manners.hpp"
#include "kit/scripted_node.hpp"
#include "kit/sockets.hpp"

struct pollfd;

namespace slotwise::kit {

/// One thread accepts, reads, asks the script, and sends when it is time.
///
/// Invariants:
/// 1. All members are guarded by mutex_, except those fixed at construction. A handler of the
///    script runs without it.
/// 2. Descriptors are opened by anybody and closed by the loop's thread only, under mutex_. Other
///    threads shut them down, which peers notice at once: so stop_listening() and close_all() have
///    taken effect when they return.
/// 3. Bytes of one connection leave in the order in which they were queued.
class ScriptedLoop {
 public:
  explicit ScriptedLoop(ScriptedNodeOptions options);
  ~ScriptedLoop();
  ScriptedLoop(const ScriptedLoop&) = delete;
  ScriptedLoop& operator=(const ScriptedLoop&) = delete;

  void stop_listening();
  void listen_again();
  void send(int connection, const std::string& bytes);
  void close(int connection, bool reset);
  void reset_counts();

  std::string host;                  // fixed at construction
  std::uint16_t port = 0;            // fixed at construction
  std::string id;                    // fixed at construction
  std::shared_ptr<ScriptedMap> map;  // fixed at construction

  mutable std::mutex mutex_;
  Script script_;
  ScriptedManners manners_;
  bool muted_ = false;
  std::size_t accepts_ = 0;
  std::vector<ReceivedCommand> commands_;
  std::map<int, ConnectionRecord> records_;  // by number

 private:
  using Clock = std::chrono::steady_clock;

  /// Bytes that leave not before their time.
  struct Piece {
    std::string bytes;
    Clock::time_point due;
    bool closes = false;
    bool resets = false;
  };
  struct Peer {
    int fd = -1;
    ScriptedSession session;
    CommandParser parser;
    std::deque<Piece> pieces;
    bool hung_up = false;  // by close() or by the other side: to be closed by the loop
    bool closing = false;  // a piece that closes is queued: nothing is answered after it
    bool blocked = false;  // the socket took less than we had: wait for POLLOUT
  };

  int open_listener() const;
  void run();
  int prepare_poll(std::vector<pollfd>& fds, std::vector<int>& numbers);
  void accept_all();
  void read_from(int number);
  void answer(int number, const Command& command);
  std::optional<ScriptedReply> ask_script(int number, const Command& command);
  static void queue(Peer& peer, const ScriptedReply& reply);
  void flush(Peer& peer);
  void close_finished();

  Port own_port_;
  WakeUp wake_;
  int listen_fd_ = -1;
  bool retired_listener_ = false;  // listen_fd_ was shut down: the loop closes it
  bool stopping_ = false;
  std::map<int, Peer> peers_;  // by number
  int last_number_ = 0;
  std::thread thread_;
};

}  // namespace slotwise::kit
