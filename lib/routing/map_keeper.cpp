#include "routing/map_keeper.hpp"

#include <algorithm>
#include <utility>

#include "base/endpoint.hpp"
#include "base/random.hpp"

namespace slotwise::routing {
namespace {

constexpr std::string_view slots_command = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
constexpr std::string_view nodes_command = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nNODES\r\n";

/// An error reply is an answer too: the parser says what it means.
Reply as_reply(Result<Reply>&& result) {
  if (result) return std::move(*result);
  const std::string_view text = result.error().server_text();
  return Reply::make_text(Reply::Type::error,
                          std::string(text.empty() ? result.error().message() : text));
}

/// Until it is settled, later tries may bring another answer.
bool is_hopeless(const Error& e) {
  return e.code() == ErrorCode::auth_failed || e.code() == ErrorCode::invalid_argument ||
         e.code() == ErrorCode::not_a_cluster;
}

}  // namespace

/// One node is asked for its view: CLUSTER SLOTS is the map, CLUSTER NODES adds the config epochs.
/// Both go out in one write.
struct MapKeeper::Question {
  struct Part : Request {
    Question* question = nullptr;
    std::optional<Result<Reply>> result;
    Reply reply;  // of a large cluster 200,000 values: freed when the new map is in use
    void deliver(Result<Reply>&& r) noexcept override {
      result.emplace(std::move(r));
      question->keeper->answered(*question);
    }
  };

  MapKeeper* keeper = nullptr;
  std::uint64_t number = 0;
  topology::RefreshTarget target;
  topology::ViewMark mark{};
  Node* node = nullptr;
  Part slots;
  Part nodes;
  bool done = false;
};

MapKeeper::MapKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
                     KeeperEvents& events)
    : around_(surroundings),
      nodes_(nodes),
      table_(table),
      events_(events),
      policy_(topology::RefreshSettings::from(surroundings.config), surroundings.config.endpoints,
              base::Random(base::random_seed())) {}

MapKeeper::~MapKeeper() = default;

void MapKeeper::stop() {
  stopped_ = true;
  around_.loop.cancel(timer_);
  around_.loop.cancel(look_again_);
}

// --- asking ----------------------------------------------------------------------------------

void MapKeeper::step() {
  answered_.clear();
  if (stopped_) return;
  const topology::RefreshDecision decision = policy_.poll(around_.loop.now());
  for (const topology::RefreshTarget& target : decision.ask)
    ask(target);
  if (decision.wake == TimePoint::max()) {
    around_.loop.cancel(timer_);
  } else {
    around_.loop.arm(timer_, decision.wake);
  }
}

void MapKeeper::ask(const topology::RefreshTarget& target) {
  Node* node = target.is_seed() ? nullptr : nodes_.find(target.node);
  if (node == nullptr) node = &nodes_.at(target.endpoint, map());
  around_.observer.counters.refreshes.add();
  if (around_.observer.listening()) {
    around_.observer.tell(Event::Kind::refresh_started, node->name());
  }
  auto question = std::make_unique<Question>();
  question->keeper = this;
  question->number = next_question_++;
  question->target = target;
  question->mark = map_.mark();
  question->node = node;
  const TimePoint deadline =
      around_.loop.now() + around_.config.connect_timeout + around_.config.attempt_timeout;
  for (Question::Part* part : {&question->slots, &question->nodes}) {
    part->question = question.get();
    part->target = Target::fixed_node;
    part->fixed_node = node;
    part->single_attempt = true;
    part->deadline = deadline;
  }
  question->slots.bytes = slots_command;
  question->nodes.bytes = nodes_command;
  Question& q = *questions_.emplace_back(std::move(question));
  node->submit(q.slots);
  node->submit(q.nodes);
}

