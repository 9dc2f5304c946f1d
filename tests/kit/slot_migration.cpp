#include "kit/slot_migration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kit/cluster.hpp"
#include "kit/cluster_node.hpp"
#include "kit/error.hpp"

namespace slotwise::kit {

SlotMigration::SlotMigration(Cluster& cluster, int slot, std::size_t from, std::size_t to, Marked)
    : cluster_(&cluster),
      slot_(slot),
      from_(from),
      to_(to),
      from_id_(cluster.id(from)),
      to_id_(cluster.id(to)) {}

SlotMigration::SlotMigration(Cluster& cluster, int slot, std::size_t from, std::size_t to)
    : SlotMigration(cluster, slot, from, to, Marked{}) {
  // The target first: a source that says ASK to a target that does not import would be a loop.
  cluster_->server(to_).command("CLUSTER", "SETSLOT", slot_, "IMPORTING", from_id_);
  cluster_->server(from_).command("CLUSTER", "SETSLOT", slot_, "MIGRATING", to_id_);
}

SlotMigration SlotMigration::marked(Cluster& cluster, int slot, std::size_t from, std::size_t to) {
  return SlotMigration(cluster, slot, from, to, Marked{});
}

std::size_t SlotMigration::keys_left() const {
  return static_cast<std::size_t>(
      cluster_->server(from_).command("CLUSTER", "COUNTKEYSINSLOT", slot_).num());
}

std::vector<std::string> SlotMigration::some_keys(std::size_t node, std::size_t limit) const {
  return cluster_->server(node).command("CLUSTER", "GETKEYSINSLOT", slot_, limit).strings();
}

void SlotMigration::migrate_keys(std::size_t source, std::size_t target,
                                 const std::vector<std::string>& keys) {
  auto& server = cluster_->server(target);
  const auto address = server.address();
  std::vector<std::string> command{"MIGRATE", address.host, std::to_string(address.port),
                                   "",        "0",          "5000"};
  if (!server.admin_password().empty()) {
    command.insert(command.end(), {"AUTH2", server.admin_user(), server.admin_password()});
  }
  command.emplace_back("KEYS");
  command.insert(command.end(), keys.begin(), keys.end());
  cluster_->server(source).command_words(command);  // NOKEY is no error: it expired meanwhile
}

std::size_t SlotMigration::move_keys(std::size_t limit) {
  constexpr std::size_t at_once = 100;
  std::size_t moved = 0;
  while (moved < limit) {
    const auto keys = some_keys(from_, std::min(at_once, limit - moved));
    if (keys.empty()) break;
    migrate_keys(from_, to_, keys);
    moved += keys.size();
  }
  return moved;
}

void SlotMigration::move_key(std::string_view key) {
  migrate_keys(from_, to_, {std::string(key)});
}

void SlotMigration::finish(const Between& between) {
  const auto tell = [&](Step step) {
    if (between) between(slot_, step);
  };
  tell(Step::marked);
  if (const auto keys = keys_left(); keys > 1) {
    move_keys(keys / 2);
    tell(Step::half_moved);
  }
  move_keys();
  tell(Step::moved);
  // The target first: it raises its epoch and tells the others, so that the slot has an owner
  // whatever happens now. The source would otherwise have lost it to nobody.
  cluster_->server(to_).command("CLUSTER", "SETSLOT", slot_, "NODE", to_id_);
  tell(Step::target_owns);
  move_keys();  // what a test wrote to the source in between
  cluster_->server(from_).command("CLUSTER", "SETSLOT", slot_, "NODE", to_id_);
  for (const auto index : cluster_->running_members()) {
    if (index == from_ || index == to_) continue;
    // Replicas refuse and learn it from their primary; a node that dies meanwhile needs nothing.
    try {
      cluster_->server(index).try_command("CLUSTER", "SETSLOT", slot_, "NODE", to_id_);
    } catch (const Error&) {
      continue;
    }
  }
  tell(Step::finished);
}

void SlotMigration::cancel() {
  // The source first: while it is MIGRATING it takes no key that it has not.
  cluster_->server(from_).command("CLUSTER", "SETSLOT", slot_, "STABLE");
  while (true) {
    const auto keys = some_keys(to_, 100);
    if (keys.empty()) break;
    migrate_keys(to_, from_, keys);
  }
  cluster_->server(to_).command("CLUSTER", "SETSLOT", slot_, "STABLE");
}

}  // namespace slotwise::kit
