// What the tests of Config::io_threads share.
#pragma once

#include <string>
#include <vector>

#include "kit/cluster.hpp"
#include "server/support.hpp"

namespace slotwise::test {

inline Config config_of(const kit::Cluster& cluster, int io_threads) {
  Config config = Config::parse(cluster.uri());
  config.io_threads = io_threads;
  return config;
}

/// `each` keys of every primary, in turn: of the first, the second, the third, the first ...
inline std::vector<std::string> keys_of_all(const kit::Cluster& cluster, std::size_t each) {
  const std::vector<std::size_t> primaries = cluster.primaries();
  std::vector<kit::ClusterNode> nodes;
  for (const std::size_t primary : primaries)
    nodes.push_back(cluster.node(primary));
  const auto owns = [](const kit::ClusterNode& node, int wanted) {
    for (const auto& range : node.slots) {
      if (range.first <= wanted && wanted <= range.last) return true;
    }
    return false;
  };
  std::vector<std::string> keys;
  int number = 0;
  while (keys.size() < each * nodes.size()) {
    std::string key = "key:" + std::to_string(number++);
    if (owns(nodes[keys.size() % nodes.size()], slot(key))) keys.push_back(std::move(key));
  }
  return keys;
}

/// "0", "1", ... as RPUSH put them.
inline std::vector<std::string> numbers(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i)
    out.push_back(std::to_string(i));
  return out;
}

}  // namespace slotwise::test
