// What can happen to a cluster: deaths, moves, more and fewer shards.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <utility>

#include "kit/cluster.hpp"
#include "kit/cluster_node.hpp"
#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace {

std::string text_of(const std::vector<int>& slots) {
  const auto ranges = to_ranges(slots);
  if (ranges.size() == 1) return ranges.front().to_string();
  return fmt::format("{} slots in {} ranges", slots.size(), ranges.size());
}

/// Parts of nearly equal size.
std::vector<std::vector<int>> in_parts(const std::vector<int>& slots, std::size_t count) {
  std::vector<std::vector<int>> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = slots.begin() + static_cast<std::ptrdiff_t>(slots.size() * i / count);
    const auto end = slots.begin() + static_cast<std::ptrdiff_t>(slots.size() * (i + 1) / count);
    parts.emplace_back(begin, end);
  }
  return parts;
}

/// Several connections to one node, for SETSLOT on many slots at once. A primary of Valkey 8 and
/// later answers it only when its replicas have it too, so that one after the other takes
/// milliseconds each; commands that wait at the same time are done together.
class Lanes {
 public:
  static constexpr std::size_t count = 32;

  explicit Lanes(Server& server) : server_(server) {
    while (lanes_.size() < count)
      lanes_.push_back(server.connect());
  }

  void set_slots(const std::vector<int>& slots, const char* state, const std::string& node_id) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      lanes_[i].send({"CLUSTER", "SETSLOT", std::to_string(slots[i]), state, node_id});
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto reply = lanes_[i].read();
      if (reply.is_error()) {
        throw Error(
            fmt::format("{}: SETSLOT {} {}: {}", server_.name(), slots[i], state, reply.text));
      }
    }
  }

 private:
  Server& server_;
  std::vector<Connection> lanes_;
};

}  // namespace

void Cluster::kill(std::size_t node, int signal) {
  server(node).kill(signal);
  say(fmt::format("{} got SIG{}", at(node).name, ::sigabbrev_np(signal)));
}

void Cluster::stop(std::size_t node) {
  server(node).stop();
  say(fmt::format("{} stopped", at(node).name));
}

void Cluster::restart(std::size_t node, std::optional<Address> address) {
  auto& moved = server(node);
  if (address && address->host != moved.address().host) {
    moved.kill();
    moved.set_config("bind-source-addr", address->host);
    moved.set_config("cluster-announce-ip", address->host);
  }
  if (const auto& proxy = at(node).proxy; address && proxy) {
    moved.kill();
    proxy->move({address->host, proxy->address().port}, *address);
  }
  moved.restart(std::move(address));
  changed(node);
  say(fmt::format("{} started again on {}", at(node).name, moved.address().to_string()));
}

Address Cluster::spare_address() {
  const std::lock_guard lock(nodes_mutex_);
  if (options_.own_addresses) return {net_.next(), nodes_.at(0)->server->address().port};
  spare_ports_.push_back(reserve_port());
  return {"127.0.0.1", spare_ports_.back().number()};
}

void Cluster::meet_again() {
  meet(running_members());
}

/// The slots of the range that are not at `to`, by their present owner.
std::map<std::size_t, std::vector<int>> Cluster::elsewhere(int first, int last,
                                                           std::size_t to) const {
  const auto seen = any_view();
  const auto owners = seen.owners();
  std::map<std::string, std::vector<int>> by_id;
  for (int slot = first; slot <= last; ++slot) {
    const auto* owner = owners.at(static_cast<std::size_t>(slot));
    if (owner == nullptr) throw Error(fmt::format("slot {} has no owner to move it from", slot));
    by_id[owner->id].push_back(slot);
  }
  std::map<std::size_t, std::vector<int>> by_index;
  for (auto& [owner, slots] : by_id) {
    const auto from = index_of(owner);
    if (!from) throw Error(fmt::format("slots {} belong to an unknown node", text_of(slots)));
    if (*from != to) by_index[*from] = std::move(slots);
  }
  return by_index;
}

void Cluster::migrate(int first, int last, std::size_t to) {
  for (const auto& [from, slots] : elsewhere(first, last, to))
    move_slots(from, slots, to);
}

void Cluster::migrate_legacy(int first, int last, std::size_t to,
                             const SlotMigration::Between& between) {
  for (const auto& [from, slots] : elsewhere(first, last, to)) {
    say(fmt::format("moving {} from {} to {} key by key", text_of(slots), at(from).name,
                    at(to).name));
    if (between) {
      for (const int slot : slots)
        SlotMigration(*this, slot, from, to).finish(between);
    } else {
      migrate_key_by_key(from, slots, to);
    }
    wait_all_agree(slots, to);
    say(fmt::format("moved {} from {} to {}", text_of(slots), at(from).name, at(to).name));
  }
}

SlotMigration Cluster::begin_migration(int slot, std::size_t to) {
  return SlotMigration(*this, slot, owner_of(slot), to);
}

