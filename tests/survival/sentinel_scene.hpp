// A primary that sentinels watch, clients that write to it, and what the servers themselves say
// about both.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <slotwise/client.hpp>

#include "kit/sentinel.hpp"
#include "survival/harness.hpp"

namespace slotwise::survival {

/// Writes a key of its own after the other and remembers when each was sent and answered. Deadline
/// 20 s.
///
/// Thread rule: one thread; answered_since() from any.
class SentinelWriter {
 public:
  explicit SentinelWriter(const Client& client);
  ~SentinelWriter();
  SentinelWriter(const SentinelWriter&) = delete;
  SentinelWriter& operator=(const SentinelWriter&) = delete;

  void stop();
  /// A write that was sent after `moment` was answered well.
  bool answered_since(Clock::time_point moment) const;

  // After stop().
  std::size_t failed() const;
  std::string first_failure() const { return failure_; }
  /// When the first write that was sent after `moment` was answered well.
  std::optional<Clock::time_point> first_answer_since(Clock::time_point moment) const;
  /// When those acknowledged writes were answered that this server does not have.
  std::vector<Clock::time_point> missing_at(kit::Server& server) const;

 private:
  void run(const std::stop_token& stop);

  struct Write {
    Clock::time_point sent;
    Clock::time_point ended;
    bool ok = false;
  };
  std::unique_ptr<const Client> client_;
  mutable std::mutex mutex_;
  std::vector<Write> writes_;  // guarded by mutex_ while the thread runs
  std::string failure_;        // likewise
  std::jthread thread_;
};

/// A client that is used by a probe (see ProbeRun) and a writer.
///
/// Thread rule: one thread, and finish() last.
class SentinelScene {
 public:
  /// Returns when writes are under way. `config`: of the client; else what the set's URI says.
  explicit SentinelScene(kit::SentinelSet& set, std::optional<Config> config = std::nullopt);

  const Client& client() const noexcept { return client_; }
  ProbeRun& probe() noexcept { return probe_; }
  SentinelWriter& writer() noexcept { return writer_; }

  /// Until every caller's writes, sent after `moment`, are answered. When that was so.
  Clock::time_point wait_until_all_write(Clock::time_point moment, std::chrono::milliseconds limit);
  /// Ends the writing, reads everything back, prints the figures, and checks what holds of every
  /// scenario: no call failed, no value is wrong.
  cli::ProbeTotals finish(std::string_view scenario, std::string_view more = {});

 private:
  Client client_;
  SentinelWriter writer_;
  ProbeRun probe_;
};

/// Sentinels with their names for the primary.
struct Naming {
  std::size_t primary = 0;  ///< the new one
  Clock::time_point first;  ///< when the first sentinel named it
  Clock::time_point most;   ///< when most of all sentinels did, those that are down included
};

/// Until most sentinels name the same one, which is not `old`.
Naming wait_until_named(const kit::SentinelSet& set, std::size_t old,
                        std::chrono::milliseconds limit);

/// Whom each sentinel named when, for a scenario in which that may change again.
///
/// Thread rule: one thread.
class NamingLog {
 public:
  explicit NamingLog(const kit::SentinelSet& set) : set_(set) {}

  void look();
  /// Most sentinels named this one at some look.
  bool most_named(std::size_t server) const { return most_.contains(server); }
  /// One line for each change: seconds of the clock that MONITOR shows, and the names.
  std::string text() const { return text_; }

 private:
  const kit::SentinelSet& set_;
  std::set<std::size_t> most_;
  std::string last_;
  std::string text_;
};

/// The client's own belief; empty if it has none.
std::string believed_primary(const Client& client);
/// Until the client believes in this one. When that was so.
Clock::time_point wait_until_believed(const Client& client, const std::string& endpoint,
                                      std::chrono::milliseconds limit);

/// What clients have a server execute, in its own words: MONITOR tells each command with the
/// address that it came from. Clients come from 127.0.0.1, replication from the primary's own
/// address; so for servers with addresses of their own.
///
/// Thread rule: one thread.
class ServerWatch {
 public:
  explicit ServerWatch(kit::Server& server);

  struct Seen {
    std::size_t writes = 0;  ///< SET
    std::size_t roles = 0;   ///< ROLE: clients that came and asked
    std::string first{};     ///< the first write
  };
  /// Since the construction, until now or until the server closed the connection: a sentinel that
  /// makes a replica of it does, in the same transaction.
  Seen finish();

 private:
  kit::Server& server_;
  kit::Connection monitor_;
};

/// "master", "slave"; empty if the server does not answer.
std::string role_of(kit::Server& server);

}  // namespace slotwise::survival
