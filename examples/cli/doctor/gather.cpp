#include "cli/doctor/gather.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "cli/doctor/dns_ttl.hpp"

namespace slotwise::cli {

namespace {

/// All questions to one node, on their way.
class Questions {
 public:
  Questions(const Client& client, const TopologyInfo::Node& node, bool cluster,
            std::chrono::milliseconds limit)
      : async_(client.async().with(
            {.timeout = limit, .idempotent = true, .read_from = {}, .node = node.endpoint})),
        ping_(ask({"PING"})),
        info_(ask({"INFO"})) {
    facts_.id = node.id;
    facts_.endpoint = node.endpoint;
    for (const char* name : asked_settings)
      settings_.push_back(ask({"CONFIG", "GET", name}));
    if (!cluster) return;
    cluster_.push_back(ask({"CLUSTER", "INFO"}));
    cluster_.push_back(ask({"CLUSTER", "NODES"}));
    for (const char* name : asked_commands)
      commands_.push_back(ask({"COMMAND", "INFO", name}));
  }

  NodeFacts answers() {
    // PING, because a user may not be allowed to do the rest.
    if (const auto pong = ping_.wait(); !pong && no_answer(pong.error())) {
      facts_.trouble = pong.error().message();
    }
    if (auto info = text(info_); info) {
      facts_.info = parse_info(*info);
    } else {
      facts_.info_trouble = info.error().message();
    }
    read_settings();
    if (!cluster_.empty()) {
      if (const auto info = text(cluster_[0]); info) facts_.cluster_info = parse_info(*info);
      if (const auto nodes = text(cluster_[1]); nodes) facts_.view = parse_members(*nodes);
    }
    read_commands();
    return std::move(facts_);
  }

 private:
  Task<Reply> ask(std::initializer_list<std::string_view> words) const {
    return async_.command_words({words.begin(), words.size()});
  }

  static Result<std::string> text(Task<Reply>& task) { return convert<std::string>(task.wait()); }

  /// A server that says no is there.
  static bool no_answer(const Error& error) { return error.server_text().empty(); }

  void read_settings() {
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      Setting& setting = facts_.config[asked_settings[i]];
      const auto reply = settings_[i].wait();
      if (!reply) {
        setting.why_not = reply.error().message();
      } else if (const Reply* value = reply->find(asked_settings[i]); value != nullptr) {
        setting.value = std::string(value->text());
      }  // else: this server has no such setting
    }
  }

  void read_commands() {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      const auto reply = commands_[i].wait();
      if (!reply) continue;
      facts_.commands_known = true;
      // A nil, or an empty array, in the place of each command that it has not.
      const auto found = reply->elements();
      if (!found.empty() && !found[0].elements().empty()) facts_.commands.insert(asked_commands[i]);
    }
  }

  NodeFacts facts_;
  const Async async_;
  Task<Reply> ping_;
  Task<Reply> info_;
  std::vector<Task<Reply>> settings_;
  std::vector<Task<Reply>> cluster_;
  std::vector<Task<Reply>> commands_;
};

bool is_name(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> any{};
  return ::inet_pton(AF_INET, host.c_str(), any.data()) != 1 &&
         ::inet_pton(AF_INET6, host.c_str(), any.data()) != 1;
}

/// The names by which clients reach nodes: those that the topology names, and the URI's.
std::vector<std::string> names_of(const TopologyInfo& topology, const Config& config) {
  std::vector<std::string> names;
  for (const auto& node : topology.nodes)
    names.push_back(node.endpoint.substr(0, node.endpoint.rfind(':')));
  for (const Endpoint& seed : config.endpoints)
    names.push_back(seed.host);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name.starts_with('[') || !is_name(name);
  });
  return names;
}

}  // namespace

Facts gather(const Client& client, const Config& config, std::chrono::milliseconds limit) {
  Facts facts;
  facts.mode = config.mode;
  facts.seeds = config.endpoints;
  facts.call_timeout = config.timeout;
  // The first answer lets the client start; replicas come with this. If it fails, what is believed
  // is all there is.
  (void)client.refresh();
  const TopologyInfo topology = client.topology();
  std::vector<Questions> questions;
  questions.reserve(topology.nodes.size());
  for (const auto& node : topology.nodes)
    questions.emplace_back(client, node, config.mode == Mode::cluster, limit);
  for (Questions& node : questions)
    facts.nodes.push_back(node.answers());
  facts.names = look_up(names_of(topology, config), config.dns_servers, limit);
  return facts;
}

}  // namespace slotwise::cli
