#include "routing/node_set.hpp"

#include <utility>

#include "base/endpoint.hpp"

namespace slotwise::routing {
namespace {

NodeIdentity identity_of(const topology::MapNode& node) {
  NodeIdentity identity;
  identity.handle = node.handle;
  identity.endpoint = node.info.endpoint;
  identity.id = node.info.id;
  identity.announced_ip = node.info.announced_ip;
  identity.hostname = node.info.hostname;
  identity.zone = node.info.availability_zone;
  identity.primary = node.info.role == topology::Role::primary;
  return identity;
}

}  // namespace

Node& NodeSet::add(NodeIdentity identity) {
  all_.push_back(std::make_unique<Node>(around_, events_, std::move(identity)));
  return *all_.back();
}

Node* NodeSet::find(topology::NodeHandle handle) const noexcept {
  const auto it = by_handle_.find(handle);
  return it == by_handle_.end() ? nullptr : it->second;
}

Node& NodeSet::at(const Endpoint& endpoint, const topology::TopologyMap& map) {
  if (const topology::MapNode* known = map.find_by_endpoint(endpoint)) {
    if (Node* node = find(known->handle)) return *node;
  }
  return at(endpoint);
}

Node& NodeSet::at(const Endpoint& endpoint, bool primary) {
  Node*& visitor = visitors_[base::endpoint_key(endpoint)];
  NodeIdentity identity;
  identity.endpoint = endpoint;
  identity.primary = primary;
  if (visitor == nullptr) {
    visitor = &add(std::move(identity));
  } else if (visitor->retired()) {
    visitor->update(std::move(identity));
  }
  return *visitor;
}

Node* NodeSet::adopt(const topology::MapNode& node) {
  for (auto it = visitors_.begin(); it != visitors_.end(); ++it) {
    Node* visitor = it->second;
    const bool same_id = !node.info.id.empty() && visitor->told_id() == node.info.id;
    const bool same_place = it->first == base::endpoint_key(node.info.endpoint);
    if (!same_id && !same_place) continue;
    visitors_.erase(it);
    return visitor;
  }
  return nullptr;
}

void NodeSet::apply(const topology::TopologyMap& map) {
  for (const topology::MapNode& known : map.nodes()) {
    Node*& node = by_handle_[known.handle];
    if (node == nullptr) node = adopt(known);
    if (node == nullptr) {
      node = &add(identity_of(known));
    } else {
      node->update(identity_of(known));
    }
  }
  for (auto it = by_handle_.begin(); it != by_handle_.end();) {
    if (map.find(it->first) != nullptr) {
      ++it;
    } else {
      it->second->retire();
      // It may come back: then it is this object again, and coming and going costs no memory.
      visitors_.try_emplace(base::endpoint_key(it->second->identity().endpoint), it->second);
      it = by_handle_.erase(it);
    }
  }
}

void NodeSet::retire_visitors() {
  for (auto& [key, visitor] : visitors_)
    visitor->retire();
}

}  // namespace slotwise::routing