void Cluster::move_slots(std::size_t from, const std::vector<int>& slots, std::size_t to) {
  if (slots.empty()) return;
  say(fmt::format("moving {} from {} to {}", text_of(slots), at(from).name, at(to).name));
  if (binaries().has_migrateslots()) {
    migrate_atomically(from, slots, to);
  } else {
    migrate_key_by_key(from, slots, to);
  }
  wait_all_agree(slots, to);
  say(fmt::format("moved {} from {} to {}", text_of(slots), at(from).name, at(to).name));
}

void Cluster::migrate_atomically(std::size_t from, const std::vector<int>& slots, std::size_t to) {
  auto& source = server(from);
  std::vector<std::string> command{"CLUSTER", "MIGRATESLOTS", "SLOTSRANGE"};
  std::string ranges;
  for (const auto& range : to_ranges(slots)) {
    command.push_back(std::to_string(range.first));
    command.push_back(std::to_string(range.last));
    ranges += (ranges.empty() ? "" : " ") + fmt::format("{}-{}", range.first, range.last);
  }
  command.insert(command.end(), {"NODE", id(to)});
  source.command_words(command);

  std::string state;
  std::string message;
  const auto ended = [&] {
    // Newest first; the job is the first of these ranges to this target.
    const auto jobs = source.command("CLUSTER", "GETSLOTMIGRATIONS");
    for (const auto& job : jobs.items) {
      if (job.at("operation").text != "EXPORT" || job.at("slot_ranges").text != ranges) continue;
      state = job.at("state").text;
      message = job.at("message").text;
      return state == "success" || state == "failed" || state == "cancelled";
    }
    state = "not listed";
    return false;
  };
  wait_until(ended, milliseconds(60000), [&] {
    return fmt::format("slots {} to move from {} to {}: {} {}", ranges, at(from).name, at(to).name,
                       state, message);
  });
  if (state != "success") {
    throw Error(fmt::format("slots {} did not move from {} to {}: {} ({}); its log ends with:\n{}",
                            ranges, at(from).name, at(to).name, state, message, source.log_tail()));
  }
}

void Cluster::migrate_key_by_key(std::size_t from, const std::vector<int>& slots, std::size_t to) {
  std::vector<std::unique_ptr<Lanes>> others;
  for (const auto& other : nodes()) {
    if (other.index == from || other.index == to || !other.is_primary || !other.running) continue;
    others.push_back(std::make_unique<Lanes>(server(other.index)));
  }
  Lanes source(server(from));
  Lanes target(server(to));
  const auto source_id = id(from);
  const auto target_id = id(to);
  for (std::size_t done = 0; done < slots.size(); done += Lanes::count) {
    const auto begin = slots.begin() + static_cast<std::ptrdiff_t>(done);
    const auto end =
        slots.begin() + static_cast<std::ptrdiff_t>(std::min(done + Lanes::count, slots.size()));
    const std::vector<int> batch(begin, end);
    target.set_slots(batch, "IMPORTING", source_id);
    source.set_slots(batch, "MIGRATING", target_id);
    for (const int slot : batch)
      SlotMigration::marked(*this, slot, from, to).move_keys();
    target.set_slots(batch, "NODE", target_id);
    source.set_slots(batch, "NODE", target_id);
    for (const auto& other : others)
      other->set_slots(batch, "NODE", target_id);
  }
}

std::vector<std::size_t> Cluster::add_nodes_for(int shards) {
  const auto seen = any_view();
  std::uint64_t highest_epoch = 0;
  for (const auto& line : seen.nodes)
    highest_epoch = std::max(highest_epoch, line.config_epoch);
  std::vector<std::size_t> primaries;
  std::vector<std::size_t> replicas;
  for (int shard = 0; shard < shards; ++shard) {
    primaries.push_back(add_node());
    for (int i = 0; i < options_.replicas; ++i)
      replicas.push_back(add_node());
  }
  std::vector<std::size_t> all = primaries;
  all.insert(all.end(), replicas.begin(), replicas.end());
  start_nodes(all);
  set_epochs(all, highest_epoch);
  meet(all);
  give_replicas(primaries, replicas);
  wait_ready_to_fail_over();
  return primaries;
}

std::vector<std::size_t> Cluster::add_empty_shards(int count) {
  const std::lock_guard lock(shape_mutex_);
  return add_nodes_for(count);
}

std::vector<std::size_t> Cluster::add_shards(int count) {
  const std::lock_guard lock(shape_mutex_);
  const auto givers = primaries();
  const auto newcomers = add_nodes_for(count);
  const auto fair = static_cast<std::size_t>(slot_count) / (givers.size() + newcomers.size());
  // One newcomer is filled after the other, so that each gets few and long ranges.
  auto taker = newcomers.begin();
  std::size_t room = fair;
  for (const auto giver : givers) {
    auto slots = slots_of(giver);
    while (slots.size() > fair && taker != newcomers.end()) {
      const auto count_now = std::min(slots.size() - fair, room);
      const auto cut = slots.end() - static_cast<std::ptrdiff_t>(count_now);
      move_slots(giver, {cut, slots.end()}, *taker);
      slots.erase(cut, slots.end());
      room -= count_now;
      if (room > 0) continue;
      ++taker;
      room = fair;
    }
  }
  say(fmt::format("{} shards added", count));
  return newcomers;
}

