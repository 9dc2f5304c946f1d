#include "routing/sentinel_keeper.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <slotwise/slot.hpp>

#include "base/endpoint.hpp"
#include "base/random.hpp"

namespace slotwise::routing {

using topology::PrimarySearch;
using topology::RefreshReason;
using topology::SentinelEvent;
using topology::SentinelReport;

namespace {

// What the sentinels said longer ago is asked once more when a connection has become ready only
// now: a server that was stopped accepts connections and answers when it goes on.
constexpr milliseconds confirmation(250);
// A promotion takes up to a second until the leader of the failover has seen it.
constexpr milliseconds longest_hold(3000);

Error not_asked_yet() {
  return Error(ErrorCode::no_primary, Outcome::not_sent,
               "the sentinels have not said yet who the primary is");
}

}  // namespace

SentinelKeeper::SentinelKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
                               KeeperEvents& events)
    : around_(surroundings),
      nodes_(nodes),
      table_(table),
      events_(events),
      search_(topology::PrimarySearchSettings::from(surroundings.config),
              surroundings.config.endpoints, base::Random(base::random_seed())) {
  match_peers();
}

SentinelKeeper::~SentinelKeeper() = default;

void SentinelKeeper::stop() {
  stopped_ = true;
  around_.loop.cancel(timer_);
  for (auto& peer : peers_)
    peer->close();
}

// --- asking ----------------------------------------------------------------------------------

/// Not inside a report: peers may be freed.
void SentinelKeeper::soon() {
  if (!stopped_) around_.loop.arm(timer_, around_.loop.now());
}

void SentinelKeeper::step() {
  left_.clear();
  if (stopped_) return;
  const PrimarySearch::Step step = search_.poll(around_.loop.now());
  if (step.ask) {
    asked_at_ = around_.loop.now();
    switched_since_asked_ = false;
    around_.observer.counters.refreshes.add();
    if (around_.observer.listening()) {
      around_.observer.tell(Event::Kind::refresh_started, {},
                            std::to_string(peers_.size()) + " sentinels are asked");
    }
    for (std::size_t i = 0; i < peers_.size(); ++i)
      peers_[i]->ask();
  }
  if (step.wake != TimePoint::max()) around_.loop.arm(timer_, step.wake);
}

void SentinelKeeper::match_peers() {
  const auto& wanted = search_.sentinels();
  const auto is_of = [](topology::SentinelHandle handle) {
    return [handle](const auto& peer) { return peer->handle() == handle; };
  };
  for (auto it = peers_.begin(); it != peers_.end();) {
    const bool stays = std::any_of(wanted.begin(), wanted.end(), [&](const auto& sentinel) {
      return sentinel.handle == (*it)->handle();
    });
    if (stays) {
      ++it;
      continue;
    }
    (*it)->close();
    left_.push_back(std::move(*it));
    it = peers_.erase(it);
  }
  for (const PrimarySearch::Sentinel& sentinel : wanted) {
    if (std::any_of(peers_.begin(), peers_.end(), is_of(sentinel.handle))) continue;
    peers_.push_back(std::make_unique<SentinelPeer>(
        around_, static_cast<SentinelPeerEvents&>(*this), sentinel.handle, sentinel.endpoint));
    if (sentinel.asked) peers_.back()->ask();
  }
}

void SentinelKeeper::on_report(SentinelPeer& peer, SentinelReport&& report) {
  if (stopped_) return;
  if (report.kind == SentinelReport::Kind::failed && around_.observer.listening()) {
    around_.observer.tell(Event::Kind::refresh_failed, peer.name(),
                          std::string(report.error->message()));
  }
  const auto conclusion = search_.reported(peer.handle(), std::move(report), around_.loop.now());
  match_peers();
  if (conclusion) conclude(*conclusion);
  soon();
}

