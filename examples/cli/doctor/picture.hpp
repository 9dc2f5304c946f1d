// The facts, put together: who is in which shard, who owns what.
//
// Thread rule: plain values; the Facts must outlive them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <slotwise/slot.hpp>

#include "cli/doctor/facts.hpp"

namespace slotwise::cli {

/// A node as the others and it itself describe it.
struct Node {
  std::string id;
  std::string name;  ///< "host:port" as the client names it, or else the cluster
  std::string host;  ///< the address under that name, as the cluster has it
  std::string primary_id;
  bool primary = false;
  bool failed = false;               ///< most nodes say so
  const NodeFacts* facts = nullptr;  ///< null: the client does not know it, so it was not asked
  int slots = 0;

  bool answers() const noexcept { return facts != nullptr && facts->answers(); }
};

struct Shard {
  const Node* primary = nullptr;
  std::vector<const Node*> replicas;
};

/// Ownership is what most of the answering nodes say. A single server is one shard, and so
/// is a primary with its replicas that sentinels name.
struct Picture {
  explicit Picture(const Facts& facts);
  Picture(const Picture&) = delete;  // the shards point into the nodes
  Picture& operator=(const Picture&) = delete;

  const Facts& facts;
  std::vector<Node> nodes;
  std::vector<Shard> shards;  ///< whose primary owns slots
  int uncovered = 0;          ///< slots without an owner that is not failed
  int disputed = 0;           ///< slots for which answering nodes name different owners
  int open_slots = 0;

  bool cluster() const noexcept { return facts.mode == Mode::cluster; }
  /// How many primaries must agree on a failover.
  std::size_t quorum() const noexcept { return shards.size() / 2 + 1; }

 private:
  void add_members();
  void count_owners();
  void add_single();
  void link_shards();
};

/// "a", "a and b", "a, b and 7 more".
std::string listed(const std::vector<std::string>& names);
/// "Nodes run different versions: 9.1 on a and b; 8.0 on c." `word`: "on".
std::string told_apart(std::string title,
                       const std::map<std::string, std::vector<std::string>>& names_by_what,
                       std::string_view word);
/// "1 node", "3 nodes".
std::string counted(std::size_t n, std::string_view thing);
/// "2.4 GB"
std::string bytes_text(std::uint64_t bytes);

}  // namespace slotwise::cli
