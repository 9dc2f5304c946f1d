#include "kit/scripted_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kit/error.hpp"
#include "kit/scripted_loop.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

ScriptedNode::ScriptedNode(ScriptedNodeOptions options) {
  const bool own_map = options.map == nullptr;
  loop_ = std::make_unique<ScriptedLoop>(std::move(options));
  if (own_map) loop_->map->share_among({this});
}

ScriptedNode::~ScriptedNode() = default;

const std::string& ScriptedNode::host() const noexcept {
  return loop_->host;
}
std::uint16_t ScriptedNode::port() const noexcept {
  return loop_->port;
}
std::string ScriptedNode::endpoint() const {
  return address().to_string();
}
Address ScriptedNode::address() const {
  return {loop_->host, loop_->port};
}
const std::string& ScriptedNode::id() const noexcept {
  return loop_->id;
}
ScriptedMap& ScriptedNode::map() noexcept {
  return *loop_->map;
}

ScriptedMapNode ScriptedNode::map_node() const {
  return {.host = loop_->host, .port = loop_->port, .id = loop_->id};
}

void ScriptedNode::on(const Command& leading_words, std::vector<ScriptedReply> replies) {
  const std::lock_guard lock(loop_->mutex_);
  loop_->script_.once(leading_words, std::move(replies));
}

void ScriptedNode::always(const Command& leading_words, ScriptedReply reply) {
  handle(leading_words, [reply = std::move(reply)](int, const Command&) { return reply; });
}

void ScriptedNode::handle(const Command& leading_words, Handler handler) {
  const std::lock_guard lock(loop_->mutex_);
  loop_->script_.always(leading_words, std::move(handler));
}

void ScriptedNode::forget_scripts() {
  const std::lock_guard lock(loop_->mutex_);
  loop_->script_.clear();
}

std::size_t ScriptedNode::scripts_left() const {
  const std::lock_guard lock(loop_->mutex_);
  return loop_->script_.once_left();
}

void ScriptedNode::require_auth(const std::string& user, const std::string& password) {
  const std::lock_guard lock(loop_->mutex_);
  loop_->manners_.credentials.emplace(user, password);
}

void ScriptedNode::set_role(const std::string& role) {
  const std::lock_guard lock(loop_->mutex_);
  loop_->manners_.role = role;
}

void ScriptedNode::mute(bool on) {
  const std::lock_guard lock(loop_->mutex_);
  loop_->muted_ = on;
}

void ScriptedNode::send(int connection, const std::string& bytes) {
  loop_->send(connection, bytes);
}

void ScriptedNode::close(int connection, bool reset) {
  loop_->close(connection, reset);
}
void ScriptedNode::close_all(bool reset) {
  loop_->close(0, reset);
}
void ScriptedNode::stop_listening() {
  loop_->stop_listening();
}
void ScriptedNode::listen_again() {
  loop_->listen_again();
}

std::size_t ScriptedNode::accepts() const {
  const std::lock_guard lock(loop_->mutex_);
  return loop_->accepts_;
}

std::size_t ScriptedNode::open_connections() const {
  const auto all = connections();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& record) { return record.open; }));
}

std::vector<ConnectionRecord> ScriptedNode::connections() const {
  const std::lock_guard lock(loop_->mutex_);
  std::vector<ConnectionRecord> all;
  for (const auto& [number, record] : loop_->records_)
    all.push_back(record);
  return all;
}

ConnectionRecord ScriptedNode::connection(int number) const {
  const std::lock_guard lock(loop_->mutex_);
  const auto found = loop_->records_.find(number);
  if (found == loop_->records_.end()) {
    throw Error(fmt::format("scripted node {} has no connection {}", endpoint(), number));
  }
  return found->second;
}

std::vector<ReceivedCommand> ScriptedNode::commands() const {
  const std::lock_guard lock(loop_->mutex_);
  return loop_->commands_;
}

std::vector<ReceivedCommand> ScriptedNode::commands(const Command& leading_words) const {
  auto all = commands();
  std::erase_if(all,
                [&](const auto& received) { return !begins_with(received.words, leading_words); });
  return all;
}

std::size_t ScriptedNode::count(const Command& leading_words) const {
  const std::lock_guard lock(loop_->mutex_);
  return static_cast<std::size_t>(std::count_if(
      loop_->commands_.begin(), loop_->commands_.end(),
      [&](const auto& received) { return begins_with(received.words, leading_words); }));
}

void ScriptedNode::reset_counts() {
  loop_->reset_counts();
}

void ScriptedNode::wait_for(const Command& leading_words, std::size_t at_least,
                            milliseconds limit) const {
  wait_until([&] { return count(leading_words) >= at_least; }, limit,
             [&] {
               return fmt::format("{} x {} at scripted node {}; it has seen {} of {} commands",
                                  at_least, leading_words.empty() ? "" : leading_words[0],
                                  endpoint(), count(leading_words), commands().size());
             },
             milliseconds(2));
}

ScriptedCluster::ScriptedCluster(std::size_t count, const ScriptedNodeOptions& options) {
  std::vector<const ScriptedNode*> all;
  for (std::size_t i = 0; i < count; ++i) {
    auto own = options;
    own.map = map_;
    nodes_.push_back(std::make_unique<ScriptedNode>(std::move(own)));
    all.push_back(nodes_.back().get());
  }
  map_->share_among(all);
}

std::string ScriptedCluster::uri() const {
  std::string uri = "valkey+cluster://";
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    uri += (i == 0 ? "" : ",") + nodes_[i]->endpoint();
  }
  return uri;
}

}  // namespace slotwise::kit
