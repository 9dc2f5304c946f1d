// WHEN the topology is asked for, and WHOM. Events in, decisions out; no clock, no socket.
//
// Thread rule: one control thread.
//
// How it is driven
//   trigger(), finished(), set_nodes(), node_failed() ... whenever something happened, and after
//   each of them, and at RefreshDecision::wake: poll(now). What poll() says to ask counts as asked;
//   every one of them must come back with finished(), also when it ran into its timeout.
//
// Invariants
//  1. One round at a time. A round asks one node (two while nothing is known or the last round
//     failed), one more whenever hedge_delay passes without an answer or one fails, three at most
//     (before the first view: six). The first full answer ends it; late ones are still welcome.
//  2. Rounds start at least `pace` apart. pace is min_interval after a quiet time and doubles up to
//     max_interval while triggers go on. It does not depend on the number of callers.
//  3. A trigger during a round is not lost: one more round follows.
//  4. Failed rounds are repeated for ever with backoff up to max_interval; each of them asks a
//     seed too.
//  5. After the first full view up to verify_nodes other nodes are asked once, beside everything
//     else.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <slotwise/config.hpp>

#include "base/random.hpp"
#include "topology/topology_map.hpp"

namespace slotwise::topology {

struct RefreshSettings {
  using milliseconds = std::chrono::milliseconds;
  milliseconds interval{60'000};        ///< periodic, +-20 %; 0: never
  milliseconds min_interval{200};       ///< between the starts of two rounds
  milliseconds max_interval{700};       ///< the same while triggers or failures go on
  milliseconds hedge_delay{250};        ///< then the next node is asked too
  milliseconds failure_memory{10'000};  ///< how long a failed node is asked last
  int verify_nodes = 3;

  static RefreshSettings from(const Config& config);
};

enum class RefreshReason : std::uint8_t {
  start,
  periodic,
  verify,        ///< background check of the first view
  moved,         ///< a redirect showed that the map is old
  uncovered,     ///< a call needs a slot that nobody owns
  cluster_down,  ///< -CLUSTERDOWN
  read_only,     ///< -READONLY, or a demotion
  node_lost,     ///< connect failed, connection lost, or silence
  wrong_node,    ///< another id answered
  retry,         ///< the last round failed
  user,          ///< asked for by the application
};

/// Whom to ask: a node of the map, or a seed (then node is no_node).
struct RefreshTarget {
  NodeHandle node = no_node;
  Endpoint endpoint;

  bool is_seed() const noexcept { return node == no_node; }
  friend bool operator==(const RefreshTarget&, const RefreshTarget&) = default;
};

enum class RefreshOutcome : std::uint8_t {
  changed,    ///< a full view that changed the map
  unchanged,  ///< a full view that did not, or was older
  partial,    ///< a view with gaps: another node is asked
  failed,     ///< no view: unreachable, error, empty, malformed
};

struct RefreshDecision {
  using time_point = std::chrono::steady_clock::time_point;
  std::vector<RefreshTarget> ask;  ///< now, all of them at once; empty: nobody
  RefreshReason reason = RefreshReason::periodic;
  time_point wake = time_point::max();  ///< poll again then, if nothing happens before
};

class RefreshPolicy {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct Node {
    NodeHandle handle = no_node;
    Endpoint endpoint;
    bool connected = false;  ///< asked before others: costs no new connection
  };

  RefreshPolicy(RefreshSettings settings, std::vector<Endpoint> seeds, base::Random random);

  /// The nodes of the map, after every change of it. What is known about failures is kept.
  void set_nodes(std::vector<Node> nodes);
  void set_connected(NodeHandle node, bool connected);
  /// The node is known to be unreachable or silent: ask it last for a while.
  void node_failed(NodeHandle node, time_point now);

  /// Something showed that the map may be old. `preferred` is asked first, e.g. the node that a
  /// MOVED named.
  void trigger(RefreshReason reason, time_point now,
               std::optional<RefreshTarget> preferred = std::nullopt);

  /// `answered` is the node of the map that answered, if that is known: of use when a seed was
  /// asked, so that the node behind it is not asked again to verify the first view.
  void finished(const RefreshTarget& target, RefreshOutcome outcome, time_point now,
                NodeHandle answered = no_node);

  RefreshDecision poll(time_point now);

  /// Up to `count` targets in the order in which they would be asked.
  std::vector<RefreshTarget> candidates(std::size_t count, time_point now);

  bool round_open() const noexcept { return round_open_; }
  std::size_t in_flight() const noexcept { return in_flight_.size(); }
  bool has_view() const noexcept { return has_view_; }

 private:
  struct Flight {
    RefreshTarget target;
    std::uint64_t round = 0;
    bool verify = false;
  };

  void open_round(RefreshDecision& decision, time_point now);
  void go_on(RefreshDecision& decision, time_point now);
  bool ask_next(RefreshDecision& decision, time_point now, bool seed_wanted);
  void ask_to_verify(RefreshDecision& decision, time_point now);
  void end_if_exhausted(time_point now);
  void close_round(bool success, time_point now);
  void got_view(NodeHandle answered, time_point now);

  std::vector<RefreshTarget> ranked(time_point now);
  bool failed_lately(const Endpoint& endpoint, time_point now) const;
  void forget_old_failures(time_point now);
  time_point next_round() const noexcept;
  bool asked_already(const RefreshTarget& target) const;
  std::size_t outstanding() const noexcept;
  std::size_t round_limit() const noexcept;

  RefreshSettings settings_;
  std::vector<Endpoint> seeds_;
  std::vector<Node> nodes_;
  base::Random random_;
  std::unordered_map<std::string, time_point> failures_;  // endpoint_key -> last failure

  bool has_view_ = false;
  bool verified_ = false;
  NodeHandle first_answer_ = no_node;  // needs no verification by itself

  bool pending_ = true;  // the very first round needs no trigger
  RefreshReason reason_ = RefreshReason::start;
  std::optional<RefreshTarget> preferred_;

  std::uint64_t round_ = 0;
  bool round_open_ = false;
  bool round_partial_ = false;
  int replacements_ = 0;              // answers that did not help: so many more to ask
  std::vector<RefreshTarget> tried_;  // in this round
  std::vector<Flight> in_flight_;     // verifications and late answers of older rounds too
  time_point last_ask_{};

  std::chrono::microseconds pace_{0};
  std::optional<time_point> last_round_;
  time_point not_before_ = time_point::min();
  std::optional<time_point> next_periodic_;
  int failed_rounds_ = 0;
};

}  // namespace slotwise::topology
