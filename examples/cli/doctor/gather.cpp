#include "cli/doctor/gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <map>
#include <set>
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

/// The reason without the address, where that stands before it anyway.
std::string without_address(std::string text, const std::string& endpoint) {
  for (const std::string& head :
       {fmt::format("cannot connect to {}: ", endpoint), endpoint + ": "}) {
    if (text.starts_with(head)) text.erase(0, head.size());
  }
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
  facts.primary_name = config.sentinel_name;
  return facts;
}

Config single_config(const Config& config, const Endpoint& endpoint,
                     std::chrono::milliseconds limit) {
  Config single = config;
  single.mode = Mode::single;
  single.endpoints = {endpoint};
  single.sentinel_name.clear();
  single.sentinel_credentials = {};
  single.sentinel_tls.reset();
  single.database = 0;
  single.timeout = limit;
  single.events = nullptr;
  return single;
}

using TextMap = std::map<std::string, std::string>;

/// Of an entry in a sentinel's list; IPv6 in brackets.
std::string address_of(TextMap& entry) {
  const std::string& host = entry["ip"];
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", entry["port"]);
}

/// "host:port", "[v6]:port"
Endpoint endpoint_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  std::string host = text.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {host, port};
}

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
    const auto text = [&](std::initializer_list<std::string_view> words) {
      return convert<std::string>(client.command_words({words.begin(), words.size()}));
    };
    const auto primary = client.command<TextMap>("SENTINEL", "MASTER", name);
    facts.primary.insert(primary.begin(), primary.end());
    for (auto& replica : client.command<std::vector<TextMap>>("SENTINEL", "SLAVES", name))
      facts.replicas.push_back(address_of(replica));
    for (auto& peer : client.command<std::vector<TextMap>>("SENTINEL", "SENTINELS", name))
      facts.peers.push_back({address_of(peer), peer["runid"], peer["flags"]});
    if (const auto id = text({"SENTINEL", "MYID"})) facts.id = *id;
    const auto word = text({"SENTINEL", "CKQUORUM", name});
    facts.quorum_reached = word.has_value();
    facts.ckquorum = word ? *word : reason_of(word.error());
  } catch (const Error& error) {
    facts.trouble_code = error.code();
    facts.trouble = without_address(reason_of(error), facts.endpoint);
    if (error.server_text().starts_with("ERR No such master")) {
      facts.trouble_code = ErrorCode::unknown_primary;
      facts.trouble = fmt::format("it knows no primary of the name \"{}\"", config.sentinel_name);
    }
  }
  return facts;
}

/// The sentinels that these know and the URI does not name. One may have a name in the URI and an
/// address at the others, so ids count where they are told.
std::vector<Endpoint> unnamed(const std::vector<SentinelFacts>& sentinels) {
  std::set<std::string> known;
  for (const SentinelFacts& sentinel : sentinels) {
    known.insert(sentinel.endpoint);
    if (!sentinel.id.empty()) known.insert(sentinel.id);
  }
  std::vector<Endpoint> out;
  for (const SentinelFacts& sentinel : sentinels) {
    for (const SentinelPeer& peer : sentinel.peers) {
      if (known.contains(peer.endpoint) || known.contains(peer.id)) continue;
      known.insert({peer.endpoint, peer.id});
      out.push_back(endpoint_of(peer.endpoint));
    }
  }
  return out;
}

NodeFacts ask_server(const Config& config, const std::string& endpoint,
                     std::chrono::milliseconds limit) {
  try {
    const Client client = Client::connect(single_config(config, endpoint_of(endpoint), limit));
    TopologyInfo::Node node;
    node.endpoint = endpoint;
    return Questions(client, node, false, limit).answers();
  } catch (const Error& error) {
    NodeFacts facts;
    facts.endpoint = endpoint;
    facts.trouble = without_address(reason_of(error), endpoint);
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
  const auto ask = [&](const Endpoint& endpoint) { return ask_sentinel(config, endpoint, limit); };
  facts.sentinels = ask_all<SentinelFacts>(config.endpoints, ask);
  for (SentinelFacts& more : ask_all<SentinelFacts>(unnamed(facts.sentinels), ask)) {
    more.in_uri = false;
    facts.sentinels.push_back(std::move(more));
  }
  facts.nodes = ask_all<NodeFacts>(servers_of(facts.sentinels), [&](const std::string& endpoint) {
    return ask_server(config, endpoint, limit);
  });
  facts.names = look_up(names_of(facts.nodes, config), config.dns_servers, limit);
  return facts;
}

}  // namespace slotwise::cli
