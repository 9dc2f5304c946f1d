// Looking in from outside: counters, topology, a refresh on request.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/core.hpp"

namespace slotwise::detail {
namespace {

Error closed_before() {
  return Error(ErrorCode::cancelled, Outcome::not_sent, "the client is closed");
}

}  // namespace

/// The first knows of every change. In a callback its own: nobody waits for another loop there.
Engine& Core::engine_to_ask() noexcept {
  return in_loop_thread() ? *Engine::current() : *engines_.front();
}

Stats Core::stats() {
  Stats s;
  s.commands = commands_.read();
  for (const auto& engine : engines_)
    engine->add_to(s);
  s.pending = pending_.load();
  return s;
}

TopologyInfo Core::topology() {
  Engine& engine = engine_to_ask();
  TopologyInfo info;
  engine.run([&] { info = engine.dispatcher().keeper().info(); });
  return info;
}

Result<void> Core::refresh() {
  if (config_.mode == Mode::single) return {};
  // An answer to what was asked before does not count: it may be older than what the caller knows.
  std::vector<std::uint64_t> questions;
  for (const auto& engine : engines_) {
    const auto question = engine->ask_for_view();
    if (!question) return closed_before();
    questions.push_back(*question);
  }
  const auto limit = routing::Clock::now() + config_.timeout;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    if (engines_[i]->wait_for_view(questions[i], limit)) continue;
    return Error(ErrorCode::timeout, Outcome::not_sent,
                 config_.mode == Mode::cluster ? "no node gave its view of the cluster"
                                               : "the sentinels did not name a primary");
  }
  return {};
}

Result<void> Core::reauthenticate() {
  std::vector<OperationHandle> answers;
  for (const auto& engine : engines_) {
    const bool open = engine->run([&] {
      engine->dispatcher().reauthenticate();
      // Behind the AUTH on each connection, so that its answer is in when these are.
      for (const auto& node : engine->dispatcher().nodes().all()) {
        if (node->connected()) answers.push_back(start_ping(*engine, node->name()));
      }
    });
    if (!open) return closed_before();
  }
  for (OperationHandle& answer : answers)
    (void)answer.wait();
  std::optional<Error> refusal;
  for (const auto& engine : engines_) {
    engine->run([&] {
      if (!refusal) refusal = engine->dispatcher().auth_refused();
    });
  }
  if (refusal) return *refusal;
  return {};
}

/// To that very node, over the connection that this engine has to it.
OperationHandle Core::start_ping(Engine& engine, std::string node) {
  constexpr std::string_view ping[] = {"PING"};
  CallOptions options;
  options.node = std::move(node);
  Plan plan;
  return start_other(plan, {.words = ping}, options, &engine);
}

}  // namespace slotwise::detail