void SentinelKeeper::on_event(SentinelPeer& /*peer*/, SentinelEvent event) {
  if (event == SentinelEvent::handing_over) hold();
  if (event == SentinelEvent::aborted) held_until_ = {};
  // An answer of before, in the round that is open, may name the primary of before.
  if (event == SentinelEvent::switched) switched_since_asked_ = true;
  // A hint, never proof: whatever it says, the sentinels are asked.
  search_.trigger();
  soon();
}

/// Nothing more is sent to the primary of now, but what was sent may be answered and replicated.
void SentinelKeeper::hold() {
  if (primary_ == nullptr) return;
  held_until_ = around_.loop.now() + longest_hold;
  problem_ = Error(ErrorCode::no_primary, Outcome::not_sent,
                   "a failover from " + primary_->name() + " to one of its replicas is under way");
  events_.on_node_changed(*primary_);
  withdraw();
}

void SentinelKeeper::on_hearing(SentinelPeer& /*peer*/, bool hears) {
  search_.hears_events(
      std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->hears(); }));
  // What happened meanwhile nobody told.
  if (!hears) search_.trigger();
  soon();
}

void SentinelKeeper::trigger(RefreshReason reason) {
  if (reason == RefreshReason::uncovered) return;  // it is being looked for already
  search_.trigger();
  soon();
}

// --- believing -------------------------------------------------------------------------------

void SentinelKeeper::conclude(const PrimarySearch::Conclusion& conclusion) {
  if (!conclusion.primary) {
    if (conclusion.leave) leave(*conclusion.error);
    if (!published_) problem(*conclusion.error, conclusion.hopeless);
    return;
  }
  confirmed_at_ = asked_at_;
  config_epoch_ = conclusion.config_epoch;
  follow(*conclusion.primary);
  take_replicas(conclusion.replicas);
  events_.on_view(conclusion.round);
}

void SentinelKeeper::follow(const Endpoint& endpoint) {
  Node& node = nodes_.at(endpoint, false);
  if (&node != primary_) {
    leave(Error(ErrorCode::connection_lost, Outcome::unknown,
                "the sentinels name another primary now: " + endpoint.to_string()));
    primary_ = &node;
    held_until_ = {};
    problem_ =
        Error(ErrorCode::connect_failed, Outcome::not_sent,
              "the primary " + node.name() + ", as the sentinels say, is being connected to");
    // Whatever is open to it did not have to say that it is the primary.
    node.close_all(Error(ErrorCode::connection_lost, Outcome::unknown,
                         "the server has become the primary: connections are made anew"));
    NodeIdentity identity;
    identity.endpoint = endpoint;
    node.update(std::move(identity));
  }
  if (node.connected()) return publish();
  node.reset_backoff();  // rounds have a pace of their own
  node.connect();
}

/// Nothing goes to the primary of before any more.
void SentinelKeeper::leave(const Error& why) {
  if (primary_ == nullptr) return;
  Node& old = *std::exchange(primary_, nullptr);
  withdraw();
  events_.on_node_changed(old);
  NodeIdentity identity = old.identity();
  identity.primary = false;
  old.update(std::move(identity));
  old.close_all(why);
  old.retire();  // until it is named as a replica
}

void SentinelKeeper::take_replicas(const std::vector<topology::KnownReplica>& known) {
  std::vector<Node*> now;
  shard_.nodes.assign(1, nullptr);
  for (const topology::KnownReplica& replica : known) {
    Node& node = nodes_.at(replica.endpoint, false);
    if (&node == primary_) continue;  // promoted a moment ago
    now.push_back(&node);
    if (!replica.usable) continue;
    shard_.nodes.push_back(&node);
    if (around_.config.read_from != ReadFrom::primary) node.prepare_reader();
  }
  for (Node* node : std::exchange(replicas_, now)) {
    const bool stays = std::find(now.begin(), now.end(), node) != now.end();
    if (!stays && node != primary_) node->retire();
  }
}

/// Invariant 1. If it does not hold the next round will tell.
bool SentinelKeeper::confirmed() const noexcept {
  return !switched_since_asked_ && ready_at_ - confirmed_at_ <= confirmation;
}

