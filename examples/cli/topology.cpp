// slotwise topology: who serves what.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <slotwise/client.hpp>
#include <slotwise/slot.hpp>

#include "cli/commands.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/table.hpp"
#include "cli/core/units.hpp"

namespace slotwise::cli {

namespace {

using Node = TopologyInfo::Node;

constexpr std::size_t id_shown = 8;
constexpr std::size_t ranges_shown = 4;

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::single:
      return "single";
    case Mode::cluster:
      return "cluster";
    case Mode::sentinel:
      return "sentinel";
  }
  return "?";
}

int slot_total(const Node& node) {
  int total = 0;
  for (const auto& range : node.slots)
    total += range.last - range.first + 1;
  return total;
}

int first_slot(const Node& node) {
  return node.slots.empty() ? slot_count : node.slots[0].first;
}

std::string ranges_text(const Node& node) {
  std::string out;
  for (std::size_t i = 0; i < node.slots.size(); ++i) {
    if (i == ranges_shown) return out + fmt::format(" (+{} more)", node.slots.size() - i);
    const auto& range = node.slots[i];
    if (i != 0) out += ' ';
    out += range.first == range.last ? std::to_string(range.first)
                                     : fmt::format("{}-{}", range.first, range.last);
  }
  return out;
}

/// Primaries by their first slot, each followed by its replicas; what fits nowhere comes last.
std::vector<const Node*> in_order(const TopologyInfo& topology) {
  std::vector<const Node*> primaries;
  std::vector<const Node*> out;
  for (const Node& node : topology.nodes) {
    if (node.primary) primaries.push_back(&node);
  }
  std::stable_sort(primaries.begin(), primaries.end(),
                   [](const Node* a, const Node* b) { return first_slot(*a) < first_slot(*b); });
  const auto take_replicas = [&](const auto& belongs) {
    const std::size_t start = out.size();
    for (const Node& node : topology.nodes) {
      if (!node.primary && belongs(node)) out.push_back(&node);
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(),
              [](const Node* a, const Node* b) { return a->endpoint < b->endpoint; });
  };
  for (const Node* primary : primaries) {
    out.push_back(primary);
    take_replicas(
        [&](const Node& n) { return !n.primary_id.empty() && n.primary_id == primary->id; });
  }
  take_replicas([&](const Node& n) {
    return std::none_of(primaries.begin(), primaries.end(), [&](const Node* p) {
      return !n.primary_id.empty() && p->id == n.primary_id;
    });
  });
  return out;
}

std::string text_of(const TopologyInfo& topology) {
  const bool cluster = topology.mode == Mode::cluster;
  const bool names = std::any_of(topology.nodes.begin(), topology.nodes.end(), [](const Node& n) {
    return !n.announced_ip.empty() && !n.endpoint.starts_with(n.announced_ip);
  });
  std::vector<Column> columns{{"ROLE"}, {"NODE"}};
  if (names) columns.push_back({"IP"});
  columns.push_back({"ID"});
  if (cluster) {
    columns.push_back({"COUNT", Align::right});
    columns.push_back({"EPOCH", Align::right});
  }
  columns.push_back({"STATE"});
  if (cluster) columns.push_back({"SLOTS"});

  Table table(columns);
  std::size_t shards = 0;
  for (const Node* node : in_order(topology)) {
    if (node->primary && !node->slots.empty()) ++shards;
    std::vector<std::string> cells{node->primary ? "primary" : "  replica", node->endpoint};
    if (names) cells.push_back(node->announced_ip);
    cells.push_back(node->id.substr(0, id_shown));
    if (cluster) {
      cells.push_back(node->primary ? std::to_string(slot_total(*node)) : "");
      cells.push_back(node->primary ? std::to_string(node->config_epoch) : "");
    }
    cells.emplace_back(node->healthy ? "ok" : "FAIL");
    if (cluster) cells.push_back(ranges_text(*node));
    table.add(std::move(cells));
  }
  std::string head = fmt::format("{}, {} nodes", name_of(topology.mode), topology.nodes.size());
  if (cluster) {
    head += fmt::format(", {} shards, {} of {} slots served", shards,
                        grouped(static_cast<std::uint64_t>(topology.covered_slots)),
                        grouped(slot_count));
  }
  return head + "\n\n" + table.to_string();
}

std::string json_of(const TopologyInfo& topology) {
  auto nodes = nlohmann::ordered_json::array();
  for (const Node* node : in_order(topology)) {
    auto slots = nlohmann::ordered_json::array();
    for (const auto& range : node->slots)
      slots.push_back({range.first, range.last});
    nodes.push_back({{"id", node->id},
                     {"endpoint", node->endpoint},
                     {"announced_ip", node->announced_ip},
                     {"role", node->primary ? "primary" : "replica"},
                     {"primary_id", node->primary_id},
                     {"config_epoch", node->config_epoch},
                     {"healthy", node->healthy},
                     {"slot_count", slot_total(*node)},
                     {"slots", slots}});
  }
  const nlohmann::ordered_json out{{"mode", name_of(topology.mode)},
                                   {"covered_slots", topology.covered_slots},
                                   {"nodes", nodes}};
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int run_topology(const std::string& uri, bool json) {
  const Client client = Client::connect(config_of(uri));
  // The first answer lets the client start; the whole picture (replicas, epochs) comes with this.
  client.refresh().value();
  const TopologyInfo topology = client.topology();
  Screen(STDOUT_FILENO).block(json ? json_of(topology) : text_of(topology));
  return exit_ok;
}

constexpr const char* footer =
    "COUNT is the number of slots, EPOCH the config epoch: of two views of a slot the one with "
    "the\n"
    "higher epoch is right. --json gives one object: mode, covered_slots, and for each node id,\n"
    "endpoint, announced_ip, role, primary_id, config_epoch, healthy, slot_count, slots [[first,\n"
    "last], ...].";

}  // namespace

void add_topology(CLI::App& app, Action& action) {
  struct Options {
    std::string uri;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("topology", "Show nodes, roles, slots and epochs as the client sees them");
  add_uri(*command, options->uri);
  command->add_flag("--json", options->json, "One JSON object");
  command->footer(footer);
  command->final_callback([options, &action] {
    action = [options] { return run_topology(options->uri, options->json); };
  });
}

}  // namespace slotwise::cli
