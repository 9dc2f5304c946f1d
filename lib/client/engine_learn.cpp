// Commands that the table does not know: a server is asked where their keys are.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/core.hpp"
#include "client/engine.hpp"
#include "resp/encoder.hpp"
#include "routing/words.hpp"

namespace slotwise::detail {
namespace {

/// A question to any primary in the name of a call.
struct Question final : routing::Request {
  std::function<void(Result<Reply>&&)> then;
  void deliver(Result<Reply>&& result) noexcept override {
    const std::unique_ptr<Question> self(this);
    then(std::move(result));
  }
};

}  // namespace

void Engine::learn(Operation& op) {
  const auto words = routing::words_of(op.bytes);
  const auto found = core_.known_commands().find(words);
  const bool ask_keys = found.asked && found.info != nullptr;
  std::vector<std::string_view> question = {"COMMAND", ask_keys ? "GETKEYS" : "INFO"};
  if (ask_keys) {
    question.insert(question.end(), words.begin(), words.end());
  } else {
    question.push_back(words[0]);
  }
  auto* request = new Question();
  request->encode(question);
  request->read_only = request->retry_safe = true;
  request->deadline = op.deadline;
  request->then = [this, &op, ask_keys](Result<Reply>&& answer) {
    learned(op, ask_keys, std::move(answer));
  };
  dispatcher_->start(*request);
}

void Engine::learned(Operation& op, bool asked_keys, Result<Reply>&& answer) {
  if (!answer && answer.error().server_text().empty()) {
    // Nobody could be asked: the call ends as the question did.
    return dispatcher_->finish(op, answer.error().with_outcome(Outcome::not_sent));
  }
  const auto words = routing::words_of(op.bytes);
  CallSpec call;
  call.words = words;
  CallOptions options;
  options.idempotent = op.retry_safe;
  Plan plan;
  std::optional<Error> error;
  if (asked_keys) {
    const auto found = core_.known_commands().find(words);
    const auto keys =
        answer ? commands::positions_of_keys(words, *answer) : std::vector<std::uint32_t>();
    error = apply_routing(plan, commands::route_keys(found.info, words, keys), call, options);
    if (plan.way == Plan::Way::learn) plan.way = Plan::Way::one;
    plan.read_only = found.info != nullptr && found.info->read_only();
    plan.retry_safe = op.retry_safe || plan.read_only;
  } else {
    Reply reply =
        answer ? std::move(*answer)
               : Reply::make_text(Reply::Type::error, std::string(answer.error().server_text()));
    core_.known_commands().learn(words[0], reply);
    error = make_plan(plan, call, options, config_, core_.known_commands());
  }
  if (error) return dispatcher_->finish(op, std::move(*error));
  if (plan.way == Plan::Way::learn) return learn(op);  // now by COMMAND GETKEYS
  go_on(op, plan);
}

void Engine::go_on(Operation& op, const Plan& plan) {
  op.needs_learning = false;
  const ReadFrom read_from = op.read_from;
  static_cast<routing::Kind&>(op) = plan;
  op.read_from = read_from;
  if (plan.way == Plan::Way::all_shards || plan.way == Plan::Way::all_nodes) {
    op.fan_out = routing::FanOut::everywhere(*plan.info, plan.way == Plan::Way::all_nodes);
  }
  // Calls on one key go through one engine, or they would lose their order.
  Engine& right = core_.engine_of(op.slot);
  if (&right == this) return dispatcher_->start(op);
  callers_.forget(op);
  op.move_to(right);
  right.submit(op);
}

}  // namespace slotwise::detail
