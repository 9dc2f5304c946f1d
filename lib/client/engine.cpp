#include "client/engine.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>
#include <utility>

#include "base/endpoint.hpp"
#include "client/core.hpp"

namespace slotwise::detail {
namespace {

std::string comma_list(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    out += (out.empty() ? "" : ",") + part;
  return out;
}

/// The application's signals are for its own threads: those that begin meanwhile get none.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    ::sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  ::sigset_t before_;
};

}  // namespace

// --- start and end ---------------------------------------------------------------------------

Engine::Engine(Core& core, Config config, const Tls& tls)
    : core_(core),
      config_(std::move(config)),
      observer_(config_.events),
      callers_(loop_, core.mode()) {
  net::resolver_settings names;
  names.dns_servers = comma_list(config_.dns_servers);
  resolver_.emplace(loop_, std::move(names));
  if (const net::error& e = resolver_->settings_error()) {
    throw Error(ErrorCode::invalid_argument, Outcome::not_sent, e.text);
  }
  const routing::Surroundings around{loop_,     *resolver_,  config_,
                                     observer_, tls.servers, tls.sentinels};
  dispatcher_.emplace(around, static_cast<routing::StartListener&>(*this));
  close_task_.engine = this;
  close_task_.run = [](net::Task* task) {
    Engine& self = *static_cast<CloseTask*>(task)->engine;
    self.dispatcher_->close();
    self.loop_.stop();
  };
}

void Engine::launch(std::shared_ptr<Core> core, const char* name) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this, owner = std::move(core)] { run_loop(); });
  ::pthread_setname_np(thread_.native_handle(), name);
}

void Engine::run_loop() {
  here_ = this;
  dispatcher_->begin();
  loop_.run();
  // Closed: what was posted meanwhile is refused, callers in direct mode give their connections
  // back, and then nothing can reach the loop any more.
  while (core_.pending() != 0 || !dispatcher_->quiet()) {
    loop_.run_once(std::chrono::milliseconds(10));
  }
  loop_.run_once(std::chrono::milliseconds(0));
  here_ = nullptr;
}

void Engine::close() noexcept {
  if (here_ == this) return close_task_.run(&close_task_);
  loop_.post(&close_task_);
}

void Engine::join() noexcept {
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

void Engine::let_go() noexcept {
  join();
  if (thread_.joinable()) thread_.detach();
}

void Engine::wait_until_usable(routing::TimePoint limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, limit, [this] { return usable_ || hopeless_; });
  if (usable_) return;
  if (start_error_) throw *start_error_;
  throw Error(ErrorCode::connect_failed, Outcome::not_sent,
              "no answer from " + config_.to_string() + " within " +
                  std::to_string(config_.timeout.count()) + " ms");
}

void Engine::on_usable() {
  const std::lock_guard lock(mutex_);
  usable_ = true;
  changed_.notify_all();
}

void Engine::on_view(std::uint64_t question) {
  const std::lock_guard lock(mutex_);
  answered_question_ = std::max(answered_question_, question);
  changed_.notify_all();
}

void Engine::on_start_problem(const Error& error, bool hopeless) {
  const std::lock_guard lock(mutex_);
  start_error_ = error;
  hopeless_ = hopeless;
  if (hopeless) changed_.notify_all();
}

// --- calls -----------------------------------------------------------------------------------

void Engine::submit(Operation& op) {
  // A call made in a callback goes out with this very turn of the loop.
  if (here_ == this) return start(op);
  op.run = [](net::Task* task) {
    auto& self = static_cast<Operation&>(static_cast<routing::Request&>(*task));
    self.engine().start(self);
  };
  loop_.post(&op);
}

void Engine::start(Operation& op) {
  if (op.has_caller) callers_.add(op);
  if (op.seen != nullptr) [[unlikely]] {
    const auto seen = std::move(op.seen);
    if (seen->reply) return dispatcher_->resume_with_reply(op, seen->node, std::move(*seen->reply));
    return dispatcher_->resume_with_failure(op, seen->node, *seen->error, seen->expired);
  }
  if (!op.node_name.empty()) return start_at_named_node(op);
  if (op.needs_learning && !core_.closed()) return learn(op);
  dispatcher_->start(op);
}

void Engine::start_at_named_node(Operation& op) {
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

// --- jobs ------------------------------------------------------------------------------------

bool Engine::run(const std::function<void()>& job) {
  if (core_.forked()) return false;
  if (here_ == this) {
    job();
    return true;
  }
  if (!core_.count_in()) return false;
  struct Job : net::Task {
    const std::function<void()>* work = nullptr;
    std::atomic<std::uint32_t> finished{0};
  } task;
  task.work = &job;
  task.run = [](net::Task* t) {
    auto& self = static_cast<Job&>(*t);
    (*self.work)();
    self.finished.store(1, std::memory_order_release);
    futex_wake(self.finished);
  };
  loop_.post(&task);
  while (task.finished.load(std::memory_order_acquire) == 0)
    futex_wait(task.finished, 0);
  core_.call_ended(nullptr);
  return true;
}

void Engine::run_later(std::function<void()> job) noexcept {
  struct Job : net::Task {
    Engine* engine = nullptr;
    std::function<void()> work;
  };
  if (!core_.count_in()) return;
  auto* task = new (std::nothrow) Job();
  if (task == nullptr) return core_.call_ended(nullptr);
  task->engine = this;
  task->work = std::move(job);
  task->run = [](net::Task* t) {
    const std::unique_ptr<Job> self(static_cast<Job*>(t));
    if (!self->engine->core_.closed()) self->work();
    self->engine->core_.call_ended(nullptr);
  };
  loop_.post(task);
}

void Engine::want_direct(routing::Node& node) noexcept {
  if (node.wants_direct()) run_later([&node] { node.grow_direct(); });
}

}  // namespace slotwise::detail