void MapKeeper::answered(Question& q) {
  if (!q.slots.result || !q.nodes.result || q.done) return;
  q.done = true;
  const auto it = std::find_if(questions_.begin(), questions_.end(),
                               [&](const auto& p) { return p.get() == &q; });
  answered_.push_back(std::move(*it));  // it is being called: freed later
  questions_.erase(it);
  if (stopped_) return;

  const TimePoint now = around_.loop.now();
  std::optional<Error> trouble;
  if (!*q.slots.result) trouble = q.slots.result->error();
  topology::ViewResult parsed;
  topology::RefreshOutcome outcome = topology::RefreshOutcome::failed;
  topology::NodeHandle answered_by = q.target.node;
  if (trouble && trouble->server_text().empty()) {
    parsed.problem = topology::ViewProblem::refused;
    parsed.text = trouble->message();
  } else {
    q.slots.reply = as_reply(std::move(*q.slots.result));
    q.nodes.reply = as_reply(std::move(*q.nodes.result));
    parsed = topology::parse_view(q.slots.reply, &q.nodes.reply, q.node->peer());
  }
  topology::MergeResult merged;
  const auto before = map_.current();
  if (parsed.ok()) merged = map_.merge(parsed.view, q.mark, q.node->told_id());
  if (merged.kind == topology::MergeKind::foreign) {
    parsed.problem = topology::ViewProblem::foreign;
    parsed.text = "it is of another cluster, whose nodes are all unknown here: it is node " +
                  (q.node->told_id().empty() ? parsed.view.nodes.front().id : q.node->told_id()) +
                  ", this client's cluster has node " + before->nodes().front().info.id;
  }
  if (parsed.ok()) {
    take(merged, *before);
    if (!merged.view_partial) events_.on_view(q.number);
    if (!q.node->told_id().empty()) {
      if (const auto* known = map().find_by_id(q.node->told_id())) answered_by = known->handle;
    }
    outcome = merged.view_partial                           ? topology::RefreshOutcome::partial
              : merged.kind == topology::MergeKind::updated ? topology::RefreshOutcome::changed
                                                            : topology::RefreshOutcome::unchanged;
  } else {
    if (around_.observer.listening()) {
      around_.observer.tell(Event::Kind::refresh_failed, q.node->name(), parsed.text);
    }
    note_problem(q.target, parsed.problem,
                 trouble.value_or(Error(ErrorCode::protocol, Outcome::not_sent, parsed.text)));
  }
  if (parsed.ok()) look_for_replicas_again();
  policy_.finished(q.target, outcome, now, answered_by);
  if (!policy_.round_open() && policy_.in_flight() == 0 && usable_) nodes_.retire_visitors();
  // Not here: this may run inside a node's report, and step() frees the question that called.
  around_.loop.arm(timer_, now);
}

void MapKeeper::note_problem(const topology::RefreshTarget& target, topology::ViewProblem problem,
                             const Error& error) {
  if (usable_) return;
  Error e = error.with_node(target.endpoint.to_string());
  if (problem == topology::ViewProblem::cluster_disabled) {
    e = Error(ErrorCode::not_a_cluster, Outcome::not_sent,
              target.endpoint.to_string() + " is no cluster node; use valkey://" +
                  target.endpoint.to_string() +
                  " for a single server. It answered: " + std::string(error.message()));
  } else if (problem == topology::ViewProblem::no_slots) {
    e = Error(ErrorCode::not_a_cluster, Outcome::not_sent,
              target.endpoint.to_string() +
                  " owns no slots and knows no node that does: it is not "
                  "part of a cluster yet");
  }
  problems_.insert_or_assign(base::endpoint_key(target.endpoint), std::move(e));
  if (problems_.size() < around_.config.endpoints.size()) return;
  std::string text = "no node of the cluster can be used:";
  bool hopeless = true;
  std::optional<Error> first;
  for (const auto& [key, why] : problems_) {
    text += " [" + key + "] " + std::string(why.message()) + ";";
    // A fresh cluster may get its slots in a moment.
    hopeless = hopeless && is_hopeless(why) && problem != topology::ViewProblem::no_slots;
    if (!first || is_hopeless(why)) first = why;
  }
  text.pop_back();
  events_.on_start_problem(first->with_message(std::move(text)), hopeless);
}

// --- believing -------------------------------------------------------------------------------

void MapKeeper::take(const topology::MergeResult& merged, const topology::TopologyMap& before) {
  if (merged.kind != topology::MergeKind::updated) return;
  nodes_.apply(map());
  publish();
  tell_policy();
  if (around_.observer.listening()) {
    around_.observer.tell(Event::Kind::topology_changed, {},
                          topology::describe(merged.changes, before, map()));
    for (const auto& move : merged.changes.moves) {
      Node* to = nodes_.find(move.to);
      if (before.version() == 0 || to == nullptr) continue;
      const topology::MapNode* from = before.find(move.from);
      around_.observer.tell(Event::Kind::primary_changed, to->name(),
                            std::to_string(move.slots) + " slots from " +
                                (from != nullptr ? from->info.endpoint.to_string() : "nobody"));
    }
  }
  usable_ = usable_ || map().covered() > 0;
  for (const auto& move : merged.changes.moves) {
    if (Node* from = nodes_.find(move.from)) events_.on_node_changed(*from);
  }
  events_.on_map_changed();
}

void MapKeeper::publish() {
  const topology::TopologyMap& now = map();
  std::vector<Node*> owners;
  owners.reserve(now.shards().size());
  shards_.clear();
  for (const topology::Shard& shard : now.shards()) {
    owners.push_back(nodes_.find(now.nodes()[shard.primary].handle));
    ShardNodes& of_shard = shards_.emplace_back();
    of_shard.nodes.push_back(owners.back());
    for (const std::uint32_t replica : shard.replicas) {
      Node* node = nodes_.find(now.nodes()[replica].handle);
      of_shard.nodes.push_back(node);
      // Before the first read needs it, so that its latency and zone are known then.
      if (around_.config.read_from != ReadFrom::primary) node->prepare_reader();
    }
  }
  for (int slot = 0; slot < slot_count; ++slot) {
    const std::uint16_t shard = now.slots()[static_cast<std::size_t>(slot)];
    table_.set(static_cast<std::uint16_t>(slot),
               shard == topology::no_shard ? nullptr : owners[shard]);
  }
}

