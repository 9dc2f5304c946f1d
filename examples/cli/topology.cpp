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

bool has_ids(const TopologyInfo& topology) {
  return std::any_of(topology.nodes.begin(), topology.nodes.end(),
                     [](const Node& n) { return !n.id.empty(); });
}

std::string head_of(const TopologyInfo& topology, const std::string& primary_name) {
  const std::size_t nodes = topology.nodes.size();
  std::string head =
      fmt::format("{}, {} node{}", name_of(topology.mode), nodes, nodes == 1 ? "" : "s");
  if (topology.mode == Mode::sentinel) head += fmt::format(", primary \"{}\"", primary_name);
  if (topology.mode != Mode::cluster) return head;
  const auto shards = std::count_if(topology.nodes.begin(), topology.nodes.end(),
                                    [](const Node& n) { return n.primary && !n.slots.empty(); });
  return head + fmt::format(", {} shards, {} of {} slots served", shards,
                            grouped(static_cast<std::uint64_t>(topology.covered_slots)),
                            grouped(slot_count));
}

std::string text_of(const TopologyInfo& topology, const std::string& primary_name) {
  const bool cluster = topology.mode == Mode::cluster;
  const bool ids = has_ids(topology);
  const bool names = std::any_of(topology.nodes.begin(), topology.nodes.end(), [](const Node& n) {
    return !n.announced_ip.empty() && !n.endpoint.starts_with(n.announced_ip);
  });
  std::vector<Column> columns{{"ROLE"}, {"NODE"}};
  if (names) columns.push_back({"IP"});
  if (ids) columns.push_back({"ID"});
  if (cluster) columns.push_back({"COUNT", Align::right});
  const bool epochs = std::any_of(topology.nodes.begin(), topology.nodes.end(),
                                  [](const Node& n) { return n.config_epoch > 0; });
  if (cluster || epochs) columns.push_back({"EPOCH", Align::right});
  columns.push_back({"STATE"});
  if (cluster) columns.push_back({"SLOTS"});

  Table table(columns);
  for (const Node* node : in_order(topology)) {
    std::vector<std::string> cells{node->primary ? "primary" : "  replica", node->endpoint};
    if (names) cells.push_back(node->announced_ip);
    if (ids) cells.push_back(node->id.substr(0, id_shown));
    if (cluster) cells.push_back(node->primary ? std::to_string(slot_total(*node)) : "");
    if (cluster || epochs) {
      cells.push_back(node->primary ? std::to_string(node->config_epoch) : "");
    }
    cells.emplace_back(node->healthy ? "ok" : "FAIL");
    if (cluster) cells.push_back(ranges_text(*node));
    table.add(std::move(cells));
  }
  return head_of(topology, primary_name) + "\n\n" + table.to_string();
}

std::string json_of(const TopologyInfo& topology, const std::string& primary_name) {
  const bool cluster = topology.mode == Mode::cluster;
  auto nodes = nlohmann::ordered_json::array();
  for (const Node* node : in_order(topology)) {
    auto slots = nlohmann::ordered_json::array();
    for (const auto& range : node->slots)
      slots.push_back({range.first, range.last});
    nlohmann::ordered_json one{{"id", node->id},
                               {"endpoint", node->endpoint},
                               {"announced_ip", node->announced_ip},
                               {"role", node->primary ? "primary" : "replica"},
                               {"primary_id", node->primary_id},
                               {"config_epoch", node->config_epoch},
                               {"healthy", node->healthy}};
    if (cluster) {
      one["slot_count"] = slot_total(*node);
      one["slots"] = slots;
    }
    nodes.push_back(std::move(one));
  }
  nlohmann::ordered_json out{{"mode", name_of(topology.mode)}};
  if (topology.mode == Mode::sentinel) out["primary_name"] = primary_name;
  if (cluster) out["covered_slots"] = topology.covered_slots;
  out["nodes"] = nodes;
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int run_topology(const std::string& uri, bool json) {
  const Config config = config_of(uri);
  const Client client = Client::connect(config);
  // The first answer lets the client start; the whole picture (replicas, epochs) comes with this.
  client.refresh().value();
  const TopologyInfo topology = client.topology();
  Screen(STDOUT_FILENO)
      .block(json ? json_of(topology, config.sentinel_name)
                  : text_of(topology, config.sentinel_name));
  return exit_ok;
}

constexpr const char* footer =
    "COUNT is the number of slots, EPOCH the config epoch: of two views the one with the higher "
    "epoch\n"
    "is right. With sentinels the nodes are the primary that they name and its replicas; the\n"
    "sentinels themselves are not shown ('slotwise doctor' asks each of them).\n"
    "\n"
    "--json gives one object: mode, primary_name (its name at the sentinels), and for each node "
    "id,\n"
    "endpoint, announced_ip, role, primary_id, config_epoch, healthy; of a cluster also\n"
    "covered_slots, and for each node slot_count and slots [[first, last], ...].";

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
