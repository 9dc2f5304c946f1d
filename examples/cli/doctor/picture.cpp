#include "cli/doctor/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/core/units.hpp"

namespace slotwise::cli {

Picture::Picture(const Facts& f) : facts(f) {
  if (cluster()) {
    add_members();
    count_owners();
  } else {
    add_single();
  }
  link_shards();
}

// Every node that any answering node knows, described by itself where it answers.
void Picture::add_members() {
  std::map<std::string, std::size_t> index;
  std::map<std::string, std::pair<std::size_t, std::size_t>> fail_votes;  // of so many
  for (const NodeFacts& witness : facts.nodes) {
    if (!witness.answers()) continue;
    for (const Member& member : witness.view) {
      if (member.has("handshake")) continue;
      const auto [place, added] = index.emplace(member.id, nodes.size());
      if (added) nodes.emplace_back().id = member.id;
      Node& node = nodes[place->second];
      if (added || member.has("myself")) {
        node.name = member.address();
        node.host = member.ip;
        node.primary = member.is_primary();
        node.primary_id = member.primary_id;
      }
      if (member.has("myself")) {
        open_slots += member.open_slots;
      } else {
        auto& [yes, all] = fail_votes[member.id];
        yes += member.has("fail") ? 1U : 0U;
        ++all;
      }
    }
  }
  for (const NodeFacts& one : facts.nodes) {
    const auto place = index.find(one.id);
    Node& node = place != index.end() ? nodes[place->second] : nodes.emplace_back();
    node.facts = &one;
    node.name = one.endpoint;
  }
  for (Node& node : nodes) {
    const auto [yes, all] = fail_votes[node.id];
    node.failed = yes * 2 > all;
  }
}

void Picture::count_owners() {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    index[nodes[i].id] = i;
  std::vector<std::map<std::size_t, int>> votes(slot_count);
  int witnesses = 0;
  for (const NodeFacts& witness : facts.nodes) {
    if (!witness.answers() || witness.view.empty()) continue;
    ++witnesses;
    for (const Member& member : witness.view) {
      const auto owner = index.find(member.id);
      if (owner == index.end()) continue;
      for (const auto& [first, last] : member.slots) {
        for (int s = first; s <= last; ++s)
          ++votes[static_cast<std::size_t>(s)][owner->second];
      }
    }
  }
  for (const auto& slot : votes) {
    const auto most = std::max_element(
        slot.begin(), slot.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == slot.end() || nodes[most->first].failed) ++uncovered;
    if (most == slot.end()) continue;
    ++nodes[most->first].slots;
    if (most->second < witnesses) ++disputed;
  }
}

// The first one is the primary, as the client or the sentinels say; the others are its replicas.
void Picture::add_single() {
  for (const NodeFacts& one : facts.nodes) {
    Node& node = nodes.emplace_back();
    node.id = node.name = one.endpoint;
    node.host = one.endpoint.substr(0, one.endpoint.rfind(':'));
    node.facts = &one;
    node.primary = nodes.size() == 1;
    if (node.primary) {
      node.slots = slot_count;
    } else {
      node.primary_id = nodes.front().id;
    }
  }
}

void Picture::link_shards() {
  for (const Node& node : nodes) {
    if (node.slots > 0) shards.push_back({&node, {}});
  }
  for (const Node& node : nodes) {
    for (Shard& shard : shards) {
      if (!node.primary && node.primary_id == shard.primary->id) shard.replicas.push_back(&node);
    }
  }
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 4;
  std::string out;
  const std::size_t n = names.size() > shown + 1 ? shown : names.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  if (n < names.size()) out += fmt::format(" and {} more", names.size() - n);
  return out;
}

std::string told_apart(std::string title,
                       const std::map<std::string, std::vector<std::string>>& names_by_what,
                       std::string_view word) {
  title += ':';
  for (const auto& [what, names] : names_by_what)
    title += fmt::format(" {} {} {};", what, word, listed(names));
  title.back() = '.';
  return title;
}

std::string counted(std::size_t n, std::string_view thing) {
  return fmt::format("{} {}{}", grouped(n), thing, n == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.1f} GB", value / (1U << 30));
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{:.0f} MB", value / (1U << 20));
  return fmt::format("{:.0f} kB", value / (1U << 10));
}

}  // namespace slotwise::cli