void MapKeeper::tell_policy() {
  std::vector<topology::RefreshPolicy::Node> known;
  for (const topology::MapNode& n : map().nodes()) {
    const Node* node = nodes_.find(n.handle);
    known.push_back({n.handle, n.info.endpoint, node != nullptr && node->connected()});
  }
  policy_.set_nodes(std::move(known));
}

/// Nobody tells when a replica can serve again, and the periodic look may be a minute away.
void MapKeeper::look_for_replicas_again() {
  constexpr std::chrono::seconds pause(3);
  const bool unwell = std::any_of(map().nodes().begin(), map().nodes().end(), [](const auto& n) {
    return n.info.role == topology::Role::replica && n.info.health != topology::Health::ok;
  });
  if (unwell && around_.config.read_from != ReadFrom::primary) {
    around_.loop.arm(look_again_, around_.loop.now() + pause);
  } else {
    around_.loop.cancel(look_again_);
  }
}

void MapKeeper::look_again() {
  trigger(topology::RefreshReason::periodic);
}

// --- what the dispatcher reports ---------------------------------------------------------------

void MapKeeper::trigger(topology::RefreshReason reason, Node* preferred) {
  if (stopped_) return;
  std::optional<topology::RefreshTarget> target;
  if (preferred != nullptr) {
    target = topology::RefreshTarget{preferred->identity().handle, preferred->identity().endpoint};
  }
  policy_.trigger(reason, around_.loop.now(), target);
  around_.loop.arm(timer_, around_.loop.now());
}

Node& MapKeeper::moved(std::uint16_t slot, const Endpoint& endpoint) {
  const auto before = map_.current();
  take(map_.patch(slot, endpoint), *before);
  Node& node = at(endpoint);
  trigger(topology::RefreshReason::moved, &node);
  return node;
}

Node& MapKeeper::at(const Endpoint& endpoint) {
  return nodes_.at(endpoint, map());
}

void MapKeeper::node_failed(Node& node, topology::RefreshReason reason) {
  if (stopped_) return;
  if (node.identity().handle != topology::no_node) {
    map_.node_failed(node.identity().handle);
    policy_.node_failed(node.identity().handle, around_.loop.now());
    policy_.set_connected(node.identity().handle, false);
  }
  trigger(reason);
}

void MapKeeper::node_down(Node& node, const Error& error) {
  node_failed(node, error.code() == ErrorCode::wrong_node ? topology::RefreshReason::wrong_node
                                                          : topology::RefreshReason::node_lost);
}

void MapKeeper::node_up(Node& node) {
  if (node.identity().handle == topology::no_node) return;
  map_.node_ok(node.identity().handle);
  policy_.set_connected(node.identity().handle, true);
}

// --- reading ---------------------------------------------------------------------------------

TopologyInfo MapKeeper::info() const {
  TopologyInfo info = map().info();
  info.mode = Mode::cluster;
  return info;
}

Error MapKeeper::why_nobody(bool has_slot, std::uint16_t slot) const {
  return Error(
      ErrorCode::slot_not_covered, Outcome::not_sent,
      has_slot ? "slot " + std::to_string(slot) + " is not covered" : "no primary is known");
}

Node* MapKeeper::any_primary() {
  const auto& shards = map().shards();
  // A primary that is connected is preferred to one that may be dead.
  Node* fallback = nullptr;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const topology::Shard& shard = shards[next_primary_++ % shards.size()];
    Node* node = nodes_.find(map().nodes()[shard.primary].handle);
    if (node == nullptr) continue;
    if (node->connected()) return node;
    if (fallback == nullptr) fallback = node;
  }
  return fallback;
}

std::vector<std::uint16_t> MapKeeper::slot_of_each_shard() const {
  std::vector<std::uint16_t> found;
  std::vector<bool> seen(map().shards().size());
  for (int slot = 0; slot < slot_count; ++slot) {
    const std::uint16_t shard = map().slots()[static_cast<std::size_t>(slot)];
    if (shard == topology::no_shard || seen[shard]) continue;
    seen[shard] = true;
    found.push_back(static_cast<std::uint16_t>(slot));
  }
  return found;
}

ShardNodes* MapKeeper::shard_of(std::uint16_t slot) noexcept {
  const std::uint16_t shard = map().slots()[slot];
  return shard == topology::no_shard ? nullptr : &shards_[shard];
}

std::vector<Node*> MapKeeper::replicas() const {
  std::vector<Node*> found;
  for (const topology::MapNode& n : map().nodes()) {
    if (n.info.role != topology::Role::replica || n.info.health != topology::Health::ok) continue;
    if (Node* node = nodes_.find(n.handle)) found.push_back(node);
  }
  return found;
}

}  // namespace slotwise::routing
