// Waiting for a cluster to be what it should be.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kit/cluster.hpp"
#include "kit/cluster_node.hpp"
#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace {

/// What one node says of itself and of the others, asked in one round trip.
struct Account {
  std::size_t index = 0;
  std::string name;
  std::string id;
  std::string info;
  ClusterView view;
  std::string replication;
  std::set<std::string> told;    // ids in its CLUSTER SLOTS
  std::uint16_t proxy_port = 0;  // that it announces; 0: none

  bool says(const std::string& line) const {
    return (info + "\r\n" + replication).find(line + "\r\n") != std::string::npos;
  }
  bool is_replica() const {
    const auto* me = view.find(id);
    return me != nullptr && !me->is_primary();
  }
};

Account ask(Server& server, std::size_t index) {
  const auto replies = server.pipeline({{"CLUSTER", "MYID"},
                                        {"CLUSTER", "INFO"},
                                        {"CLUSTER", "NODES"},
                                        {"INFO", "replication"},
                                        {"CLUSTER", "SLOTS"}});
  std::set<std::string> told;
  for (const auto& range : replies[4].items) {
    for (std::size_t i = 2; i < range.items.size(); ++i)
      told.insert(range.at(i).at(2).text);
  }
  return {.index = index,
          .name = server.name(),
          .id = replies[0].str(),
          .info = replies[1].str(),
          .view = ClusterView::parse(replies[2].str()),
          .replication = replies[3].str(),
          .told = std::move(told)};
}

/// What keeps `who` from knowing all the others; empty if nothing does.
std::string unknown_to(const Account& who, const std::vector<Account>& all) {
  for (const auto& other : all) {
    const auto* line = who.view.find(other.id);
    if (line == nullptr) return fmt::format("does not know {}", other.name);
    if (line->in_trouble()) {
      return fmt::format("sees {} as {}", other.name, fmt::join(line->flags, ","));
    }
    // Whoever was told to MEET a port believes in that until the node itself announces another.
    if (other.proxy_port != 0 && line->port != other.proxy_port) {
      return fmt::format("sees {} on port {}, not {}", other.name, line->port, other.proxy_port);
    }
  }
  return {};
}

std::string cannot_serve(const Account& who, const std::vector<Account>& all) {
  if (!who.says("cluster_state:ok")) return "does not say cluster_state:ok";
  const auto mine = who.view.owners();
  const auto theirs = all.front().view.owners();
  for (std::size_t slot = 0; slot < mine.size(); ++slot) {
    if (mine[slot] == nullptr) return fmt::format("knows no owner of slot {}", slot);
    const auto owner = std::find_if(all.begin(), all.end(), [&](const Account& account) {
      return account.id == mine[slot]->id;
    });
    if (owner == all.end()) {
      return fmt::format("sees slot {} at {}, which does not run", slot, mine[slot]->id);
    }
    if (theirs[slot] == nullptr || theirs[slot]->id != mine[slot]->id) {
      return fmt::format("and {} see different owners of slot {}", all.front().name, slot);
    }
  }
  return {};
}

std::string cannot_fail_over(const Account& who, const std::vector<Account>& all) {
  if (!who.is_replica()) return {};
  if (!who.says("master_link_status:up")) return "has no link to its primary";
  const auto& primary_id = who.view.find(who.id)->primary_id;
  for (const auto& other : all) {
    const auto* line = other.view.find(who.id);
    if (line == nullptr || line->is_primary() || line->primary_id != primary_id) {
      return fmt::format("is not known to {} as a replica of {}", other.name, primary_id);
    }
    // CLUSTER SLOTS leaves a replica out until its offset has come round: clients read it.
    if (!other.told.contains(who.id) && other.told.contains(primary_id)) {
      return fmt::format("is not yet in the CLUSTER SLOTS of {}", other.name);
    }
  }
  return {};
}

}  // namespace

std::optional<Cluster::Trouble> Cluster::trouble(Ready ready) const {
  std::vector<Account> all;
  for (const auto index : running_members()) {
    try {
      all.push_back(ask(server(index), index));
      all.back().proxy_port = at(index).proxy_number;
    } catch (const Error& error) {
      return Trouble{index, fmt::format("cannot be asked: {}", error.what())};
    }
  }
  if (all.empty()) return Trouble{0, "does not run, nor does any other node"};
  for (const auto& account : all) {
    auto what = unknown_to(account, all);
    if (what.empty() && ready >= Ready::to_serve) what = cannot_serve(account, all);
    if (what.empty() && ready >= Ready::to_fail_over) what = cannot_fail_over(account, all);
    if (!what.empty()) return Trouble{account.index, what};
  }
  return std::nullopt;
}

void Cluster::wait_ready(Ready ready, std::optional<milliseconds> limit,
                         const char* for_what) const {
  std::optional<Trouble> last;
  wait_until(
      [&] {
        last = trouble(ready);
        return !last;
      },
      limit.value_or(options_.ready_limit),
      [&] {
        return fmt::format("{}: {} {}; its log ends with:\n{}", for_what, at(last->node).name,
                           last->what, server(last->node).log_tail());
      });
}

void Cluster::wait_ready_to_serve(std::optional<milliseconds> limit) const {
  wait_ready(Ready::to_serve, limit, "the cluster to be ready to serve");
}

void Cluster::wait_ready_to_fail_over(std::optional<milliseconds> limit) const {
  wait_ready(Ready::to_fail_over, limit, "the cluster to be ready to fail over");
}

std::size_t Cluster::wait_for_new_owner(int slot, std::size_t not_this, milliseconds limit) const {
  const auto old_id = id(not_this);
  std::string last;
  std::optional<std::size_t> found;
  const auto taken_over = [&] {
    std::string new_id;
    for (const auto index : running_members()) {
      if (index == not_this) continue;
      Account account;
      try {
        account = ask(server(index), index);
      } catch (const Error& error) {
        last = error.what();
        return false;
      }
      const auto* owner = account.view.owners().at(static_cast<std::size_t>(slot));
      last = fmt::format("{} sees it at {}", account.name, owner == nullptr ? "nobody" : owner->id);
      if (owner == nullptr || owner->id == old_id) return false;
      if (!new_id.empty() && owner->id != new_id) return false;
      new_id = owner->id;
      last += account.says("cluster_state:ok") ? "" : " and is in state fail";
      if (!account.says("cluster_state:ok")) return false;
    }
    found = new_id.empty() ? std::nullopt : index_of(new_id);
    return found.has_value();
  };
  wait_until(taken_over, limit, [&] {
    return fmt::format("another owner of slot {} than {}: {}", slot, at(not_this).name, last);
  });
  say(fmt::format("{} took over from {}", at(*found).name, at(not_this).name));
  return *found;
}

void Cluster::wait_all_agree(const std::vector<int>& slots, std::size_t owner) const {
  const auto owner_id = id(owner);
  std::string last;
  const auto agree = [&] {
    for (const auto index : running_members()) {
      ClusterView seen;
      try {
        seen = view(index);
      } catch (const Error& error) {
        last = error.what();
        return false;
      }
      const auto owners = seen.owners();
      for (const int slot : slots) {
        const auto* line = owners.at(static_cast<std::size_t>(slot));
        if (line != nullptr && line->id == owner_id) continue;
        last = fmt::format("{} sees slot {} at {}", at(index).name, slot,
                           line == nullptr ? "nobody" : line->id);
        return false;
      }
    }
    return true;
  };
  wait_until(agree, options_.ready_limit, [&] {
    return fmt::format("all nodes to see {} slots at {}: {}", slots.size(), at(owner).name, last);
  });
}

}  // namespace slotwise::kit
