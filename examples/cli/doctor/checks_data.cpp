// What becomes of the data, and is there room for it?
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/core/units.hpp"
#include "cli/doctor/checks.hpp"

namespace slotwise::cli {

namespace {

constexpr std::uint64_t few_keys = 10'000;  // less is no load to balance

/// Primaries that answer and tell.
std::vector<const Node*> telling_primaries(const Picture& picture) {
  std::vector<const Node*> out;
  for (const Shard& shard : picture.shards) {
    if (shard.primary->answers() && !shard.primary->facts->info.empty())
      out.push_back(shard.primary);
  }
  return out;
}

std::uint64_t keys_of(const NodeFacts& node) {
  std::uint64_t keys = 0;
  for (const auto& [name, value] : node.info) {
    if (!name.starts_with("db")) continue;
    const std::string digits(part_of(value, "keys"));
    if (!digits.empty()) keys += std::strtoull(digits.c_str(), nullptr, 10);
  }
  return keys;
}

void look_at_writing(const Node& node, Findings& findings) {
  for (const char* field :
       {"rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"}) {
    const auto status = node.facts->field(field);
    if (status.empty() || status == "ok") continue;
    findings.add(Level::problem, "persistence",
                 fmt::format("{} cannot write to its disk: {} is {}.", node.name, field, status),
                 "After a restart what is missing there is gone, and the server may refuse writes "
                 "(-MISCONF).",
                 "Look for a full disk, missing rights or too little memory for a fork.");
  }
}

}  // namespace

void check_persistence(const Picture& picture, Findings& findings) {
  std::vector<std::string> none;
  std::vector<std::string> snapshots;
  std::vector<std::string> unknown;
  bool supervised = false;
  const auto primaries = telling_primaries(picture);
  for (const Node* node : primaries) {
    look_at_writing(*node, findings);
    const bool appendonly = node->facts->field("aof_enabled") == "1";
    const auto save = node->facts->setting("save");
    if (appendonly) continue;
    if (!save) {
      unknown.push_back(node->name);
    } else {
      (save->empty() ? none : snapshots).push_back(node->name);
    }
    const auto by = node->facts->field("process_supervised");
    supervised = supervised || (!by.empty() && by != "no");
  }
  if (!none.empty()) {
    findings.add(
        Level::warning, "persistence",
        fmt::format("Nothing is kept on disk (appendonly no, save \"\") by {}{}.", listed(none),
                    picture.cluster()
                        ? fmt::format(" ({} of {} primaries)", none.size(), primaries.size())
                        : ""),
        fmt::format("A primary that is started again before a replica has taken over comes back "
                    "empty, and its replicas then drop their copies: all data of the shard is "
                    "gone. Whether something starts it again (systemd, a container's restart "
                    "policy, Kubernetes) cannot be seen from here{}.",
                    supervised ? "; the server says that it is supervised" : ""),
        "Turn on appendonly, or see to it that a dead primary is not started again by itself.");
  }
  if (!snapshots.empty()) {
    findings.add(Level::note, "persistence",
                 fmt::format("Snapshots only, no append-only file: {}.", listed(snapshots)),
                 "A primary that is started again before a replica has taken over comes back with "
                 "its last snapshot; what was written since is lost, on its replicas too.",
                 "Turn on appendonly where that matters.");
  }
  if (!unknown.empty()) {
    findings.add(
        Level::note, "persistence",
        fmt::format("No append-only file, and whether there are snapshots is not known: {}.",
                    listed(unknown)),
        "Without both, a primary that restarts by itself comes back empty.",
        "Allow CONFIG GET, or look at the setting save.");
  }
  if (!primaries.empty() && none.empty() && snapshots.empty() && unknown.empty())
    findings.ok("persistence", "Every primary writes an append-only file.");
}

namespace {

struct Use {
  const Node* node = nullptr;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;  // 0: none

