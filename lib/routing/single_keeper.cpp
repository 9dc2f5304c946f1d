#include "routing/single_keeper.hpp"

#include <slotwise/slot.hpp>

#include <utility>

namespace slotwise::routing {

using topology::RefreshReason;

SingleKeeper::SingleKeeper(const Surroundings& surroundings, NodeSet& nodes, SlotTable& table,
                           KeeperEvents& events)
    : nodes_(nodes),
      table_(table),
      events_(events),
      home_(nodes.at(surroundings.config.endpoints.front())),
      current_(&home_) {
  table_.set_all(&home_);
}

void SingleKeeper::start() {
  home_.connect();
}

void SingleKeeper::use(Node& node) {
  if (&node == current_ || stopped_) return;
  Node& before = *std::exchange(current_, &node);
  table_.set_all(&node);
  events_.on_node_changed(before);
  events_.on_map_changed();
}

void SingleKeeper::trigger(RefreshReason reason) {
  if (reason == RefreshReason::read_only) use(home_);
}

Node& SingleKeeper::moved(std::uint16_t /*slot*/, const Endpoint& endpoint) {
  Node& node = nodes_.at(endpoint);
  use(node);
  return node;
}

void SingleKeeper::node_failed(Node& node, RefreshReason /*reason*/) {
  if (&node == current_) use(home_);
}

void SingleKeeper::node_down(Node& node, const Error& error) {
  if (stopped_) return;
  if (&node == current_) use(home_);
  if (usable_) return;
  const bool hopeless =
      error.code() == ErrorCode::auth_failed || error.code() == ErrorCode::invalid_argument;
  events_.on_start_problem(error.with_node(node.name()), hopeless);
  if (!hopeless) node.connect();
}

void SingleKeeper::node_up(Node& node) {
  if (&node == current_) usable_ = true;
}

Error SingleKeeper::why_nobody(bool /*has_slot*/, std::uint16_t /*slot*/) const {
  return Error(ErrorCode::connect_failed, Outcome::not_sent, "the server is not known yet");
}

TopologyInfo SingleKeeper::info() const {
  TopologyInfo info;
  info.mode = Mode::single;
  TopologyInfo::Node node;
  node.endpoint = current_->name();
  node.healthy = current_->connected();
  node.slots.push_back({0, slot_count - 1});
  info.nodes.push_back(std::move(node));
  info.covered_slots = slot_count;
  return info;
}

}  // namespace slotwise::routing