void Cluster::remove_shards(int count) {
  const std::lock_guard lock(shape_mutex_);
  auto all = primaries();
  if (static_cast<int>(all.size()) <= count) {
    throw Error(fmt::format("cannot remove {} of {} shards", count, all.size()));
  }
  const auto first_leaver = all.end() - count;
  const std::vector<std::size_t> takers(all.begin(), first_leaver);
  std::for_each(first_leaver, all.end(), [&](std::size_t i) { empty_and_remove(i, takers); });
  say(fmt::format("{} shards removed", count));
}

void Cluster::remove_shard(std::size_t primary) {
  const std::lock_guard lock(shape_mutex_);
  auto takers = primaries();
  std::erase(takers, primary);
  if (takers.empty()) throw Error("cannot remove the last shard");
  empty_and_remove(primary, takers);
}

void Cluster::empty_and_remove(std::size_t primary, const std::vector<std::size_t>& takers) {
  const auto parts = in_parts(slots_of(primary), takers.size());
  for (std::size_t i = 0; i < takers.size(); ++i)
    move_slots(primary, parts[i], takers[i]);

  auto leavers = replicas_of(primary);  // first, so that none takes its primary's place
  leavers.push_back(primary);
  for (const auto leaver : leavers) {
    const auto leaver_id = id(leaver);
    wait_until_unused(leaver);
    server(leaver).stop();
    at(leaver).removed = true;
    if (const auto& proxy = at(leaver).proxy) proxy->stop_listening();
    if (options_.dns) options_.dns->remove(at(leaver).hostname);
    for (const auto index : running_members()) {
      // Later versions pass a FORGET on, so that others may not know the node any more.
      const auto reply = server(index).try_command("CLUSTER", "FORGET", leaver_id);
      if (reply.is_error() && reply.text.find("Unknown node") == std::string::npos) {
        throw Error(
            fmt::format("{} does not forget {}: {}", at(index).name, at(leaver).name, reply.text));
      }
    }
    changed(leaver);
    say(fmt::format("{} left", at(leaver).name));
  }
}

/// As an operator would: a client that learns from MOVED that the slots are gone may still have
/// commands on their way.
void Cluster::wait_until_unused(std::size_t node) const {
  std::int64_t redirected = -1;
  wait_until(
      [&] {
        const auto before = std::exchange(redirected, server(node).error_count("MOVED"));
        return before == redirected;
      },
      milliseconds(5000), fmt::format("clients to leave {}", at(node).name), milliseconds(200));
}

std::size_t Cluster::failover(std::size_t node_index) {
  const auto asked = node(node_index);
  std::size_t promoted = node_index;
  if (asked.is_primary) {
    auto replicas = replicas_of(node_index);
    std::erase_if(replicas, [&](std::size_t i) { return !server(i).running(); });
    if (replicas.empty()) throw Error(fmt::format("{} has no replica that runs", asked.name));
    promoted = replicas.front();
  }
  const auto old_primary = asked.is_primary ? node_index : asked.primary.value();
  const auto new_id = id(promoted);
  const auto old_id = id(old_primary);
  const auto slots = slots_of(old_primary);
  server(promoted).command("CLUSTER", "FAILOVER");

  std::string last;
  const auto done = [&] {
    for (const auto index : running_members()) {
      const auto seen = view(index);
      const auto* line = seen.find(new_id);
      const auto* old = seen.find(old_id);
      if (line != nullptr && line->is_primary() && old != nullptr && !old->is_primary()) continue;
      last = fmt::format("{} does not see it", at(index).name);
      return false;
    }
    return true;
  };
  wait_until(done, options_.ready_limit, [&] {
    return fmt::format("{} to take over from {}: {}; its log ends with:\n{}", at(promoted).name,
                       at(old_primary).name, last, server(promoted).log_tail());
  });
  if (!slots.empty()) wait_all_agree(slots, promoted);
  say(fmt::format("{} took over from {}", at(promoted).name, at(old_primary).name));
  return promoted;
}

void Cluster::reset_counts() {
  for (const auto index : running_members())
    server(index).reset_counts();
}

std::int64_t Cluster::command_count(const std::string& command) const {
  std::int64_t sum = 0;
  for (const auto index : running_members())
    sum += server(index).command_count(command).calls;
  return sum;
}

std::int64_t Cluster::command_count(const std::string& command, std::size_t node) const {
  return server(node).command_count(command).calls;
}

std::int64_t Cluster::error_count(const std::string& word) const {
  std::int64_t sum = 0;
  for (const auto index : running_members())
    sum += server(index).error_count(word);
  return sum;
}

std::int64_t Cluster::connections_received() const {
  std::int64_t sum = 0;
  for (const auto index : running_members())
    sum += server(index).connections_received();
  return sum;
}

std::int64_t Cluster::connections_received(std::size_t node) const {
  return server(node).connections_received();
}

}  // namespace slotwise::kit
