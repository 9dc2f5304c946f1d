// Calls: plans, the way in place, and the way to an engine.
#include "client/core.hpp"

#include <string>
#include <utility>

#include <slotwise/commands/scripts.hpp>

#include "resp/encoder.hpp"
#include "routing/fan_out.hpp"

namespace slotwise::detail {
namespace {

Error closed_error(Outcome outcome = Outcome::not_sent) {
  return Error(ErrorCode::cancelled, outcome, "the client is closed");
}

Error error_in_callback() {
  return Error(ErrorCode::refused, Outcome::not_sent,
               "a synchronous call inside a callback would stop the thread that completes it; use "
               "async() there");
}

/// The error is the last word on a call that may have left bytes behind.
Error failed(const Error& e, const routing::Node& node) {
  return e.with_node(node.name()).with_attempts(1);
}

}  // namespace

bool Core::accept(std::uint64_t calls) noexcept {
  const std::uint64_t before = pending_.fetch_add(calls);
  if (!closed_.load() && before + calls <= config_.max_pending) [[likely]] {
    return true;
  }
  pending_.fetch_sub(calls);
  return false;
}

bool Core::count_in() noexcept {
  if (forked()) return false;
  pending_.fetch_add(1);
  if (!closed_.load()) return true;
  pending_.fetch_sub(1);
  return false;
}

Error Core::refusal() const {
  if (closed_.load()) return closed_error();
  return Error(
      ErrorCode::queue_full, Outcome::not_sent,
      std::to_string(config_.max_pending) + " calls are waiting already (Config::max_pending)");
}

Operation* Core::make_operation(Engine& engine, const CallSpec& call, const CallOptions& options,
                                const Plan& plan) {
  Operation* op = Operation::take_from_pool();
  op->move_to(engine);
  op->encode(head_of(call), call.words);
  static_cast<routing::Kind&>(*op) = plan;
  op->read_from = read_from_of(plan, options, config_);
  op->deadline = deadline_of(plan, options, config_, routing::Clock::now());
  if (plan.way != Plan::Way::one || call.script != nullptr || !options.node.empty()) [[unlikely]] {
    make_special(*op, call, options, plan);
  }
  // Synchronous callers of this node must not overtake it (Node::acquire_direct).
  if (!op->blocking && (op->target == routing::Target::slot || config_.mode != Mode::cluster)) {
    op->counted = engine.dispatcher().node_for(op->slot);
    if (op->counted != nullptr) op->counted->loop_calls.fetch_add(1, std::memory_order_acq_rel);
  }
  return op;
}

/// What few calls have.
void Core::make_special(Operation& op, const CallSpec& call, const CallOptions& options,
                        const Plan& plan) {
  op.special = true;
  op.needs_learning = plan.way == Plan::Way::learn;
  if (call.script != nullptr) op.script_body = call.script->shared_body();
  if (!options.node.empty()) op.node_name = options.node;
  if (plan.way == Plan::Way::by_slot) {
    op.fan_out = routing::FanOut::by_slot(*plan.info, call.words);
  } else if (plan.way == Plan::Way::all_shards || plan.way == Plan::Way::all_nodes) {
    op.fan_out = routing::FanOut::everywhere(*plan.info, plan.way == Plan::Way::all_nodes);
  }
}

OperationHandle Core::start(const CallSpec& call, const CallOptions& options) {
  commands_.add();
  if (forked()) [[unlikely]] {
    return refused(error_after_fork());
  }
  if (!is_simple(call, options)) [[unlikely]] {
    Plan plan;
    return start_other(plan, call, options);
  }
  HotKeySampler::count(hot_keys_.get(), &call.command->info, call);
  if (!accept()) [[unlikely]] {
    return refused(refusal());
  }
  Operation* op = Operation::take_from_pool();
  op->fill(call, options, config_);
  Engine& engine = engine_of(op->slot);
  op->move_to(engine);
  OperationHandle handle(op);
  routing::Node* node = nullptr;
  if (op->target == routing::Target::slot || config_.mode != Mode::cluster) {
    op->counted = node = engine.dispatcher().node_for(op->slot);
    if (node != nullptr) node->loop_calls.fetch_add(1, std::memory_order_acq_rel);
  }
  // In a callback of its own engine: it goes out with this very turn of the loop.
  if (Engine::current() == &engine && node != nullptr && op->read_from == ReadFrom::primary)
      [[likely]] {
    engine.dispatcher().start_at(*op, *node);
  } else {
    engine.submit(*op);
  }
  return handle;
}

/// `engine`: null: that of its slot.
OperationHandle Core::start_other(Plan& plan, const CallSpec& call, const CallOptions& options,
                                  Engine* engine) {
  if (auto error = make_plan(plan, call, options, config_, learned_)) {
    return refused(std::move(*error));
  }
  HotKeySampler::count(hot_keys_.get(), plan, call);
  if (!accept()) return refused(refusal());
  if (engine == nullptr) engine = &engine_of(plan.slot);
  Operation* op = make_operation(*engine, call, options, plan);
  OperationHandle handle(op);
  engine->submit(*op);
  return handle;
}

/// An operation that has ended already.
OperationHandle Core::refused(Error error) {
  pending_.fetch_add(1);  // deliver() lowers it
  Operation* op = Operation::take_from_pool();
  op->move_to(*engines_.front());
  op->deliver(std::move(error));
  return OperationHandle(op);
}

Error Core::error_after_fork() {
  return Error(ErrorCode::refused, Outcome::not_sent,
               "this client was made before fork(): make a new one in the child");
}

std::optional<Error> Core::execute(const CallSpec& call, const CallOptions& options,
                                   const Sink& sink) {
  if (forked()) [[unlikely]] {
    return error_after_fork();
  }
  if (in_loop_thread()) [[unlikely]] {
    return error_in_callback();
  }
  commands_.add();
  Plan plan;
  std::optional<Error> error;
  if (!plan_simple(plan, call, options, config_)) {
    error = make_plan(plan, call, options, config_, learned_);
    if (error) return error;
  }
  HotKeySampler::count(hot_keys_.get(), plan, call);
  Engine& engine = engine_of(plan.slot);
  Operation* op = nullptr;
  std::optional<ModeSwitch::Caller> caller;
  if (!plan.blocking) caller.emplace(mode_);
  if (caller && caller->in_place() && plan.way == Plan::Way::one &&
      read_from_of(plan, options, config_) == ReadFrom::primary &&
      (plan.target == routing::Target::slot || config_.mode != Mode::cluster)) {
    if (try_direct(engine, call, options, plan, sink, op, error)) return error;
  }
  if (op == nullptr) {
    if (!accept()) return refusal();
    op = make_operation(engine, call, options, plan);
  }
  OperationHandle handle(op);
  op->has_caller = true;
  op->competes.store(caller.has_value(), std::memory_order_relaxed);
  if (caller) caller->hand_over();
  engine.submit(*op);
  op->wait();
  op->stop_competing(mode_);
  Result<Reply>& result = op->result();
  if (!result) return std::move(result).error();
  ReplyView reply(*result);
  sink.take(sink.place, reply);
  return std::nullopt;
}

/// The call in place: two system calls and no other thread. False: it goes through the loop, as
/// `op` if there is something to tell already.
bool Core::try_direct(Engine& engine, const CallSpec& call, const CallOptions& options,
                      const Plan& plan, const Sink& sink, Operation*& op,
                      std::optional<Error>& error) {
  if (plan.target == routing::Target::fixed_node) return false;
  routing::Node* node = engine.dispatcher().node_for(plan.slot);
  if (node == nullptr || closed_.load(std::memory_order_relaxed)) return false;
  link::DirectConnection* const taken = node->acquire_direct();
  if (taken == nullptr) {
    engine.want_direct(*node);
    return false;
  }
  // Given back also when the caller has no memory for the reply.
  const auto release = [node](link::DirectConnection* c) { node->release_direct(*c); };
  std::unique_ptr<link::DirectConnection, decltype(release)> connection(taken, release);
  const resp::CommandBytes bytes(head_of(call), call.words);
  const routing::TimePoint now = routing::Clock::now();
  ReplyView reply;
  const link::Exchange exchange = connection->exchange(bytes.view(), !plan.retry_safe, now,
                                                       deadline_of(plan, options, config_, now),
                                                       config_.attempt_timeout, reply);
  if (exchange.status == link::Exchange::Status::reply && !reply.is_error()) [[likely]] {
    sink.take(sink.place, reply);
    return true;
  }
  std::optional<Reply> bad;
  if (exchange.status == link::Exchange::Status::reply) bad = reply.take();
  connection.reset();
  return !have_judged(engine, call, options, plan, *node, std::move(bad), exchange, op, error);
}

/// A caller in place got something else than a plain reply: it is judged where everything is, as
/// `op`. False: the client is closed, `error` is the end of it.
bool Core::have_judged(Engine& engine, const CallSpec& call, const CallOptions& options,
                       const Plan& plan, routing::Node& node, std::optional<Reply>&& reply,
                       const link::Exchange& exchange, Operation*& op,
                       std::optional<Error>& error) {
  if (!accept()) {
    error = reply ? Error(ErrorCode::server, Outcome::rejected, std::string(reply->text()))
                        .with_server_text(std::string(reply->text()))
                  : failed(closed_error(exchange.error->outcome()), node);
    return false;
  }
  op = make_operation(engine, call, options, plan);
  op->special = true;
  op->seen = std::make_unique<Operation::Seen>(Operation::Seen{
      node, std::move(reply), exchange.error, exchange.status == link::Exchange::Status::expired});
  return true;
}

}  // namespace slotwise::detail