  std::uint64_t room() const { return limit > used ? limit - used : 0; }
};

void look_at_limit(const Use& use, Findings& findings) {
  if (use.limit == 0 || use.used * 10 < use.limit * 8) return;
  const std::string policy(use.node->facts->field("maxmemory_policy"));
  const bool refuses = policy == "noeviction";
  const bool full = use.used * 100 >= use.limit * 95;
  findings.add(
      refuses ? (full ? Level::problem : Level::warning) : Level::note, "memory",
      fmt::format("{} uses {} of {} ({} %), policy {}.", use.node->name, bytes_text(use.used),
                  bytes_text(use.limit), use.used * 100 / use.limit, policy),
      refuses ? "At the limit every write is refused with -OOM."
              : "At the limit keys are thrown away to make room; fine for a cache only.",
      "Raise maxmemory, add a shard, or remove data.");
}

void look_at_losing_a_shard(const std::vector<Use>& uses, Findings& findings) {
  if (uses.size() < 2 ||
      std::any_of(uses.begin(), uses.end(), [](const Use& u) { return u.limit == 0; })) {
    return;
  }
  const auto largest = std::max_element(uses.begin(), uses.end(),
                                        [](const Use& a, const Use& b) { return a.used < b.used; });
  const std::uint64_t room =
      std::accumulate(uses.begin(), uses.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const Use& u) { return sum + u.room(); }) -
      largest->room();
  const std::string what =
      fmt::format("The largest shard, {}, holds {}; the others have room for {}.",
                  largest->node->name, bytes_text(largest->used), bytes_text(room));
  if (room >= largest->used) {
    findings.ok("memory", what);
  } else {
    findings.add(Level::note, "memory", what,
                 "A shard that has to go cannot be emptied into the others.",
                 "Keep room for one shard's data in the others, or a spare machine.");
  }
}

void look_at_replicas(const Picture& picture, Findings& findings) {
  for (const Shard& shard : picture.shards) {
    if (!shard.primary->answers()) continue;
    const auto limit = shard.primary->facts->number("maxmemory");
    for (const Node* replica : shard.replicas) {
      if (!replica->answers() || !limit) continue;
      const auto theirs = replica->facts->number("maxmemory");
      if (!theirs || *theirs == 0 || (*limit != 0 && *theirs >= *limit)) continue;
      findings.add(Level::warning, "memory",
                   fmt::format("Replica {} has a maxmemory of {}, its primary {} {}.",
                               replica->name, bytes_text(*theirs), shard.primary->name,
                               *limit == 0 ? std::string("none") : bytes_text(*limit)),
                   "After it has taken over, it refuses writes or evicts keys that the primary "
                   "held.",
                   "Give replicas the same maxmemory as their primary.");
    }
  }
}

}  // namespace

void check_memory(const Picture& picture, Findings& findings) {
  std::vector<Use> uses;
  std::vector<std::string> unlimited;
  for (const Node* node : telling_primaries(picture)) {
    const auto used = node->facts->number("used_memory");
    const auto limit = node->facts->number("maxmemory");
    if (!used || !limit) continue;
    uses.push_back({node, *used, *limit});
    if (*limit == 0) unlimited.push_back(node->name);
  }
  const std::size_t before = findings.all().size();
  for (const Use& use : uses)
    look_at_limit(use, findings);
  look_at_replicas(picture, findings);
  if (!unlimited.empty()) {
    findings.add(Level::note, "memory",
                 fmt::format("No maxmemory is set on {}.", listed(unlimited)),
                 "When the machine is full, the kernel kills the server; that is a failover in the "
                 "best case. How much room there is cannot be judged.",
                 "Set maxmemory below the machine's memory, with room for a fork.");
  }
  look_at_losing_a_shard(uses, findings);
  if (!uses.empty() && findings.all().size() == before)
    findings.ok("memory", "Memory in use is below 80 % of maxmemory.");
}

void check_balance(const Picture& picture, Findings& findings) {
  const auto primaries = telling_primaries(picture);
  if (!picture.cluster() || picture.shards.size() < 2) return;
  int most_slots = 0;
  for (const Shard& shard : picture.shards)
    most_slots = std::max(most_slots, shard.primary->slots);
  const int fair = slot_count / static_cast<int>(picture.shards.size());
  std::uint64_t keys = 0;
  std::uint64_t most_keys = 0;
  const Node* fullest = nullptr;
  for (const Node* node : primaries) {
    const std::uint64_t n = keys_of(*node->facts);
    keys += n;
    if (n < most_keys || (fullest != nullptr && n == most_keys)) continue;
    most_keys = n;
    fullest = node;
  }
  bool even = true;
  if (most_slots * 2 > fair * 3) {
    even = false;
    findings.add(Level::note, "balance",
                 fmt::format("Slots are uneven: one shard has {}, a fair share is {}.",
                             grouped(static_cast<std::uint64_t>(most_slots)),
                             grouped(static_cast<std::uint64_t>(fair))),
                 "The loss of that shard costs more than the loss of another one.",
                 "Move slots (valkey-cli --cluster rebalance).");
  }
  if (keys >= few_keys && most_keys * primaries.size() > 2 * keys) {
    even = false;
    findings.add(Level::note, "balance",
                 fmt::format("Keys are uneven: {} has {} of {}.", fullest->name, grouped(most_keys),
                             grouped(keys)),
                 "Hash tags, or slots that hold more than others, put the load on one shard.",
                 "Look at the keys' hash tags, or move slots.");
  }
  if (even) {
    findings.ok("balance",
                fmt::format("Slots and keys are spread evenly ({} keys).", grouped(keys)));
  }
}

}  // namespace slotwise::cli
