// Is everybody there, and does everybody see the same?
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/core/units.hpp"
#include "cli/doctor/checks.hpp"

namespace slotwise::cli {

namespace {

std::string product(const NodeFacts& node) {
  if (!node.field("valkey_version").empty())
    return fmt::format("valkey {}", node.field("valkey_version"));
  if (!node.field("redis_version").empty())
    return fmt::format("redis {}", node.field("redis_version"));
  return {};
}

/// What every node that tells has, out of the commands that were asked for.
bool all_have(const Picture& picture, const char* command, bool& known) {
  bool have = true;
  known = false;
  for (const Node& node : picture.nodes) {
    if (!node.answers() || !node.facts->commands_known) continue;
    known = true;
    have = have && node.facts->commands.contains(command);
  }
  return have && known;
}

}  // namespace

Findings examine(const Facts& facts) {
  const Picture picture(facts);
  Findings findings;
  for (const auto check :
       {check_reach, check_sentinels, check_slots, check_bus, check_replicas, check_votes,
        check_placement, check_persistence, check_node_timeout, check_full_coverage, check_names,
        check_memory, check_balance, check_versions, check_seeds, check_unknown}) {
    check(picture, findings);
  }
  return findings;
}

void check_reach(const Picture& picture, Findings& findings) {
  bool all = true;
  for (const Node& node : picture.nodes) {
    const bool loading = node.answers() && node.facts->field("loading") == "1";
    if (node.answers() && !node.failed && !loading) continue;
    all = false;
    const bool owner = node.slots > 0;
    const std::string who = fmt::format("{} {}", node.primary ? "Primary" : "Replica", node.name);
    const std::string slots =
        owner && picture.cluster()
            ? fmt::format(" ({} slots)", grouped(static_cast<std::uint64_t>(node.slots)))
            : "";
    std::string what;
    if (loading) {
      what = fmt::format("{}{} is still loading its data.", who, slots);
    } else if (node.answers()) {
      what = fmt::format("{}{} answers here, but most nodes say that it has failed.", who, slots);
    } else if (node.facts != nullptr) {
      what = fmt::format("{}{} does not answer: {}.{}", who, slots, node.facts->trouble,
                         node.failed ? " The other nodes say too that it has failed." : "");
    } else {
      what = fmt::format("{}{} {}.", who, slots,
                         node.failed ? "has failed, as the other nodes say"
                                     : "is not in the client's map and was not asked");
    }
    findings.add(owner ? Level::problem : Level::warning, "reach", std::move(what),
                 owner ? "Nobody serves its keys until it answers again or a replica takes over."
                       : "While it is away, the next failure may find nobody to take over.",
                 loading ? "Wait for it."
                 : picture.cluster()
                     ? "Bring the node back, or remove it (CLUSTER FORGET on every other node)."
                     : "Bring the server back.");
  }
  if (all && !picture.nodes.empty()) {
    findings.ok("reach",
                fmt::format("{} answer.", picture.nodes.size() == 1
                                              ? std::string("The one node does")
                                              : "All " + counted(picture.nodes.size(), "node")));
  }
}

void check_slots(const Picture& picture, Findings& findings) {
  if (!picture.cluster()) return;
  if (picture.uncovered > 0) {
    findings.add(Level::problem, "slots",
                 fmt::format("{} of 16,384 slots are served by nobody.",
                             grouped(static_cast<std::uint64_t>(picture.uncovered))),
                 "Commands for their keys fail; with cluster-require-full-coverage yes, all do.",
                 "Bring the owner back or let a replica take over (CLUSTER FAILOVER TAKEOVER); "
                 "slots without any owner: CLUSTER ADDSLOTSRANGE.");
  } else {
    findings.ok("slots", fmt::format("All 16,384 slots are served, by {}.",
                                     counted(picture.shards.size(), "shard")));
  }
  if (picture.disputed > 0) {
    findings.add(Level::warning, "slots",
                 fmt::format("Nodes do not agree on the owners of {}.",
                             counted(static_cast<std::size_t>(picture.disputed), "slot")),
                 "A change is on its way, or the cluster is parted; a client may be sent around.",
                 "Look again in some seconds; if it stays, compare CLUSTER NODES of all nodes.");
  }
  if (picture.open_slots > 0) {
    findings.add(Level::note, "slots",
                 fmt::format("{} marked as being migrated or imported.",
                             counted(static_cast<std::size_t>(picture.open_slots), "slot end") +
                                 (picture.open_slots == 1 ? " is" : " are")),
                 "Slots left half moved by a resharding that stopped cost a redirect each time.",
                 "If no resharding is running: CLUSTER SETSLOT ... STABLE on both nodes.");
  }
  std::vector<std::string> down;
  for (const Node& node : picture.nodes) {
    if (!node.answers()) continue;
    const auto state = node.facts->cluster_info.find("cluster_state");
    if (state != node.facts->cluster_info.end() && state->second != "ok") down.push_back(node.name);
  }
  if (!down.empty()) {
    findings.add(Level::problem, "slots",
                 fmt::format("cluster_state is not ok on {}.", listed(down)),
                 "These nodes answer -CLUSTERDOWN.",
                 "See the other findings for the reason: uncovered slots, or too few primaries in "
                 "reach.");
  }
}

void check_bus(const Picture& picture, Findings& findings) {
  if (!picture.cluster() || picture.nodes.size() < 2) return;
  std::map<std::string, const Node*> answering;
  for (const Node& node : picture.nodes) {
    if (node.answers()) answering[node.id] = &node;
  }
  std::vector<std::string> broken;
  for (const auto& [id, node] : answering) {
    for (const Member& peer : node->facts->view) {
      const auto other = answering.find(peer.id);
      if (peer.link_up || peer.has("myself") || other == answering.end()) continue;
      broken.push_back(fmt::format("{} to {}", node->name, other->second->name));
    }
  }
  if (broken.empty()) {
    findings.ok("bus", "Every node that answers has its bus link to every other.");
    return;
  }
  findings.add(
      Level::warning, "bus", fmt::format("The cluster bus is broken from {}.", listed(broken)),
      "Nodes that cannot hear each other call each other failed, although clients reach "
      "both.",
      "Open the bus port (mostly the port + 10000) between all nodes, in both directions.");
}

void check_seeds(const Picture& picture, Findings& findings) {
  if (picture.facts.mode == Mode::single || picture.facts.seeds.empty()) return;
  const Endpoint& first = picture.facts.seeds.front();
  const char* thing = picture.cluster() ? "node" : "sentinel";
  if (picture.facts.seeds.size() > 1) {
    findings.ok("seeds",
                fmt::format("The URI names {}.", counted(picture.facts.seeds.size(), thing)));
  } else if (is_address(first.host)) {
    findings.add(
        Level::warning, "seeds",
        fmt::format("The URI names one {} only, {}.", thing, first.to_string()),
        fmt::format("While that {} is down, no client can start, however healthy the others are.",
                    thing),
        "Name three or more, separated by commas.");
  } else {
    findings.add(
        Level::note, "seeds", fmt::format("The URI names one host only, {}.", first.to_string()),
        fmt::format("Clients can start as long as that name leads to a {} that lives.", thing),
        fmt::format("See that the name has the addresses of several {}s, or name several.", thing));
  }
}

void check_unknown(const Picture& picture, Findings& findings) {
  using What = std::pair<std::string, std::string>;  // what is not known, and why
  std::map<What, std::vector<std::string>> unknown;
  for (const Node& node : picture.nodes) {
    if (!node.answers()) continue;
    if (!node.facts->info_trouble.empty())
      unknown[{"Figures (INFO)", node.facts->info_trouble}].push_back(node.name);
    for (const auto& [name, setting] : node.facts->config) {
      if (setting.why_not.empty()) continue;
      // "..., with args beginning with: 'GET' 'save'": the first one stands for all.
      const std::string reason = setting.why_not.substr(0, setting.why_not.find(", with args"));
      unknown[{"Settings (CONFIG GET)", reason}].push_back(node.name);
      break;
    }
  }
  for (const auto& [what, nodes] : unknown) {
    findings.add(
        Level::note, "not known",
        fmt::format("{} of {} are not known, because: {}", what.first, listed(nodes), what.second),
        "Checks that need them say less than they could.",
        "Let the user of this check-up run INFO, CONFIG GET, CLUSTER and COMMAND "
        "(ACL: +info +config|get +cluster +command).");
  }
}

void check_versions(const Picture& picture, Findings& findings) {
  std::map<std::string, std::vector<std::string>> nodes_by_version;
  for (const Node& node : picture.nodes) {
    if (!node.answers()) continue;
    const std::string version = product(*node.facts);
    if (!version.empty()) nodes_by_version[version].push_back(node.name);
  }
  if (nodes_by_version.empty()) return;
  if (nodes_by_version.size() > 1) {
    findings.add(Level::warning, "version",
                 told_apart("Nodes run different versions", nodes_by_version, "on"),
                 "An older replica may not be able to read what a newer primary sends, and a "
                 "failover to an older node takes commands away.",
                 "Finish the upgrade; replicas first, then fail over to them.");
  }
  std::vector<std::string> has;
  std::vector<std::string> lacks;
  bool known = false;
  const auto tell = [&](bool have, const char* what) { (have ? has : lacks).emplace_back(what); };
  if (picture.cluster()) {
    std::uint64_t databases = 0;
    for (const Node& node : picture.nodes) {
      if (!node.answers()) continue;
      const auto setting = node.facts->setting("cluster-databases");
      databases = std::max<std::uint64_t>(databases, setting && *setting != "1" ? 2 : 1);
    }
    bool unused = false;
    const bool valkey_way = all_have(picture, "cluster|migrateslots", known);
    tell(valkey_way || all_have(picture, "cluster|migration", unused), "atomic slot migration");
    tell(all_have(picture, "cluster|slot-stats", unused), "SLOT-STATS");
    tell(all_have(picture, "spublish", unused), "sharded pub/sub");
    tell(databases > 1, "numbered databases");
  }
  std::string what;
  for (const auto& [version, nodes] : nodes_by_version)
    what += fmt::format("{}{}", what.empty() ? "" : ", ", version);
  if (known) {
    if (!has.empty()) what += fmt::format("; has {}", listed(has));
    if (!lacks.empty()) what += fmt::format("; not {}", listed(lacks));
  }
  findings.ok("version", what + ".");
}

}  // namespace slotwise::cli
