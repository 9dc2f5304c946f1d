#include "kit/scripted_sentinel.hpp"

#include "kit/resp_bytes.hpp"

namespace slotwise::kit {

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string instance(const Fields& fields, bool resp3) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::vector<std::string> flat;
  for (const auto& [name, value] : fields) {
    pairs.emplace_back(resp::bulk(name), resp::bulk(value));
    flat.insert(flat.end(), {resp::bulk(name), resp::bulk(value)});
  }
  return resp3 ? resp::map(pairs) : resp::array(flat);
}

}  // namespace

ScriptedSentinel::ScriptedSentinel(std::string name, ScriptedNodeOptions options)
    : name_(std::move(name)) {
  options.mode = "sentinel";
  options.role = "sentinel";
  node_ = std::make_unique<ScriptedNode>(std::move(options));
  node_->handle({"SENTINEL"}, [this](int connection, const Command& command) {
    return answer(connection, command);
  });
}

void ScriptedSentinel::say(ScriptedWatch watch) {
  const std::lock_guard lock(mutex_);
  watch_ = std::move(watch);
}

void ScriptedSentinel::say_unknown() {
  const std::lock_guard lock(mutex_);
  watch_.reset();
}

void ScriptedSentinel::set_others(std::vector<std::pair<Address, std::string>> addresses_and_ids) {
  const std::lock_guard lock(mutex_);
  others_ = std::move(addresses_and_ids);
}

void ScriptedSentinel::publish(const std::string& channel, const std::string& text) {
  node_->send(0, resp::push({resp::bulk("message"), resp::bulk(channel), resp::bulk(text)}));
}

std::optional<ScriptedReply> ScriptedSentinel::answer(int connection,
                                                      const Command& command) const {
  if (command.size() < 2) return std::nullopt;
  if (same_name(command[1], "MYID")) return resp::bulk(node_->id());
  const bool resp3 = node_->connection(connection).resp3;
  const std::lock_guard lock(mutex_);
  const bool known = command.size() > 2 && command[2] == name_ && watch_;
  if (same_name(command[1], "GET-MASTER-ADDR-BY-NAME")) {
    if (!known) return resp3 ? resp::nil3() : std::string("*-1\r\n");
    return resp::bulks({watch_->primary.host, std::to_string(watch_->primary.port)});
  }
  if (!known) return resp::error("ERR No such master with that name");
  if (same_name(command[1], "MASTER")) {
    return instance({{"name", name_},
                     {"ip", watch_->primary.host},
                     {"port", std::to_string(watch_->primary.port)},
                     {"runid", ""},
                     {"flags", "master"},
                     {"config-epoch", std::to_string(watch_->epoch)},
                     {"num-slaves", std::to_string(watch_->replicas.size())},
                     {"num-other-sentinels", std::to_string(others_.size())},
                     {"quorum", "2"}},
                    resp3);
  }
  std::vector<std::string> list;
  if (same_name(command[1], "SENTINELS")) {
    for (const auto& [address, id] : others_) {
      list.push_back(instance({{"name", id},
                               {"ip", address.host},
                               {"port", std::to_string(address.port)},
                               {"runid", id},
                               {"flags", "sentinel"}},
                              resp3));
    }
    return resp::array(list);
  }
  if (!same_name(command[1], "REPLICAS") && !same_name(command[1], "SLAVES")) return std::nullopt;
  for (const auto& replica : watch_->replicas) {
    list.push_back(instance({{"name", replica.address.to_string()},
                             {"ip", replica.address.host},
                             {"port", std::to_string(replica.address.port)},
                             {"runid", ""},
                             {"flags", replica.flags},
                             {"master-link-status", replica.link_status}},
                            resp3));
  }
  return resp::array(list);
}

ScriptedSentinels::ScriptedSentinels(std::size_t count, const std::string& name) {
  for (std::size_t i = 0; i < count; ++i)
    all_.push_back(std::make_unique<ScriptedSentinel>(name));
  for (auto& sentinel : all_) {
    std::vector<std::pair<Address, std::string>> others;
    for (const auto& other : all_) {
      if (other != sentinel) others.emplace_back(other->node().address(), other->node().id());
    }
    sentinel->set_others(std::move(others));
  }
}

void ScriptedSentinels::say(const ScriptedWatch& watch) {
  for (auto& sentinel : all_)
    sentinel->say(watch);
}

void ScriptedSentinels::publish(const std::string& channel, const std::string& text) {
  for (auto& sentinel : all_)
    sentinel->publish(channel, text);
}

void ScriptedSentinels::wait_for_subscribers() const {
  for (const auto& sentinel : all_)
    sentinel->node().wait_for({"SUBSCRIBE"});
}

void ScriptedSentinels::stop_listening() {
  for (auto& sentinel : all_)
    sentinel->node().stop_listening();
}

void ScriptedSentinels::listen_again() {
  for (auto& sentinel : all_)
    sentinel->node().listen_again();
}

}  // namespace slotwise::kit
