#include "routing/dispatcher.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/endpoint.hpp"
#include "resp/encoder.hpp"
#include "routing/batch.hpp"
#include "routing/fan_out.hpp"
#include "routing/map_keeper.hpp"
#include "routing/sentinel_keeper.hpp"
#include "routing/single_keeper.hpp"
#include "routing/words.hpp"

namespace slotwise::routing {

using topology::ErrorKind;
using topology::RefreshReason;

namespace {

/// The one place that knows the three of them.
std::unique_ptr<TopologyKeeper> make_keeper(const Surroundings& around, NodeSet& nodes,
                                            SlotTable& table, KeeperEvents& events) {
  switch (around.config.mode) {
    case Mode::single:
      return std::make_unique<SingleKeeper>(around, nodes, table, events);
    case Mode::sentinel:
      return std::make_unique<SentinelKeeper>(around, nodes, table, events);
    case Mode::cluster:
      break;
  }
  return std::make_unique<MapKeeper>(around, nodes, table, events);
}

}  // namespace

Dispatcher::Dispatcher(const Surroundings& surroundings, StartListener& listener)
    : around_(surroundings),
      listener_(listener),
      nodes_(around_, *this),
      keeper_(make_keeper(around_, nodes_, table_, *this)),
      budget_(around_.config.max_retries_per_second) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::begin() {
  keeper_->start();
}

// --- sending ---------------------------------------------------------------------------------

void Dispatcher::start(Request& request) {
  if (closed_) {
    return finish(request, Error(ErrorCode::cancelled, Outcome::not_sent, "the client is closed"));
  }
  if (request.fan_out != nullptr) return request.fan_out->start(*this, request);
  dispatch(request);
}

void Dispatcher::dispatch(Request& request) {
  if (around_.loop.now() >= request.deadline) [[unlikely]] {
    return expire(request);
  }
  Node* node = choose(request);
  if (node == nullptr) {
    Trouble& t = trouble_of(request);
    const Error why = keeper_->why_nobody(request.target == Target::slot, request.slot);
    t.last = why.with_outcome(overall_outcome(Outcome::not_sent, request.may_have_run));
    keeper_->trigger(RefreshReason::uncovered);
    return wait(request, true, true);
  }
  ++request.attempts;
  node->submit(request);
}

Node* Dispatcher::choose(Request& request) {
  // Nearly always.
  if (request.target == Target::slot && request.attempts == 0 && request.next_node == nullptr &&
      request.read_from == ReadFrom::primary) [[likely]] {
    return table_.get(request.slot);
  }
  // What a replica could not answer the primary is asked; what the primary could not, anybody.
  const bool after_replica = std::exchange(request.on_replica, false);
  if (request.next_node != nullptr) return std::exchange(request.next_node, nullptr);
  request.prefix = request.wants_ping ? link::Call::Prefix::ping : link::Call::Prefix::none;
  if (!after_replica && may_read_elsewhere(request)) {
    if (Node* replica = choose_reader(request)) {
      request.on_replica = true;
      return replica;
    }
  }
  switch (request.target) {
    case Target::slot:
      return table_.get(request.slot);
    case Target::any_primary:
      return keeper_->any_primary();
    case Target::fixed_node:
      return request.fixed_node;
  }
  return nullptr;
}

/// In a cluster a command without a key is about a node, so it stays with the primary.
bool Dispatcher::may_read_elsewhere(const Request& request) const noexcept {
  if (request.read_from == ReadFrom::primary) return false;
  return request.target == Target::slot ||
         (request.target == Target::any_primary && around_.config.mode == Mode::sentinel);
}

/// The replica that the read goes to; null: the primary.
Node* Dispatcher::choose_reader(const Request& request) {
  ShardNodes* shard = keeper_->shard_of(request.slot);
  if (shard == nullptr || shard->nodes.size() < 2) return nullptr;
  const std::string& zone = around_.config.availability_zone;
  candidates_.clear();
  for (Node* node : shard->nodes) {
    const bool primary = candidates_.empty();
    ReadCandidate c;
    if (node == nullptr) {  // no primary at present
      candidates_.push_back(c);
      continue;
    }
    c.usable = primary ? !node->failing() : node->reader_usable();
    c.same_zone = !zone.empty() && node->availability_zone() == zone;
    c.round_trip = node->round_trip();
    candidates_.push_back(c);
    if (!primary && !c.usable) node->prepare_reader();
    // Whether the primary is near is known only after it was connected to, and a client that only
    // reads might never do that.
    if (primary && (request.read_from == ReadFrom::same_zone ||
                    request.read_from == ReadFrom::lowest_latency)) {
      node->connect();
    }
  }
  const std::size_t chosen = routing::choose_reader(request.read_from, candidates_, shard->turn++);
  return chosen == 0 ? nullptr : shard->nodes[chosen];
}

// --- what nodes report -----------------------------------------------------------------------

void Dispatcher::on_reply(Node& node, Request& request, ReplyView& reply) {
  if (reply.is_error() || request.batch != nullptr || request.trouble != nullptr) [[unlikely]] {
    return on_other_reply(node, request, reply);
  }
  around_.observer.counters.succeeded.add();
  request.deliver_view(reply);
}

/// An error, or to a request that has a history or is one of several.
void Dispatcher::on_other_reply(Node& node, Request& request, ReplyView& reply) {
  if (reply.is_error()) return judge_error(node, request, reply.take());
  if (request.batch != nullptr && request.batch->takes(request, reply)) return;
  finish(request, reply);
}

void Dispatcher::judge_error(Node& node, Request& request, const Reply& reply) {
  const std::string_view text = reply.text();
  const topology::ServerError error = topology::parse_server_error(text);
  Facts facts = facts_of(request);
  if (error.kind == ErrorKind::moved) {
    const Endpoint named = topology::redirect_target(error, node.peer());
    facts.answered_by_named = base::same_endpoint(named, node.identity().endpoint) ||
                              base::same_endpoint(named, node.peer());
  }
  if (error.kind == ErrorKind::no_auth || error.kind == ErrorKind::wrong_pass ||
      error.kind == ErrorKind::no_perm) {
    facts.fresh_credentials = has_fresh_credentials(request, node);
  }
  const Verdict verdict = judge_reply(error, text, facts);
  Error failure = Error(verdict.code, verdict.outcome, std::string(text))
                      .with_server_text(std::string(text))
                      .with_node(node.name());
  note(request, node, failure);
  react(node, verdict, failure);
  if (verdict.action == Action::run_script) return run_script(request);
  Node* to = verdict.action == Action::follow ? follow(request, verdict, error, node) : nullptr;
  if (request.batch != nullptr && request.batch->takes(request, verdict, failure, to)) return;
  carry_out(request, verdict, std::move(failure), to);
}

void Dispatcher::on_failed(Node& node, Request& request, const Error& error) {
  if (error.outcome() == Outcome::unknown) request.may_have_run = true;
  const Verdict verdict = judge_failure(error, facts_of(request));
  Error failure = error.with_node(node.name());
  note(request, node, failure);
  react(node, verdict, failure);
  if (request.batch != nullptr && request.batch->takes(request, verdict, failure, nullptr)) return;
  carry_out(request, verdict, std::move(failure), nullptr);
}

void Dispatcher::on_expired(Node& node, Request& request, bool sent) {
  if (sent) request.may_have_run = true;
  trouble_of(request);  // so that the error tells the path
  request.node = &node;
  // Silence counts as a failure of the node: a fresh map may know better already.
  if (sent && !request.blocking) keeper_->node_failed(node, RefreshReason::node_lost);
  expire(request);
}

void Dispatcher::on_up(Node& node) {
  keeper_->node_up(node);
  if (!told_usable_ && keeper_->has_view()) {
    told_usable_ = true;
    listener_.on_usable();
  }
}

void Dispatcher::on_down(Node& node, const Error& error, bool /*was_ready*/) {
  if (closed_ || node.retired() || error.code() == ErrorCode::cancelled) return;
  keeper_->node_down(node, error);
}

// --- decisions carried out -------------------------------------------------------------------

/// Asked once for a call, so that refused passwords are not tried in a loop.
bool Dispatcher::has_fresh_credentials(Request& request, const Node& node) {
  const auto& provider = around_.config.credentials_provider;
  if (!provider || std::exchange(request.reauthenticated, true)) return false;
  return !(provider() == node.credentials());
}

/// Side effects of a verdict, apart from the request itself.
void Dispatcher::react(Node& node, const Verdict& verdict, const Error& error) {
  if (closed_) return;
  if (verdict.pass_over) node.pass_over_reader();
  if (verdict.reauthenticate) node.reauthenticate();
  if (verdict.close_node) {
    node.reset_backoff();
    node.close_all(Error(ErrorCode::connection_lost, Outcome::unknown,
                         "the node is not the primary any more: " + std::string(error.message())));
  }
  if (verdict.node_failed) {
    keeper_->node_failed(node, error.code() == ErrorCode::wrong_node ? RefreshReason::wrong_node
                                                                     : RefreshReason::node_lost);
  } else if (verdict.refresh && !verdict.patch_map) {
    keeper_->trigger(verdict.code == ErrorCode::read_only      ? RefreshReason::read_only
                     : verdict.code == ErrorCode::cluster_down ? RefreshReason::cluster_down
                                                               : RefreshReason::moved);
  }
}

Node* Dispatcher::follow(Request& request, const Verdict& verdict,
                         const topology::ServerError& error, const Node& answered) {
  const Endpoint target = topology::redirect_target(error, answered.peer());
  ++request.redirects;
  auto& counters = around_.observer.counters;
  (verdict.asking ? counters.asked : counters.moved).add();
  if (around_.observer.listening()) {
    around_.observer.tell(Event::Kind::redirected, answered.name(),
                          (verdict.asking ? "ASK to " : "MOVED to ") + target.to_string());
  }
  return verdict.patch_map ? &keeper_->moved(error.slot, target) : &keeper_->at(target);
}

void Dispatcher::carry_out(Request& request, const Verdict& verdict, Error error, Node* follow_to) {
  if (closed_) {
    return fail(request,
                Error(ErrorCode::cancelled, overall_outcome(error.outcome(), request.may_have_run),
                      "the client was closed"));
  }
  switch (verdict.action) {
    case Action::deliver:
    case Action::run_script:
      return fail(request, std::move(error));
    case Action::follow:
      if (verdict.asking) request.prefix = link::Call::Prefix::asking;
      request.next_node = follow_to;
      if (verdict.pause) return wait(request, true, false);
      return dispatch(request);
    case Action::retry:
      around_.observer.counters.retries.add();
      if (around_.observer.listening()) {
        around_.observer.tell(Event::Kind::retrying,
                              request.node != nullptr ? request.node->name() : std::string(),
                              std::string(error.message()));
      }
      return wait(request, verdict.pause, !verdict.same_node);
  }
}

void Dispatcher::run_script(Request& request) {
  request.encoded = evalsha_as_eval(request.bytes, *request.script_body);
  request.bytes = request.encoded;
  request.script_body.reset();  // once: an EVAL that is answered with NOSCRIPT is the caller's
  request.next_node = request.node;
  dispatch(request);
}

void Dispatcher::on_auth_refused(Node& node, const Error& error) {
  if (!auth_refused_) auth_refused_ = error;
  around_.observer.tell(Event::Kind::auth_refused, node.name(), std::string(error.message()));
}

void Dispatcher::on_start_problem(const Error& error, bool hopeless) {
  listener_.on_start_problem(error, hopeless);
}

// --- ends ------------------------------------------------------------------------------------

void Dispatcher::finish(Request& request, Result<Reply>&& result) {
  (result ? around_.observer.counters.succeeded : around_.observer.counters.failed).add();
  if (request.trouble != nullptr) leave_trouble(request, result.has_value());
  request.deliver(std::move(result));
}

void Dispatcher::finish(Request& request, ReplyView& reply) {
  around_.observer.counters.succeeded.add();
  if (request.trouble != nullptr) [[unlikely]] {
    leave_trouble(request, true);
  }
  request.deliver_view(reply);
}

void Dispatcher::resume_with_reply(Request& request, Node& node, Reply&& reply) {
  request.node = &node;
  ++request.attempts;
  if (closed_ && reply.is_error()) return start(request);
  ReplyView view(reply);
  on_reply(node, request, view);
}

void Dispatcher::resume_with_failure(Request& request, Node& node, const Error& error,
                                     bool expired) {
  request.node = &node;
  ++request.attempts;
  node.drop_idle(error);
  if (expired) return on_expired(node, request, true);
  on_failed(node, request, error);
}

void Dispatcher::reauthenticate() {
  auth_refused_.reset();
  for (const auto& node : nodes_.all())
    node->reauthenticate();
}

void Dispatcher::close() {
  closed_ = true;
  keeper_->stop();
  const Error why(ErrorCode::cancelled, Outcome::unknown, "the client was closed");
  for (std::size_t i = 0; i < nodes_.all().size(); ++i)
    nodes_.all()[i]->close_all(why);
  for (WaitingRoom* room : {&waiting_, &throttled_}) {
    while (Trouble* t = room->head()) {
      WaitingRoom::remove(*t);
      const Outcome last = t->last ? t->last->outcome() : Outcome::not_sent;
      fail(t->request, Error(ErrorCode::cancelled, overall_outcome(last, t->request.may_have_run),
                             "the client was closed"));
    }
  }
}

bool Dispatcher::quiet() const noexcept {
  return std::all_of(nodes_.all().begin(), nodes_.all().end(),
                     [](const auto& node) { return node->direct_empty(); });
}

// --- small things ----------------------------------------------------------------------------

Facts Dispatcher::facts_of(const Request& request) const {
  Facts facts;
  facts.target = request.single_attempt ? Target::fixed_node : request.target;
  facts.single_attempt = request.single_attempt;
  facts.slot = request.slot;
  facts.mode = around_.config.mode;
  facts.retry_safe = request.retry_safe;
  facts.may_run_in_part = request.may_run_in_part;
  facts.may_have_run = request.may_have_run;
  facts.on_replica = request.on_replica;
  facts.has_script_body = request.script_body != nullptr;
  facts.redirects = request.redirects;
  facts.max_redirects = around_.config.max_redirects;
  return facts;
}

}  // namespace slotwise::routing
