#include "routing/fan_out.hpp"

#include <algorithm>
#include <utility>

#include "commands/aggregate.hpp"
#include "commands/keys.hpp"
#include "resp/encoder.hpp"
#include "routing/dispatcher.hpp"

namespace slotwise::routing {
namespace {

/// "keys a, b, c and 12 more": enough to find the shard, not a list without end.
std::string key_label(const commands::CommandInfo& info, commands::Args words) {
  constexpr std::size_t shown = 5;
  commands::Keys keys;
  commands::extract_keys(info, words, keys, commands::KeyUse::data);
  std::string label = "keys ";
  std::size_t n = 0;
  for (const commands::KeyRef key : keys) {
    if (n < shown) {
      if (n > 0) label += ", ";
      label += words[key.index].substr(0, 64);
    }
    ++n;
  }
  if (n > shown) label += " and " + std::to_string(n - shown) + " more";
  return label;
}

}  // namespace

std::unique_ptr<FanOut> FanOut::by_slot(const commands::CommandInfo& info, commands::Args words) {
  auto fan_out = std::unique_ptr<FanOut>(new FanOut(info));
  fan_out->split_ = commands::split(info, words);
  for (commands::Part& piece : fan_out->split_) {
    auto part = std::make_unique<Part>();
    part->owner = fan_out.get();
    part->encode(piece.args);
    part->target = Target::slot;
    part->slot = piece.slot;
    part->label = key_label(info, piece.args);
    piece.args.clear();  // views into the caller's memory
    fan_out->parts_.push_back(std::move(part));
  }
  return fan_out;
}

std::unique_ptr<FanOut> FanOut::everywhere(const commands::CommandInfo& info, bool all_nodes) {
  auto fan_out = std::unique_ptr<FanOut>(new FanOut(info));
  fan_out->everywhere_ = true;
  fan_out->all_nodes_ = all_nodes;
  return fan_out;
}

FanOut::Part& FanOut::add_part(const Request& parent) {
  auto part = std::make_unique<Part>();
  part->owner = this;
  part->encoded = parent.bytes;
  part->bytes = part->encoded;
  return *parts_.emplace_back(std::move(part));
}

void FanOut::add_everywhere(Dispatcher& dispatcher, const Request& parent) {
  // By slot rather than by node: after a failover the retry reaches the new primary.
  for (const std::uint16_t slot : dispatcher.keeper().slot_of_each_shard()) {
    Part& part = add_part(parent);
    part.target =
        dispatcher.surroundings().config.mode == Mode::cluster ? Target::slot : Target::any_primary;
    part.slot = slot;
  }
  if (!all_nodes_) return;
  for (Node* node : dispatcher.keeper().replicas()) {
    Part& part = add_part(parent);
    part.target = Target::fixed_node;
    part.fixed_node = node;
  }
}

void FanOut::start(Dispatcher& dispatcher, Request& parent) {
  dispatcher_ = &dispatcher;
  parent_ = &parent;
  if (everywhere_) add_everywhere(dispatcher, parent);
  for (auto& part : parts_) {
    part->deadline = parent.deadline;
    const Target target = part->target;
    const std::uint16_t slot = part->slot;
    static_cast<Kind&>(*part) = parent;
    part->target = target;
    part->slot = slot;
  }
  if (parts_.empty()) {
    return dispatcher.finish(
        parent, Error(ErrorCode::slot_not_covered, Outcome::not_sent, "no primary is known"));
  }
  open_ = parts_.size();
  // A part may be answered before the last one is started: nobody is done before all are.
  ++open_;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    dispatcher.start(*parts_[i]);
  if (--open_ == 0) dispatcher.finish(parent, joined());
}

void FanOut::Part::deliver(Result<Reply>&& r) noexcept {
  result.emplace(std::move(r));
  owner->part_done(*this);
}

void FanOut::part_done(Part& part) {
  if (part.label.empty()) {
    part.label = "node " + (part.node != nullptr ? part.node->name() : std::string("(none)"));
  }
  if (--open_ == 0) dispatcher_->finish(*parent_, joined());
}

Error FanOut::first_error() const {
  const Part* failed = nullptr;
  std::size_t failures = 0;
  bool all_idle = true;  // no part has run or may have run
  for (const auto& part : parts_) {
    if (part->result->has_value()) {
      all_idle = false;
      continue;
    }
    ++failures;
    if (failed == nullptr) failed = part.get();
    all_idle = all_idle && part->result->error().did_not_run();
  }
  const Error& e = failed->result->error();
  std::string text = failed->label + ": " + std::string(e.message());
  if (failures > 1) text += " (and " + std::to_string(failures - 1) + " more parts failed)";
  Error error = e.with_message(std::move(text));
  return all_idle || parent_->read_only ? error : error.with_outcome(Outcome::unknown);
}

Result<Reply> FanOut::joined() {
  const bool any_will_do = info_.response_policy == commands::ResponsePolicy::one_succeeded;
  const auto failed = [](const auto& part) { return !part->result->has_value(); };
  const bool error = any_will_do ? std::all_of(parts_.begin(), parts_.end(), failed)
                                 : std::any_of(parts_.begin(), parts_.end(), failed);
  if (error) return first_error();
  Reply reply;
  if (everywhere_) {
    std::vector<commands::NodeReply> replies;
    for (auto& part : parts_) {
      if (!part->result->has_value()) continue;
      replies.push_back(
          {part->node != nullptr ? part->node->name() : std::string(), std::move(**part->result)});
    }
    reply = commands::combine(info_, std::move(replies)).reply;
  } else {
    std::vector<Reply> replies;
    for (auto& part : parts_)
      replies.push_back(std::move(**part->result));
    reply = commands::join(info_, split_, std::move(replies));
  }
  if (!reply.is_error()) return reply;
  return Error(ErrorCode::server, Outcome::executed, std::string(reply.text()))
      .with_server_text(std::string(reply.text()));
}

}  // namespace slotwise::routing
