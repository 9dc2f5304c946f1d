// Who takes over when somebody dies, and how long does it take?
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "cli/core/units.hpp"
#include "cli/doctor/checks.hpp"

namespace slotwise::cli {

namespace {

/// Only a rule of thumb: servers do not tell how long their last start took.
constexpr double loaded_bytes_per_second = 100e6;
constexpr double start_seconds = 1;
/// From "failed" to "promoted": the election's delay and the vote.
constexpr double election_seconds = 1.5;

std::string shard_name(const Picture& picture, const Shard& shard) {
  if (!picture.cluster()) return "primary " + shard.primary->name;
  return fmt::format("shard {} ({} slots)", shard.primary->name,
                     grouped(static_cast<std::uint64_t>(shard.primary->slots)));
}

std::string capital(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// Why this replica could not take over now; empty if it could.
std::string why_not_ready(const Node& replica) {
  if (!replica.answers()) {
    return replica.facts == nullptr ? "it has failed or is not in the client's map"
                                    : "it does not answer";
  }
  const NodeFacts& facts = *replica.facts;
  if (replica.failed) return "the other nodes say that it has failed";
  if (facts.setting("cluster-replica-no-failover") == "yes")
    return "cluster-replica-no-failover is yes";
  if (facts.field("slave_priority") == "0" && facts.field("cluster_enabled") != "1")
    return "its replica-priority is 0";
  if (facts.field("role") == "master") return "it says that it is a primary itself";
  if (facts.field("master_sync_in_progress") == "1") return "it is still being synchronised";
  if (!facts.info.empty() && facts.field("master_link_status") != "up")
    return "its link to the primary is down";
  return {};
}

void look_at_shard(const Picture& picture, const Shard& shard, Findings& findings,
                   std::size_t& good) {
  constexpr const char* why =
      "If the primary dies, its keys are served by nobody until it comes back, and what it had "
      "not written to disk is lost.";
  std::vector<std::string> reasons;
  for (const Node* replica : shard.replicas) {
    const std::string reason = why_not_ready(*replica);
    if (!reason.empty()) reasons.push_back(fmt::format("{}: {}", replica->name, reason));
  }
  if (shard.replicas.empty()) {
    findings.add(Level::problem, "replicas",
                 capital(fmt::format("{} has no replica.", shard_name(picture, shard))), why,
                 picture.cluster()
                     ? "Add one: start an empty node, CLUSTER MEET, then CLUSTER REPLICATE on it."
                     : "Add one: start a server with `replicaof HOST PORT`.");
  } else if (reasons.size() == shard.replicas.size()) {
    findings.add(Level::problem, "replicas",
                 fmt::format("No replica of {} could take over now. {}.",
                             shard_name(picture, shard), listed(reasons)),
                 why, "Mend the replica; INFO replication on both sides shows its state.");
  } else {
    ++good;
    if (reasons.empty()) return;
    findings.add(Level::warning, "replicas",
                 fmt::format("Not every replica of {} could take over now. {}.",
                             shard_name(picture, shard), listed(reasons)),
                 "There are fewer spares than were meant to be.",
                 "Mend the replica; INFO replication on both sides shows its state.");
  }
}

/// A single server's own word about its replicas.
void look_at_single(const NodeFacts& server, Findings& findings) {
  if (server.field("cluster_enabled") == "1") {
    findings.add(Level::warning, "mode", "This server is a node of a cluster.",
                 "The URI calls it a single server, so keys of other nodes cannot be reached.",
                 "Use valkey+cluster:// instead of valkey://.");
    return;
  }
  if (server.field("role") == "slave") {
    findings.add(Level::problem, "mode", "This server is a replica.",
                 "It refuses writes, and what it serves may be old.",
                 "Name the primary in the URI.");
    return;
  }
  const auto replicas = server.number("connected_slaves").value_or(0);
  std::size_t online = 0;
  for (std::uint64_t i = 0; i < replicas; ++i) {
    const auto state = part_of(server.field(fmt::format("slave{}", i)), "state");
    online += state == "online" ? 1U : 0U;
  }
  findings.add(
      Level::warning, "replicas",
      replicas == 0 ? std::string("This is a single server without a replica.")
                    : fmt::format("This is a single server; {} of its {} are online.", online,
                                  counted(replicas, "replica")),
      replicas == 0 ? "If it dies, nobody has its data but its own disk."
                    : "Nothing here makes a replica the primary, and this client would not learn "
                      "of it.",
      "Run a cluster, or Sentinel before the replicas, if it must survive the loss of a server.");
}

std::set<std::string> hosts_of(const std::vector<const Node*>& nodes) {
  std::set<std::string> hosts;
  for (const Node* node : nodes)
    hosts.insert(node->host);
  return hosts;
}

}  // namespace

std::uint64_t node_timeout_ms(const Picture& picture) {
  std::uint64_t longest = 0;
  for (const Shard& shard : picture.shards) {
    if (!shard.primary->answers()) continue;
    const auto setting = shard.primary->facts->setting("cluster-node-timeout");
    if (!setting) continue;
    std::uint64_t ms = 0;
    std::from_chars(setting->data(), setting->data() + setting->size(), ms);
    longest = std::max(longest, ms);
  }
  return longest;
}

double restart_seconds(const Picture& picture) {
  std::uint64_t most = 0;
  for (const Shard& shard : picture.shards) {
    if (shard.primary->answers())
      most = std::max(most, shard.primary->facts->number("used_memory").value_or(0));
  }
  return start_seconds + static_cast<double>(most) / loaded_bytes_per_second;
}

void check_replicas(const Picture& picture, Findings& findings) {
  if (picture.facts.mode == Mode::single) {
    for (const Node& node : picture.nodes) {
      if (node.answers() && !node.facts->info.empty()) look_at_single(*node.facts, findings);
    }
    return;
  }
  std::size_t good = 0;
  for (const Shard& shard : picture.shards)
    look_at_shard(picture, shard, findings, good);
  if (good > 0 && good == picture.shards.size()) {
    findings.ok("replicas", fmt::format("{} has a replica that is in step and could take over now.",
                                        picture.cluster() ? "Every shard" : "The primary"));
  }
}

void check_votes(const Picture& picture, Findings& findings) {
  if (!picture.cluster() || picture.shards.empty()) return;
  const std::size_t all = picture.shards.size();
  const auto alive = static_cast<std::size_t>(std::count_if(
      picture.shards.begin(), picture.shards.end(),
      [](const Shard& shard) { return shard.primary->answers() && !shard.primary->failed; }));
  if (all < 3) {
    findings.add(
        Level::problem, "votes",
        fmt::format("Only {} own{} slots.", counted(all, "primary node"), all == 1 ? "s" : ""),
        fmt::format("A replica takes over only if {} of {} agree, and the dead one cannot "
                    "vote: no failover happens by itself.",
                    picture.quorum(), counted(all, "primary node")),
        "Spread the slots over three primaries or more.");
  } else if (alive < picture.quorum() + 1) {
    findings.add(Level::problem, "votes",
                 fmt::format("Only {} of {} primaries are alive.", alive, all),
                 fmt::format("A failover needs {} votes: if one more primary dies, its replica "
                             "cannot take over.",
                             picture.quorum()),
                 "Bring the dead primaries back, or let their replicas take over.");
  } else {
    findings.ok("votes", fmt::format("{} of {} primaries are alive; a failover needs {}.", alive,
                                     all, picture.quorum()));
  }
}

void check_placement(const Picture& picture, Findings& findings) {
  if (picture.facts.mode == Mode::single) return;
  std::vector<std::string> together;
  std::map<std::string, std::size_t> primaries_on;
  std::set<std::string> hosts;
  for (const Node& node : picture.nodes)
    hosts.insert(node.host);
  bool spares = false;
  for (const Shard& shard : picture.shards) {
    ++primaries_on[shard.primary->host];
    spares = spares || !shard.replicas.empty();
    if (!shard.replicas.empty() &&
        hosts_of(shard.replicas) == std::set<std::string>{shard.primary->host}) {
      together.push_back(shard.primary->name);
    }
  }
  if (!spares) return;
  if (hosts.size() == 1) {
    findings.add(
        Level::warning, "placement",
        fmt::format("All {} nodes are on one address, {}.", picture.nodes.size(), *hosts.begin()),
        "If that machine dies, everything dies with it.",
        "Spread the nodes over three machines or more, replicas apart from primaries.");
    return;
  }
  if (!together.empty()) {
    findings.add(Level::warning, "placement",
                 fmt::format("All replicas are on their primary's address: {}.", listed(together)),
                 "If that machine dies, primary and replicas die together.",
                 "Put at least one replica of each shard on another machine.");
  }
  const std::size_t can_lose = picture.shards.size() - picture.quorum();
  bool crowded = false;
  for (const auto& [host, count] : primaries_on) {
    if (picture.shards.size() < 3 || count <= can_lose) continue;  // less: see check_votes
    crowded = true;
    findings.add(Level::warning, "placement",
                 fmt::format("{} of {} primaries are on the address {}.", count,
                             picture.shards.size(), host),
                 "If that machine dies, the primaries that are left are no majority, and no "
                 "replica takes over.",
                 "Fail some of them over to replicas elsewhere (CLUSTER FAILOVER).");
  }
  if (together.empty() && !crowded) {
    findings.ok("placement",
                "Replicas have other addresses than their primaries, and no address carries too "
                "many primaries.");
  }
}

void check_full_coverage(const Picture& picture, Findings& findings) {
  if (!picture.cluster()) return;
  bool yes = false;
  bool no = false;
  for (const Node& node : picture.nodes) {
    if (!node.answers()) continue;
    const auto setting = node.facts->setting("cluster-require-full-coverage");
    yes = yes || setting == "yes";
    no = no || setting == "no";
  }
  if (yes) {
    const bool spare =
        std::all_of(picture.shards.begin(), picture.shards.end(), [](const Shard& shard) {
          return std::any_of(shard.replicas.begin(), shard.replicas.end(),
                             [](const Node* r) { return why_not_ready(*r).empty(); });
        });
    findings.add(spare ? Level::note : Level::warning, "coverage",
                 "cluster-require-full-coverage is yes.",
                 "While one shard has no primary, all other shards answer -CLUSTERDOWN too: every "
                 "failover is a pause for everybody, and a shard that stays away stops all.",
                 "CONFIG SET cluster-require-full-coverage no, unless half an answer is worse than "
                 "none.");
  } else if (no) {
    findings.ok("coverage", "A shard without a primary does not stop the others.");
  }
}

void check_node_timeout(const Picture& picture, Findings& findings) {
  const std::uint64_t ms = node_timeout_ms(picture);
  if (!picture.cluster() || ms == 0) return;
  const double seconds = static_cast<double>(ms) / 1000;
  const double takeover = seconds + election_seconds;
  const double restart = restart_seconds(picture);
  if (ms < 1000 || ms > 30'000) {
    findings.add(Level::warning, "node timeout",
                 fmt::format("cluster-node-timeout is {:.3g} s.", seconds),
                 ms < 1000 ? "A short pause (a fork, a slow disk, a moved VM) is taken for a death."
                           : "A dead primary's slots are served by nobody for at least this long.",
                 "5 to 15 s suit most deployments; less only where pauses are rare.");
  }
  const std::string thumb = fmt::format(
      "about {:.0f} s (a guess: 1 s, and 1 s for each 100 MB in use; servers do not tell)",
      std::ceil(restart));
  if (restart < seconds) {
    findings.add(Level::note, "node timeout",
                 fmt::format("A primary restarted at once may be back before the node timeout of "
                             "{:.3g} s is over; a restart takes {}.",
                             seconds, thumb),
                 "Then nobody takes over: its shard waits for the restart, and what the primary "
                 "had not on disk is gone although a replica had it.",
                 "Before a planned restart: CLUSTER FAILOVER on a replica.");
  } else {
    findings.ok("node timeout",
                fmt::format("The node timeout of {:.3g} s is shorter than a restart, which takes "
                            "{}: a replica takes over meanwhile.",
                            seconds, thumb));
  }
  const double call = static_cast<double>(picture.facts.call_timeout.count()) / 1000;
  if (call > 0 && call < takeover) {
    findings.add(
        Level::note, "call timeout",
        fmt::format("A failover takes about {:.3g} s, and a call's timeout is {:.3g} s.", takeover,
                    call),
        "Calls to a shard whose primary dies fail before its replica has taken over.",
        fmt::format("Give calls that should outlive a failover more time: ?timeout={:.0f}s.",
                    std::ceil(takeover * 1.5)));
  }
}

void check_names(const Picture& picture, Findings& findings) {
  const std::uint64_t ms = node_timeout_ms(picture);
  std::vector<std::string> slow;
  std::map<std::string, std::vector<std::string>> unknown;
  std::chrono::seconds longest{0};
  for (const NameFacts& name : picture.facts.names) {
    if (!name.ttl) {
      unknown[name.why_not].push_back(name.name);
      continue;
    }
    longest = std::max(longest, *name.ttl);
    if (ms > 0 && static_cast<std::uint64_t>(name.ttl->count()) * 1000 > ms)
      slow.push_back(fmt::format("{} ({} s)", name.name, name.ttl->count()));
  }
  if (!slow.empty()) {
    findings.add(Level::warning, "dns",
                 fmt::format("DNS may name an old address for longer than the node timeout of "
                             "{:.3g} s: {}.",
                             static_cast<double>(ms) / 1000, listed(slow)),
                 "A node that comes back at another address is looked for at the old one until the "
                 "TTL is over. slotwise races the address that the cluster announces; other "
                 "clients wait.",
                 "Give these records a TTL of a few seconds.");
  } else if (longest.count() > 0) {
    findings.ok("dns",
                fmt::format("The TTL of the nodes' names is {} s at most.", longest.count()));
  }
  for (const auto& [reason, names] : unknown) {
    findings.add(Level::note, "dns",
                 fmt::format("The TTL of {} is not known, because {}.", listed(names), reason),
                 "A node that comes back at another address is looked for at the old one until "
                 "the TTL is over.",
                 "Ask the DNS server that the clients use, or name it: ?dns_servers=IP.");
  }
}

}  // namespace slotwise::cli
