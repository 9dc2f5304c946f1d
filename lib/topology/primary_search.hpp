// WHO is the primary, by the word of its sentinels: whom to ask, when, and what to believe. Events
// in, decisions out; no clock, no socket.
//
// Thread rule: one control thread.
//
// How it is driven
//   trigger(), settled(), reported() whenever something happened, and after each of them, and at
//   Step::wake: poll(now). When poll() says so, every one of sentinels() is asked, and after each
//   reported() those that are new and marked `asked`. Each comes back with reported(), also when
//   it ran into its timeout.
//
// Rules
//  1. All sentinels are asked together, also those learned during the round. A round ends when
//     all have come back, or as soon as a majority names one server at the highest epoch heard of.
//  2. Among the answers the highest config epoch wins.
//  3. While a majority of the sentinels can be reached, a server that most of those who answer do
//     not name is not believed, whatever its epoch. (Named by half of them it is, by rule 2.) A
//     minority is believed once no majority has answered for three rounds in a row.
//  4. A server of an older epoch than the believed one is not believed, unless every known
//     sentinel names it: then somebody told them so.
//  5. What rules 2 to 4 keep out is believed once most sentinels have named it, and nothing else,
//     for `insistence` without a break: they were set up anew, or one of them is wrong. It then
//     stays so until they name another.
//  6. While no primary is in use rounds follow one another, a few a second; else at every trigger
//     and every check_interval.
//  7. Sentinels that others name are added. One is counted once, by its id, under however many
//     addresses it is known. Those that the configuration names are kept for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include "base/random.hpp"
#include "topology/sentinel_reply.hpp"

namespace slotwise::topology {

struct PrimarySearchSettings {
  using milliseconds = std::chrono::milliseconds;
  std::string name;                      ///< the primary's, at the sentinels
  milliseconds check_interval{10'000};   ///< +-20 %; 0: none
  milliseconds pause{200};               ///< between rounds while no primary is in use
  milliseconds pause_unreachable{1000};  ///< the same, at most, while no sentinel answers
  milliseconds trigger_pause{100};       ///< between rounds that triggers ask for
  milliseconds insistence{10'000};       ///< rule 5

  static PrimarySearchSettings from(const Config& config);
};

using SentinelHandle = std::uint32_t;

class PrimarySearch {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct Sentinel {
    SentinelHandle handle = 0;
    Endpoint endpoint;
    std::string id;     ///< empty: not known
    bool seed = false;  ///< named by the configuration
    // Of the round:
    bool asked = false;  ///< and has not come back
    std::optional<SentinelReport> report;
    // Of all rounds:
    std::optional<Endpoint> named;  ///< by its last answer, with
    std::uint64_t epoch = 0;        ///< this epoch
    int failures = 0;               ///< in a row
  };

  struct Step {
    bool ask = false;  ///< all sentinels(), now
    time_point wake = time_point::max();
  };

  /// What a round came to.
  struct Conclusion {
    std::optional<Endpoint> primary;  ///< absent: see error
    std::uint64_t config_epoch = 0;
    std::vector<KnownReplica> replicas;  ///< as the sentinel says that named it first
    std::optional<Error> error;          ///< no primary can be believed
    bool leave = false;                  ///< nor the one believed before
    bool hopeless = false;               ///< asking again will not help
    std::uint64_t round = 0;
  };

  PrimarySearch(PrimarySearchSettings settings, const std::vector<Endpoint>& seeds,
                base::Random random);

  /// In the order of the last answers: whoever answered first comes first.
  const std::vector<Sentinel>& sentinels() const noexcept { return sentinels_; }

  /// A reason to look: an event, a lost connection, READONLY.
  void trigger() noexcept { triggered_ = true; }
  /// A primary is in use, or is not any more.
  void settled(bool yes, time_point now);
  /// While nobody tells of changes by himself, a second is the longest check interval.
  void hears_events(bool yes) noexcept { hears_events_ = yes; }

  /// `handle` came back. The conclusion of the round if this brought it.
  std::optional<Conclusion> reported(SentinelHandle handle, SentinelReport report, time_point now);
  Step poll(time_point now);

  std::uint64_t next_round() const noexcept { return round_ + 1; }
  bool round_open() const noexcept { return open_; }

 private:
  struct Candidate {
    Endpoint endpoint;
    std::uint64_t epoch = 0;
    int votes = 0;
    const SentinelReport* report = nullptr;  // the first that names it
  };
  struct Count {
    std::vector<Candidate> candidates;  // best first
    int answered = 0;                   // sentinels that name somebody
    int total = 1;                      // sentinels that there are, as they say themselves
    int known = 0;                      // sentinels that are known here
    bool pending = false;
  };

  Sentinel* find(SentinelHandle handle) noexcept;
  bool is_known(const KnownSentinel& other) const;
  void learn(const SentinelReport& report);
  void drop_doubles(const Sentinel& known);
  void drop_the_gone();
  Count count() const;
  bool insists(const Candidate* most, time_point now);
  bool may_lead(const Count& votes) const;
  bool minority_may_decide(const Candidate& best) const;
  std::optional<Conclusion> weigh(time_point now);
  Conclusion believe(const Candidate& candidate);
  Conclusion doubt(const Count& count, const Candidate* most) const;
  Conclusion overtaken(const SentinelReport& late);
  Conclusion nobody() const;
  bool note(Sentinel& sentinel, const SentinelReport& report);
  void close_round(bool answered);
  std::chrono::microseconds pause();

  PrimarySearchSettings settings_;
  base::Random random_;
  std::vector<Sentinel> sentinels_;
  SentinelHandle next_handle_ = 1;

  bool triggered_ = true;  // the first round needs no trigger
  bool settled_ = false;
  bool hears_events_ = false;
  bool open_ = false;
  std::uint64_t round_ = 0;
  int unanswered_rounds_ = 0;
  int minority_rounds_ = 0;  // in a row: no majority of the sentinels answered
  std::optional<time_point> last_round_;
  std::optional<time_point> next_check_;
  time_point not_before_ = time_point::min();

  std::optional<Endpoint> believed_;
  std::uint64_t believed_epoch_ = 0;
  std::optional<Endpoint> contender_;  // rule 5
  time_point contender_since_{};
};

}  // namespace slotwise::topology
