#include "cli/doctor/gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <string_view>

#include "cli/doctor/dns_ttl.hpp"

namespace slotwise::cli {

namespace {

/// The reason without the way there: a call that was retried until its deadline tells all of it.
std::string reason_of(const Error& error) {
  std::string text(error.message());
  if (const std::size_t path = text.find(" (path: "); path != std::string::npos) text.resize(path);
  if (const std::size_t last = text.find("; last: "); last != std::string::npos)
    text.erase(0, last + 8);
  return text;
}

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
      facts_.trouble = reason_of(pong.error());
    }
    if (auto info = text(info_); info) {
      facts_.info = parse_info(*info);
    } else {
      facts_.info_trouble = reason_of(info.error());
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
        setting.why_not = reason_of(reply.error());
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

/// The names by which clients reach these nodes and those of the URI.
std::vector<std::string> names_of(const std::vector<NodeFacts>& nodes, const Config& config) {
  std::vector<std::string> names;
  for (const NodeFacts& node : nodes)
    names.push_back(node.endpoint.substr(0, node.endpoint.rfind(':')));
  for (const Endpoint& seed : config.endpoints)
    names.push_back(seed.host);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name.starts_with('[') || is_address(name);
  });
  return names;
}

Facts begin_facts(const Config& config) {
  Facts facts;
  facts.mode = config.mode;
  facts.seeds = config.endpoints;
  facts.call_timeout = config.timeout;
  return facts;
}

Config single_config(const Config& config, const Endpoint& endpoint,
                     std::chrono::milliseconds limit) {
  Config single = config;
  single.mode = Mode::single;
  single.endpoints = {endpoint};
  single.sentinel_name.clear();
  single.database = 0;
  single.timeout = limit;
  single.events = nullptr;
  return single;
}

using TextMap = std::map<std::string, std::string>;

SentinelFacts ask_sentinel(const Config& config, const Endpoint& endpoint,
                           std::chrono::milliseconds limit) {
  SentinelFacts facts;
  facts.endpoint = endpoint.to_string();
  Config single = single_config(config, endpoint, limit);
  single.credentials = config.sentinel_credentials;
  single.credentials_provider = nullptr;
  if (config.sentinel_tls) single.tls = *config.sentinel_tls;
  try {
    const Client client = Client::connect(single);
    const std::string& name = config.sentinel_name;
    const auto primary = client.command<TextMap>("SENTINEL", "MASTER", name);
    facts.primary.insert(primary.begin(), primary.end());
    for (auto& replica : client.command<std::vector<TextMap>>("SENTINEL", "SLAVES", name))
      facts.replicas.push_back(fmt::format("{}:{}", replica["ip"], replica["port"]));
    const std::array<std::string_view, 3> ckquorum{"SENTINEL", "CKQUORUM", name};
    const auto word = convert<std::string>(client.command_words(ckquorum));
    facts.quorum_reached = word.has_value();
    facts.ckquorum = word ? *word : reason_of(word.error());
  } catch (const Error& error) {
    facts.trouble = reason_of(error);
  }
  return facts;
}

NodeFacts ask_server(const Config& config, const std::string& endpoint,
                     std::chrono::milliseconds limit) {
  try {
    const std::size_t colon = endpoint.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1)));
    std::string host = endpoint.substr(0, colon);
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    const Client client = Client::connect(single_config(config, {host, port}, limit));
    TopologyInfo::Node node;
    node.endpoint = endpoint;
    return Questions(client, node, false, limit).answers();
  } catch (const Error& error) {
    NodeFacts facts;
    facts.endpoint = endpoint;
    facts.trouble = reason_of(error);
    return facts;
  }
}

/// The primary that most of the answering sentinels name first, then all replicas that any knows.
std::vector<std::string> servers_of(const std::vector<SentinelFacts>& sentinels) {
  std::map<std::string, int> votes;
  for (const SentinelFacts& sentinel : sentinels) {
    if (sentinel.trouble.empty()) ++votes[sentinel.primary_address()];
  }
  if (votes.empty()) return {};
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> servers{most->first};
  for (const SentinelFacts& sentinel : sentinels) {
    for (const std::string& replica : sentinel.replicas) {
      if (std::find(servers.begin(), servers.end(), replica) == servers.end())
        servers.push_back(replica);
    }
  }
  return servers;
}

/// `ask` for each, all at once.
template <class Out, class In, class Ask>
std::vector<Out> ask_all(const std::vector<In>& whom, Ask ask) {
  std::vector<std::future<Out>> asked;
  for (const In& one : whom)
    asked.push_back(std::async(std::launch::async, [&] { return ask(one); }));
  std::vector<Out> out;
  for (auto& answer : asked)
    out.push_back(answer.get());
  return out;
}

}  // namespace

Facts gather(const Client& client, const Config& config, std::chrono::milliseconds limit) {
  Facts facts = begin_facts(config);
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
  facts.names = look_up(names_of(facts.nodes, config), config.dns_servers, limit);
  return facts;
}

Facts gather_by_sentinels(const Config& config, std::chrono::milliseconds limit) {
  Facts facts = begin_facts(config);
  facts.sentinels = ask_all<SentinelFacts>(config.endpoints, [&](const Endpoint& endpoint) {
    return ask_sentinel(config, endpoint, limit);
  });
  facts.nodes = ask_all<NodeFacts>(servers_of(facts.sentinels), [&](const std::string& endpoint) {
    return ask_server(config, endpoint, limit);
  });
  facts.names = look_up(names_of(facts.nodes, config), config.dns_servers, limit);
  return facts;
}

}  // namespace slotwise::cli
