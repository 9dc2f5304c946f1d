// Connections that a caller of the synchronous face uses in place: it writes, reads and parses on
// its own thread, so that a lone caller pays two system calls and no thread switch.
//
// Thread rule: acquire(), exchange() and release() from any thread; all else on the loop's thread.
//
// Invariants
//  1. A connection is used by at most one caller at a time: it lies in its slot of the pool (idle),
//     or it was taken out of it by whoever uses it.
//  2. Only the loop's thread destroys connections. A doomed one that is in use is destroyed when
//     its user has given it back; shutdown wakes that user.
//  3. A connection on which anything unusual was seen (an error of I/O, bytes nobody asked for) is
//     never used again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>

#include "link/call.hpp"
#include "link/link.hpp"
#include "net/loop.hpp"
#include "observe/counters.hpp"

namespace slotwise::link {

class DirectPool;

/// What became of one exchange.
struct Exchange {
  enum class Status : std::uint8_t {
    reply,    ///< a reply was read; it may be an error reply
    failed,   ///< no reply: `error` says why and whether bytes left
    expired,  ///< the call's deadline passed; `error` as above
  };
  Status status = Status::reply;
  std::optional<Error> error;
};

class DirectConnection final : private net::Watcher, private net::Task {
 public:
  DirectConnection(DirectPool& pool, std::size_t slot, Established established);
  ~DirectConnection();

  /// Sends one command and reads its reply, on the calling thread, between acquire and release.
  /// `reply` is valid until the connection is given back.
  /// `careful`: the command must not be lost, so the connection is looked at first unless it was
  /// used a moment ago.
  Exchange exchange(std::string_view bytes, bool careful, TimePoint now, TimePoint deadline,
                    milliseconds silence_limit, ReplyView& reply);

  // The two halves of it, for several commands at once: all are sent, then each reply is received.
  /// `sent`: bytes that may have left, also if it fails.
  std::optional<Error> send(std::string_view bytes, bool careful, TimePoint now, TimePoint deadline,
                            milliseconds silence_limit, std::size_t& sent);
  /// `last`: no further reply is owed; a connection that still owes one is not used again. `reply`
  /// is valid until the next one is received.
  Exchange receive(TimePoint deadline, milliseconds silence_limit, bool last, ReplyView& reply);

  /// That many replies of receive() were the end of their calls.
  void count_successes(std::uint64_t n) noexcept { successes_.add(n); }

  std::uint64_t replies() const noexcept { return replies_.read(); }
  /// Those that were no errors.
  std::uint64_t successes() const noexcept { return successes_.read(); }

 private:
  friend class DirectPool;

  void on_events(std::uint32_t events) override;
  resp::Status next_reply(bool last, ReplyView& reply);
  bool went_bad_while_idle(bool careful, TimePoint now);
  void note_reply(bool last) noexcept;
  Error not_written(const net::io_result& put);
  Exchange not_read(const net::io_result& got, TimePoint deadline);
  bool still_good();
  bool only_pushes_left();
  Error broken(std::string why, bool sent);

  DirectPool& pool_;
  const std::size_t slot_;
  net::Stream stream_;
  std::unique_ptr<resp::Parser> parser_;
  Reply whole_;  // the last reply that had members, or was large
  TimePoint last_used_{};
  bool usable_ = true;        // of the current user
  bool owes_ = false;         // a reply: something was written, and the last one has not come
  observe::Counter replies_;  // written by the user of the moment
  observe::Counter successes_;
};

class DirectPool {
 public:
  static constexpr std::size_t max_size = 16;

  DirectPool(net::Loop& loop, std::size_t size) : loop_(loop), size_(size) {}
  ~DirectPool();

  // --- any thread ---
  /// An idle connection, or null.
  DirectConnection* acquire() noexcept;
  /// Gives it back. Afterwards the caller must not touch it.
  void release(DirectConnection& connection) noexcept;

  /// There may be one more connection.
  bool has_room() const noexcept { return count_.load(std::memory_order_relaxed) < size_; }

  // --- loop thread ---
  void add(Established established);
  /// No connection of before is used for another call. `cut` also ends the exchanges under way.
  void doom_all(bool cut) noexcept;
  bool empty() const noexcept { return connections_.empty(); }
  std::size_t size() const noexcept { return connections_.size(); }
  std::uint64_t replies() const noexcept;
  std::uint64_t successes() const noexcept;

 private:
  friend class DirectConnection;
  void doom(DirectConnection& connection, bool cut) noexcept;
  void destroy(DirectConnection& connection) noexcept;

  net::Loop& loop_;
  const std::size_t size_;
  std::array<std::atomic<DirectConnection*>, max_size> idle_{};
  /// Here and not in the connection: whoever put it back into its slot must not touch it again.
  std::array<std::atomic<bool>, max_size> doomed_{};
  std::vector<std::unique_ptr<DirectConnection>> connections_;  // loop thread
  std::atomic<std::size_t> count_{0};                           // its size
  std::uint64_t replies_of_closed_ = 0;
  std::uint64_t successes_of_closed_ = 0;
};

}  // namespace slotwise::link
