#include "client/core.hpp"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include <slotwise/commands/scripts.hpp>

#include "base/endpoint.hpp"
#include "commands/keys.hpp"
#include "resp/encoder.hpp"

namespace slotwise::detail {
namespace {

constexpr int most_direct = static_cast<int>(link::DirectPool::max_size);

Error closed_error(Outcome outcome = Outcome::not_sent) {
  return Error(ErrorCode::cancelled, outcome, "the client is closed");
}

Error error_in_callback() {
  return Error(ErrorCode::refused, Outcome::not_sent,
               "a synchronous call inside a callback would stop the thread that completes it; use "
               "async() there");
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    out += (out.empty() ? "" : ",") + part;
  return out;
}

std::shared_ptr<net::TlsContext> make_tls(const TlsConfig& tls) {
  if (!tls.enabled) return nullptr;
  net::tls_settings s;
  s.ca_file = tls.ca_file;
  s.ca_dir = tls.ca_dir;
  s.cert_file = tls.cert_file;
  s.key_file = tls.key_file;
  if (!tls.key_password.empty()) s.key_password = [p = tls.key_password] { return p; };
  s.min_version = tls.min_version >= 13 ? net::tls_version::tls_1_3 : net::tls_version::tls_1_2;
  s.verify = !tls.verify_chain ? net::tls_verify::none
             : tls.verify_name ? net::tls_verify::full
                               : net::tls_verify::chain;
  s.server_name = tls.server_name;
  s.ciphers = tls.ciphers;
  net::error error;
  auto context = net::TlsContext::make(std::move(s), error);
  if (context == nullptr) throw Error(ErrorCode::invalid_argument, Outcome::not_sent, error.text);
  return context;
}

/// The error is the last word on a call that may have left bytes behind.
Error failed(const Error& e, const routing::Node& node) {
  return e.with_node(node.name()).with_attempts(1);
}

}  // namespace

// --- start and end ---------------------------------------------------------------------------

Core::Core(Config config)
    : config_(std::move(config)),
      fork_generation_(net::fork_generation()),
      observer_(config_.events),
      mode_(std::clamp(config_.direct_connections, 0, most_direct)) {
  net::resolver_settings names;
  names.dns_servers = joined(config_.dns_servers);
  resolver_.emplace(loop_, std::move(names));
  if (const net::error& e = resolver_->settings_error()) {
    throw Error(ErrorCode::invalid_argument, Outcome::not_sent, e.text);
  }
  const auto tls = make_tls(config_.tls);
  const auto sentinel_tls = config_.sentinel_tls ? make_tls(*config_.sentinel_tls) : tls;
  const routing::Surroundings around{loop_, *resolver_, config_, observer_, tls, sentinel_tls};
  dispatcher_.emplace(around, static_cast<routing::StartListener&>(*this));
}

Core::~Core() {
  if (fork_generation_ != net::fork_generation()) return;
  close();
}

std::shared_ptr<Core> Core::open(Config config) {
  config.validate();
  auto core = std::make_shared<Core>(std::move(config));
  // The application's signals are for its own threads.
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    core->thread_ = std::thread([core] { core->run_loop(); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(core->thread_.native_handle(), "slotwise-io");
  try {
    core->wait_until_usable();
  } catch (...) {
    core->close();
    throw;
  }
  return core;
}

void Core::run_loop() {
  dispatcher_->begin();
  loop_.run();
  // Closed: what was posted meanwhile is refused, callers in direct mode give their connections
  // back, and then nothing can reach the loop any more.
  while (pending_.load() != 0 || !dispatcher_->quiet()) {
    loop_.run_once(std::chrono::milliseconds(10));
  }
  loop_.run_once(std::chrono::milliseconds(0));
}

void Core::close() noexcept {
  if (fork_generation_ != net::fork_generation()) return;
  const std::lock_guard lock(close_mutex_);
  if (loop_.in_loop_thread()) {
    // In a callback: the thread ends by itself once the callback has returned; it keeps the core.
    if (closed_.exchange(true)) return;
    dispatcher_->close();
    loop_.stop();
    if (thread_.joinable()) thread_.detach();
    return;
  }
  if (!closed_.exchange(true)) {
    struct Close : net::Task {
      Core* core = nullptr;
    } task;
    task.core = this;
    task.run = [](net::Task* t) {
      Core* core = static_cast<Close*>(t)->core;
      core->dispatcher_->close();
      core->loop_.stop();
    };
    loop_.post(&task);
    if (thread_.joinable()) thread_.join();  // the task has run by then
    return;
  }
  if (thread_.joinable()) thread_.join();
}

void Core::wait_until_usable() {
  std::unique_lock lock(start_mutex_);
  const auto limit = std::chrono::steady_clock::now() + config_.timeout;
  start_changed_.wait_until(lock, limit, [this] { return usable_ || hopeless_; });
  if (usable_) return;
  if (start_error_) throw *start_error_;
  throw Error(ErrorCode::connect_failed, Outcome::not_sent,
              "no answer from " + config_.to_string() + " within " +
                  std::to_string(config_.timeout.count()) + " ms");
}

void Core::on_usable() {
  const std::lock_guard lock(start_mutex_);
  usable_ = true;
  start_changed_.notify_all();
}

void Core::on_view(std::uint64_t question) {
  const std::lock_guard lock(start_mutex_);
  answered_question_ = std::max(answered_question_, question);
  start_changed_.notify_all();
}

void Core::on_start_problem(const Error& error, bool hopeless) {
  const std::lock_guard lock(start_mutex_);
  start_error_ = error;
  hopeless_ = hopeless;
  if (hopeless) start_changed_.notify_all();
}

// --- calls -----------------------------------------------------------------------------------

bool Core::accept(std::uint64_t calls) noexcept {
  const std::uint64_t before = pending_.fetch_add(calls);
  if (!closed_.load() && before + calls <= config_.max_pending) [[likely]] {
    return true;
  }
  pending_.fetch_sub(calls);
  return false;
}

Error Core::refusal() const {
  if (closed_.load()) return closed_error();
  return Error(
      ErrorCode::queue_full, Outcome::not_sent,
      std::to_string(config_.max_pending) + " calls are waiting already (Config::max_pending)");
}

void Core::call_ended(routing::Node* counted, std::uint64_t calls) noexcept {
  if (counted != nullptr) counted->loop_calls.fetch_sub(1, std::memory_order_release);
  pending_.fetch_sub(calls);
}

Operation* Core::make_operation(const CallSpec& call, const CallOptions& options,
                                const Plan& plan) {
  Operation* op = Operation::take_from_pool(*this);
  op->encode(head_of(call), call.words);
  static_cast<routing::Kind&>(*op) = plan;
  op->read_from = read_from_of(plan, options, config_);
  op->deadline = deadline_of(plan, options, config_, routing::Clock::now());
  if (plan.way != Plan::Way::one || call.script != nullptr || !options.node.empty()) [[unlikely]] {
    make_special(*op, call, options, plan);
  }
  // Synchronous callers of this node must not overtake it (Node::acquire_direct).
  if (!op->blocking && (op->target == routing::Target::slot || config_.mode != Mode::cluster)) {
    op->counted = dispatcher_->node_for(op->slot);
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
  if (fork_generation_ != net::fork_generation()) [[unlikely]] {
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
  Operation* op = Operation::take_from_pool(*this);
  op->fill(call, options, config_);
  OperationHandle handle(op);
  routing::Node* node = nullptr;
  if (op->target == routing::Target::slot || config_.mode != Mode::cluster) {
    op->counted = node = dispatcher_->node_for(op->slot);
    if (node != nullptr) node->loop_calls.fetch_add(1, std::memory_order_acq_rel);
  }
  // In a callback: it goes out with this very turn of the loop.
  if (loop_.in_loop_thread() && node != nullptr && op->read_from == ReadFrom::primary) [[likely]] {
    dispatcher_->start_at(*op, *node);
  } else {
    submit(*op);
  }
  return handle;
}

OperationHandle Core::start_other(Plan& plan, const CallSpec& call, const CallOptions& options) {
  if (auto error = make_plan(plan, call, options, config_, learned_)) {
    return refused(std::move(*error));
  }
  HotKeySampler::count(hot_keys_.get(), plan, call);
  if (!accept()) return refused(refusal());
  Operation* op = make_operation(call, options, plan);
  OperationHandle handle(op);
  submit(*op);
  return handle;
}

/// An operation that has ended already.
OperationHandle Core::refused(Error error) {
  pending_.fetch_add(1);  // deliver() lowers it
  Operation* op = Operation::take_from_pool(*this);
  op->deliver(std::move(error));
  return OperationHandle(op);
}

void Core::submit(Operation& op) {
  // A call made in a callback goes out with this very turn of the loop.
  if (loop_.in_loop_thread()) return start_on_loop(op);
  op.run = [](net::Task* task) {
    auto& self = static_cast<Operation&>(static_cast<routing::Request&>(*task));
    self.core().start_on_loop(self);
  };
  loop_.post(&op);
}

void Core::start_on_loop(Operation& op) {
  if (op.has_caller) callers_.add(op);
  if (op.seen != nullptr) [[unlikely]] {
    const auto seen = std::move(op.seen);
    if (seen->reply) return dispatcher_->resume_with_reply(op, seen->node, std::move(*seen->reply));
    return dispatcher_->resume_with_failure(op, seen->node, *seen->error, seen->expired);
  }
  if (!op.node_name.empty()) return start_at_named_node(op);
  if (op.needs_learning && !closed_.load()) return learn(op);
  dispatcher_->start(op);
}

void Core::start_at_named_node(Operation& op) {
  const auto endpoint = base::parse_server_endpoint(op.node_name);
  if (endpoint) {
    for (const auto& node : dispatcher_->nodes().all()) {
      if (node->retired() || !base::same_endpoint(node->identity().endpoint, *endpoint)) continue;
      op.fixed_node = node.get();
      return dispatcher_->start(op);
    }
  }
  dispatcher_->finish(
      op, Error(ErrorCode::invalid_argument, Outcome::not_sent,
                "no node \"" + op.node_name + "\" in the topology; Client::topology() lists them"));
}

Error Core::error_after_fork() {
  return Error(ErrorCode::refused, Outcome::not_sent,
               "this client was made before fork(): make a new one in the child");
}

std::optional<Error> Core::execute(const CallSpec& call, const CallOptions& options,
                                   const Sink& sink) {
  if (fork_generation_ != net::fork_generation()) [[unlikely]] {
    return error_after_fork();
  }
  if (loop_.in_loop_thread()) [[unlikely]] {
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
  Operation* op = nullptr;
  std::optional<ModeSwitch::Caller> caller;
  if (!plan.blocking) caller.emplace(mode_);
  if (caller && caller->in_place() && plan.way == Plan::Way::one &&
      read_from_of(plan, options, config_) == ReadFrom::primary &&
      (plan.target == routing::Target::slot || config_.mode != Mode::cluster)) {
    if (try_direct(call, options, plan, sink, op, error)) return error;
  }
  if (op == nullptr) {
    if (!accept()) return refusal();
    op = make_operation(call, options, plan);
  }
  OperationHandle handle(op);
  op->has_caller = true;
  op->competes.store(caller.has_value(), std::memory_order_relaxed);
  if (caller) caller->hand_over();
  submit(*op);
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
bool Core::try_direct(const CallSpec& call, const CallOptions& options, const Plan& plan,
                      const Sink& sink, Operation*& op, std::optional<Error>& error) {
  if (plan.target == routing::Target::fixed_node) return false;
  routing::Node* node = dispatcher_->node_for(plan.slot);
  if (node == nullptr || closed_.load(std::memory_order_relaxed)) return false;
  link::DirectConnection* const taken = node->acquire_direct();
  if (taken == nullptr) {
    want_direct(*node);
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
  return !have_judged(call, options, plan, *node, std::move(bad), exchange, op, error);
}

/// A caller in place got something else than a plain reply: it is judged where everything is, as
/// `op`. False: the client is closed, `error` is the end of it.
bool Core::have_judged(const CallSpec& call, const CallOptions& options, const Plan& plan,
                       routing::Node& node, std::optional<Reply>&& reply,
                       const link::Exchange& exchange, Operation*& op,
                       std::optional<Error>& error) {
  if (!accept()) {
    error = reply ? Error(ErrorCode::server, Outcome::rejected, std::string(reply->text()))
                        .with_server_text(std::string(reply->text()))
                  : failed(closed_error(exchange.error->outcome()), node);
    return false;
  }
  op = make_operation(call, options, plan);
  op->special = true;
  op->seen = std::make_unique<Operation::Seen>(Operation::Seen{
      node, std::move(reply), exchange.error, exchange.status == link::Exchange::Status::expired});
  return true;
}

/// No connection for callers in place is free: the loop opens one more, if there may be one.
void Core::want_direct(routing::Node& node) noexcept {
  if (!node.wants_direct()) return;
  if (!accept()) return;
  struct Grow : net::Task {
    Core* core = nullptr;
    routing::Node* node = nullptr;
  };
  auto* task = new (std::nothrow) Grow();
  if (task == nullptr) return call_ended(nullptr);
  task->core = this;
  task->node = &node;
  task->run = [](net::Task* t) {
    const std::unique_ptr<Grow> self(static_cast<Grow*>(t));
    if (!self->core->closed_.load()) self->node->grow_direct();
    self->core->call_ended(nullptr);
  };
  loop_.post(task);
}

}  // namespace slotwise::detail
