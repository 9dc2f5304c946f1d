#include "serve.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kit/cluster.hpp"
#include "kit/resp_bytes.hpp"
#include "kit/scripted_node.hpp"

namespace slotwise::bench {

namespace {

int serve(const std::string& uri) {
  fmt::print("{}\n", uri);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

/// The answers about a large cluster, one round after the other.
class LargeMap {
 public:
  LargeMap(std::size_t nodes, std::size_t slots_of_range, const kit::ScriptedNode& answering)
      : primaries_(nodes / 2), slots_of_range_(slots_of_range) {
    for (std::size_t i = 0; i < 2 * primaries_; ++i) {
      // Nobody listens at the others, nor does a client connect there that has nothing to send.
      nodes_.push_back({fmt::format("127.1.{}.{}", i / 200, 1 + i % 200), answering.port(),
                        fmt::format("{:040x}", i + 1)});
    }
    nodes_[0] = answering.map_node();
  }

  std::string slots(bool resp3) {
    const std::lock_guard lock(mutex_);
    ++round_;
    std::vector<kit::ScriptedRange> ranges;
    for (std::size_t i = 0; i * slots_of_range_ < 16384; ++i) {
      const std::size_t shard = (i + (i % 10 == 0 ? round_ : 0)) % primaries_;
      const std::size_t last = std::min<std::size_t>((i + 1) * slots_of_range_, 16384) - 1;
      ranges.push_back({static_cast<int>(i * slots_of_range_),
                        static_cast<int>(last),
                        {nodes_[shard], nodes_[shard + primaries_]}});
    }
    return kit::ScriptedMap(std::move(ranges)).slots_reply(resp3);
  }

  /// With the round as everybody's epoch, for newer views to be believed.
  std::string nodes() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const bool primary = i < primaries_;
      text += fmt::format("{} {}:{}@{} {}{} {} 0 0 {} connected\n", nodes_[i].id, nodes_[i].host,
                          nodes_[i].port, nodes_[i].port + 1, i == 0 ? "myself," : "",
                          primary ? "master" : "slave", primary ? "-" : nodes_[i - primaries_].id,
                          round_);
    }
    return kit::resp::bulk(text);
  }

 private:
  const std::size_t primaries_;
  const std::size_t slots_of_range_;
  std::vector<kit::ScriptedMapNode> nodes_;
  std::mutex mutex_;
  std::size_t round_ = 0;  // guarded by mutex_
};

}  // namespace

int serve_cluster() {
  const kit::Cluster cluster({.primaries = 3});
  return serve(cluster.uri());
}

int serve_scripted(std::size_t nodes) {
  kit::ScriptedCluster cluster(nodes);
  const std::string value = kit::resp::bulk(std::string(64, 'x'));
  for (std::size_t i = 0; i < nodes; ++i) {
    cluster[i].always({"SET"}, "+OK\r\n");
    cluster[i].handle({"GET"}, [value](int, const kit::Command& command) {
      return command.at(1).starts_with("silent") ? kit::ScriptedReply::silent()
                                                 : kit::ScriptedReply(value);
    });
  }
  return serve(cluster.uri());
}

int serve_large_map(std::size_t nodes, std::size_t slots_of_range) {
  kit::ScriptedNode node;
  LargeMap map(nodes, slots_of_range, node);
  node.handle({"CLUSTER", "SLOTS"},
              [&](int, const kit::Command&) { return kit::ScriptedReply(map.slots(true)); });
  node.handle({"CLUSTER", "NODES"},
              [&](int, const kit::Command&) { return kit::ScriptedReply(map.nodes()); });
  return serve(fmt::format("valkey+cluster://{}", node.endpoint()));
}

}  // namespace slotwise::bench
