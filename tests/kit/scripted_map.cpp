#include "kit/scripted_map.hpp"

#include <fmt/format.h>

#include "kit/resp_bytes.hpp"
#include "kit/scripted_node.hpp"

namespace slotwise::kit {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// A map in RESP3, a flat array in RESP2: as servers do.
std::string map_or_flat(const Pairs& encoded, bool resp3) {
  if (resp3) return resp::map(encoded);
  std::vector<std::string> flat;
  for (const auto& [key, value] : encoded)
    flat.insert(flat.end(), {key, value});
  return resp::array(flat);
}

std::string slots_node(const ScriptedMapNode& node, bool resp3) {
  Pairs metadata;
  for (const auto& [key, value] : node.metadata) {
    metadata.emplace_back(resp::bulk(key), resp::bulk(value));
  }
  return resp::array({resp::bulk(node.host), resp::integer(node.port), resp::bulk(node.id),
                      map_or_flat(metadata, resp3)});
}

std::string shards_node(const ScriptedMapNode& node, bool primary, bool resp3) {
  Pairs fields = {{resp::bulk("id"), resp::bulk(node.id)},
                  {resp::bulk("port"), resp::integer(node.port)},
                  {resp::bulk("ip"), resp::bulk(node.host)},
                  {resp::bulk("endpoint"), resp::bulk(node.host)},
                  {resp::bulk("role"), resp::bulk(primary ? "master" : "replica")},
                  {resp::bulk("replication-offset"), resp::integer(0)},
                  {resp::bulk("health"), resp::bulk("online")}};
  for (const auto& [key, value] : node.metadata) {
    if (key == "hostname") fields.emplace_back(resp::bulk(key), resp::bulk(value));
  }
  return map_or_flat(fields, resp3);
}

}  // namespace

void ScriptedMap::set(std::vector<ScriptedRange> ranges) {
  const std::lock_guard lock(mutex_);
  ranges_ = std::move(ranges);
}

void ScriptedMap::share_among(const std::vector<const ScriptedNode*>& primaries) {
  std::vector<ScriptedRange> ranges;
  const auto count = static_cast<int>(primaries.size());
  for (int i = 0; i < count; ++i) {
    // As valkey-cli does: 0-5460, 5461-10922, 10923-16383.
    const auto bound = [&](int part) { return (16384 * part + count / 2) / count; };
    ranges.push_back({.first = bound(i),
                      .last = bound(i + 1) - 1,
                      .nodes = {primaries[static_cast<std::size_t>(i)]->map_node()}});
  }
  set(std::move(ranges));
}

std::vector<ScriptedRange> ScriptedMap::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

std::string ScriptedMap::slots_reply(bool resp3) const {
  std::vector<std::string> entries;
  for (const auto& range : ranges()) {
    std::vector<std::string> entry{resp::integer(range.first), resp::integer(range.last)};
    for (const auto& node : range.nodes)
      entry.push_back(slots_node(node, resp3));
    entries.push_back(resp::array(entry));
  }
  return resp::array(entries);
}

std::string ScriptedMap::shards_reply(bool resp3) const {
  std::vector<std::string> shards;
  for (const auto& range : ranges()) {
    std::vector<std::string> nodes;
    for (const auto& node : range.nodes)
      nodes.push_back(shards_node(node, nodes.empty(), resp3));
    shards.push_back(map_or_flat({{resp::bulk("slots"), resp::array({resp::integer(range.first),
                                                                     resp::integer(range.last)})},
                                  {resp::bulk("nodes"), resp::array(nodes)}},
                                 resp3));
  }
  return resp::array(shards);
}

std::string ScriptedMap::nodes_reply(const std::string& myself_id) const {
  std::string text;
  for (const auto& range : ranges()) {
    for (std::size_t i = 0; i < range.nodes.size(); ++i) {
      const auto& node = range.nodes[i];
      const char* myself = node.id == myself_id ? "myself," : "";
      text += fmt::format("{} {}:{}@{} {}{} {} 0 0 1 connected", node.id, node.host, node.port,
                          node.port + 10000, myself, i == 0 ? "master" : "slave",
                          i == 0 ? "-" : range.nodes[0].id);
      if (i == 0) text += fmt::format(" {}-{}", range.first, range.last);
      text += '\n';
    }
  }
  return resp::bulk(text);
}

}  // namespace slotwise::kit