void SentinelKeeper::publish() {
  if (published_ || !confirmed() || around_.loop.now() < held_until_) return;
  published_ = usable_ = true;
  problem_.reset();
  table_.set_all(primary_);
  search_.settled(true, around_.loop.now());
  if (primary_ != last_ && around_.observer.listening()) {
    around_.observer.tell(Event::Kind::topology_changed, {},
                          primary_->name() + " is the primary of " + around_.config.sentinel_name);
    if (last_ != nullptr) {
      around_.observer.tell(Event::Kind::primary_changed, primary_->name(),
                            "in place of " + last_->name());
    }
  }
  last_ = primary_;
  events_.on_map_changed();
}

void SentinelKeeper::withdraw() {
  if (!std::exchange(published_, false)) return;
  table_.set_all(nullptr);
  search_.settled(false, around_.loop.now());
}

void SentinelKeeper::problem(const Error& error, bool hopeless) {
  problem_ = error;
  if (!usable_) events_.on_start_problem(error, hopeless);
}

// --- what nodes report -----------------------------------------------------------------------

void SentinelKeeper::node_up(Node& node) {
  if (&node != primary_ || published_ || !node.connected()) return;
  ready_at_ = around_.loop.now();
  publish();
  if (!published_) trigger(RefreshReason::node_lost);
}

void SentinelKeeper::node_down(Node& node, const Error& error) {
  if (&node != primary_ || stopped_ || node.connected()) return;
  withdraw();
  const ErrorCode code =
      error.code() == ErrorCode::connection_lost ? ErrorCode::connect_failed : error.code();
  const bool hopeless = code == ErrorCode::auth_failed || code == ErrorCode::invalid_argument;
  problem(Error(code, Outcome::not_sent,
                "the primary " + node.name() +
                    ", as the sentinels say, cannot be used: " + std::string(error.message()))
              .with_node(node.name())
              .with_server_text(std::string(error.server_text())),
          hopeless);
  trigger(RefreshReason::node_lost);
}

void SentinelKeeper::node_failed(Node& node, RefreshReason reason) {
  if (&node == primary_) trigger(reason);
}

Node& SentinelKeeper::moved(std::uint16_t /*slot*/, const Endpoint& endpoint) {
  // Nobody but the sentinels says who the primary is.
  trigger(RefreshReason::moved);
  return at(endpoint);
}

// --- reading ---------------------------------------------------------------------------------

Error SentinelKeeper::why_nobody(bool /*has_slot*/, std::uint16_t /*slot*/) const {
  return problem_.value_or(not_asked_yet());
}

ShardNodes* SentinelKeeper::shard_of(std::uint16_t /*slot*/) noexcept {
  if (shard_.nodes.empty()) return nullptr;
  shard_.nodes.front() = published_ ? primary_ : nullptr;
  return &shard_;
}

std::vector<Node*> SentinelKeeper::replicas() const {
  if (shard_.nodes.empty()) return {};
  return {shard_.nodes.begin() + 1, shard_.nodes.end()};
}

TopologyInfo SentinelKeeper::info() const {
  TopologyInfo info;
  info.mode = Mode::sentinel;
  if (primary_ != nullptr) {
    TopologyInfo::Node node;
    node.endpoint = primary_->name();
    node.healthy = published_;
    node.config_epoch = config_epoch_;
    node.slots.push_back({0, slot_count - 1});
    info.nodes.push_back(std::move(node));
  }
  for (const Node* replica : replicas_) {
    TopologyInfo::Node node;
    node.endpoint = replica->name();
    node.primary = false;
    node.healthy =
        std::find(shard_.nodes.begin(), shard_.nodes.end(), replica) != shard_.nodes.end();
    info.nodes.push_back(std::move(node));
  }
  info.covered_slots = published_ ? slot_count : 0;
  return info;
}

}  // namespace slotwise::routing
