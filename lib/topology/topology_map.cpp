#include "topology/topology_map.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/endpoint.hpp"

namespace slotwise::topology {

namespace {

bool by_handle(const MapNode& node, NodeHandle handle) noexcept {
  return node.handle < handle;
}

// How well a node fits an endpoint; 0: not at all. A node that the cluster calls failed may still
// be listed with an address that another one uses by now.
int fit(const MapNode& node, const Endpoint& endpoint) noexcept {
  if (!node.info.answers_to(endpoint)) return 0;
  int points = 1;
  if (!node.provisional) points += 1;
  if (base::same_endpoint(node.info.endpoint, endpoint)) points += 2;
  if (node.info.health != Health::failed) points += 4;
  return points;
}

}  // namespace

std::shared_ptr<const NodeTable> NodeTable::make(std::vector<MapNode> nodes) {
  std::sort(nodes.begin(), nodes.end(),
            [](const MapNode& a, const MapNode& b) { return a.handle < b.handle; });
  auto table = std::make_shared<NodeTable>();
  std::unordered_map<NodeHandle, std::size_t> shard_of;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].info.role != Role::primary) continue;
    nodes[i].primary = no_node;
    shard_of.emplace(nodes[i].handle, table->shards.size());
    table->shards.push_back(Shard{i, {}});
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const MapNode& node = nodes[i];
    if (node.info.role != Role::replica || node.info.health != Health::ok) continue;
    const auto shard = shard_of.find(node.primary);
    if (shard != shard_of.end()) table->shards[shard->second].replicas.push_back(i);
  }
  table->nodes = std::move(nodes);
  return table;
}

TopologyMap::TopologyMap() : table_(std::make_shared<NodeTable>()) {
  slots_.fill(no_shard);
}

TopologyMap::TopologyMap(std::uint64_t version, std::shared_ptr<const NodeTable> table,
                         const Owners& owners)
    : version_(version), table_(std::move(table)) {
  std::unordered_map<NodeHandle, std::uint16_t> shard_of;
  for (std::size_t i = 0; i < table_->shards.size(); ++i) {
    shard_of.emplace(table_->nodes[table_->shards[i].primary].handle,
                     static_cast<std::uint16_t>(i));
  }
  NodeHandle last = no_node;
  std::uint16_t shard = no_shard;
  for (std::size_t slot = 0; slot < slot_count; ++slot) {
    if (owners[slot] != last) {  // neighbours mostly have one owner: one look-up a range
      last = owners[slot];
      const auto known = shard_of.find(last);
      shard = known == shard_of.end() ? no_shard : known->second;
    }
    slots_[slot] = shard;
    covered_ += shard == no_shard ? 0 : 1;
  }
}

const MapNode* TopologyMap::owner(std::uint16_t slot) const noexcept {
  const std::uint16_t shard = slot < slot_count ? slots_[slot] : no_shard;
  return shard == no_shard ? nullptr : &nodes()[shards()[shard].primary];
}

NodeHandle TopologyMap::owner_handle(std::uint16_t slot) const noexcept {
  const MapNode* node = owner(slot);
  return node == nullptr ? no_node : node->handle;
}

TopologyMap::Owners TopologyMap::owners() const noexcept {
  Owners owners{};
  for (std::uint16_t slot = 0; slot < slot_count; ++slot)
    owners[slot] = owner_handle(slot);
  return owners;
}

const MapNode* TopologyMap::find(NodeHandle handle) const noexcept {
  const auto at = std::lower_bound(nodes().begin(), nodes().end(), handle, by_handle);
  return at != nodes().end() && at->handle == handle ? &*at : nullptr;
}

const MapNode* TopologyMap::find_by_id(std::string_view id) const noexcept {
  if (id.empty()) return nullptr;
  const auto at = std::find_if(nodes().begin(), nodes().end(),
                               [id](const MapNode& node) { return node.info.id == id; });
  return at == nodes().end() ? nullptr : &*at;
}

const MapNode* TopologyMap::find_by_endpoint(const Endpoint& endpoint) const noexcept {
  const MapNode* best = nullptr;
  int points = 0;
  for (const MapNode& node : nodes()) {
    const int fits = fit(node, endpoint);
    if (fits <= points) continue;
    points = fits;
    best = &node;
  }
  return best;
}

TopologyInfo TopologyMap::info() const {
  TopologyInfo info;
  info.mode = Mode::cluster;
  info.covered_slots = covered_;
  for (const MapNode& node : nodes()) {
    TopologyInfo::Node out;
    out.id = node.info.id;
    out.endpoint = node.info.endpoint.to_string();
    out.announced_ip = node.info.announced_ip;
    out.primary = node.info.role == Role::primary;
    if (const MapNode* primary = find(node.primary)) out.primary_id = primary->info.id;
    out.config_epoch = node.info.config_epoch;
    out.healthy = node.info.health == Health::ok;
    info.nodes.push_back(std::move(out));
  }
  for (int slot = 0; slot < slot_count; ++slot) {
    const std::uint16_t shard = slots_[static_cast<std::size_t>(slot)];
    if (shard == no_shard) continue;
    auto& ranges = info.nodes[shards()[shard].primary].slots;
    if (!ranges.empty() && ranges.back().last == slot - 1) {
      ranges.back().last = slot;
    } else {
      ranges.push_back({slot, slot});
    }
  }
  return info;
}

}  // namespace slotwise::topology
