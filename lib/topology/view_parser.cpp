#include "topology/view_parser.hpp"

#include <slotwise/slot.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/endpoint.hpp"
#include "topology/nodes_text.hpp"
#include "topology/redirect.hpp"

namespace slotwise::topology {

namespace {

// A cluster has at most some thousand nodes; this keeps every index far below no_shard.
constexpr std::size_t most_nodes = 60'000;

class ViewBuilder {
 public:
  explicit ViewBuilder(const Endpoint& answered_by) : answered_by_(answered_by) {}

  ViewResult build(const Reply& slots, const Reply* nodes);

 private:
  bool add_slots(const Reply& slots);
  bool add_range(std::span<const Reply> entry);
  bool add_shard(std::span<const Reply> entry, std::uint32_t primary, std::uint16_t& shard);
  bool add_node(const Reply& reply, std::uint32_t& index);
  bool read_node(std::span<const Reply> fields, NodeInfo& node, bool& known);
  std::uint32_t keep(NodeInfo node, std::string_view id);

  void add_nodes(std::string_view text);
  void join(const NodeLine& line);
  void add_unlisted(const NodeLine& line);
  Endpoint unlisted_endpoint(const NodeLine& line, bool& implied) const;
  void finish();

  bool reject(std::string text) {
    text_ = std::move(text);
    return false;
  }
  // Where in the reply something is wrong.
  std::string here() const {
    return "CLUSTER SLOTS, range " + std::to_string(first_) + "-" + std::to_string(last_);
  }

  const Endpoint& answered_by_;
  ClusterView view_;
  std::unordered_map<std::string_view, std::uint32_t> by_id_;   // views into the replies
  std::unordered_map<std::string, std::uint32_t> by_endpoint_;  // of nodes without an id
  std::vector<std::uint16_t> shard_of_;                         // by index of the primary
  std::int64_t first_ = 0;                                      // of the range that is read
  std::int64_t last_ = 0;
  std::string text_;
  // What CLUSTER SLOTS prefers decides what to connect to for nodes that it does not list.
  bool all_implied_ = true;
  bool names_preferred_ = false;
};

ViewResult problem(ViewProblem kind, std::string text) {
  ViewResult result;
  result.problem = kind;
  result.text = std::move(text);
  return result;
}

// Bytes from the network on their way into a message.
std::string shown(std::string_view text) {
  return Reply::make_text(Reply::Type::string, std::string(text.substr(0, 100))).describe();
}

bool ViewBuilder::read_node(std::span<const Reply> fields, NodeInfo& node, bool& known) {
  const Reply& host = fields[0];
  if (!host.is_nil() && !host.is_text()) return reject(here() + ": the endpoint is no text");
  if (!fields[1].is_integer()) return reject(here() + ": the port is no number");
  const std::int64_t port = fields[1].integer();
  if (port < 0 || port > 65535) return reject(here() + ": bad port " + std::to_string(port));

  if (fields.size() > 3 && fields[3].is_aggregate()) {
    const auto pairs = fields[3].elements();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const std::string_view name = pairs[i].text();
      if (name == "ip") node.announced_ip = pairs[i + 1].text();
      if (name == "hostname") node.hostname = pairs[i + 1].text();
      if (name == "availability-zone") node.availability_zone = pairs[i + 1].text();
    }
  }

  // Null: "connect to the endpoint that you asked". Empty: the node does not know its own ip,
  // which the documentation lets clients treat alike. "?": a node without the hostname that it
  // should announce; only the ip in the metadata, if any, says where it is.
  node.endpoint.host = host.text();
  // A TLS-only cluster of some versions says 0: all its nodes share the port that was asked.
  node.endpoint.port = port == 0 ? answered_by_.port : static_cast<std::uint16_t>(port);
  if (node.endpoint.host.empty()) {
    node.endpoint.host = answered_by_.host;
    node.endpoint_implied = true;
  } else if (node.endpoint.host == "?") {
    node.endpoint.host = node.announced_ip;
  } else if (!base::is_ip_literal(node.endpoint.host)) {
    names_preferred_ = true;
    if (node.hostname.empty()) node.hostname = node.endpoint.host;
  } else if (node.announced_ip.empty()) {
    node.announced_ip = node.endpoint.host;
  }
  all_implied_ = all_implied_ && node.endpoint_implied;
  known = !node.endpoint.host.empty() && node.endpoint.port != 0;
  return true;
}

// `id` is the text in the reply: it outlives this, and where it is stored does not move.
std::uint32_t ViewBuilder::keep(NodeInfo node, std::string_view id) {
  const auto index = static_cast<std::uint32_t>(view_.nodes.size());
  node.id = id;
  if (id.empty()) {
    by_endpoint_.emplace(base::endpoint_key(node.endpoint), index);
  } else {
    by_id_.emplace(id, index);
  }
  view_.nodes.push_back(std::move(node));
  return index;
}

// `index` is no_index for a node whose address nobody knows.
bool ViewBuilder::add_node(const Reply& reply, std::uint32_t& index) {
  const auto fields = reply.elements();
  if (fields.size() < 2) return reject(here() + ": a node needs an endpoint and a port");
  const std::string_view id = fields.size() > 2 ? fields[2].text() : std::string_view();
  if (!id.empty()) {
    // The same few nodes are named by every range: this is the usual way out.
    if (const auto known = by_id_.find(id); known != by_id_.end()) {
      index = known->second;
      return true;
    }
    if (id.size() > longest_node_id) return reject(here() + ": no node id: " + shown(id));
  }
  if (view_.nodes.size() >= most_nodes) return reject("CLUSTER SLOTS names too many nodes");

  NodeInfo node;
  bool known = false;
  index = no_index;
  if (!read_node(fields, node, known)) return false;
  if (!known) return true;
  if (id.empty()) {
    const auto same = by_endpoint_.find(base::endpoint_key(node.endpoint));
    if (same != by_endpoint_.end()) {
      index = same->second;
      return true;
    }
  }
  index = keep(std::move(node), id);
  return true;
}

bool ViewBuilder::add_shard(std::span<const Reply> entry, std::uint32_t primary,
                            std::uint16_t& shard) {
  shard_of_.resize(view_.nodes.size(), no_shard);
  shard = shard_of_[primary];
  if (shard == no_shard) {
    if (view_.nodes[primary].role == Role::replica) {
      return reject(here() + ": its primary is a replica elsewhere in the reply");
    }
    shard = static_cast<std::uint16_t>(view_.shards.size());
    shard_of_[primary] = shard;
    view_.shards.push_back(Shard{primary, {}});
  }
  for (std::size_t i = 3; i < entry.size(); ++i) {
    // Later versions may add elements that are no nodes.
    if (entry[i].type() != Reply::Type::array) continue;
    std::uint32_t replica = no_index;
    if (!add_node(entry[i], replica)) return false;
    if (replica == no_index) continue;
    NodeInfo& node = view_.nodes[replica];
    if (node.primary == primary) continue;
    const bool leads = replica < shard_of_.size() && shard_of_[replica] != no_shard;
    if (leads || node.primary != no_index || replica == primary) {
      return reject(here() + ": a replica has another role elsewhere in the reply");
    }
    node.role = Role::replica;
    node.primary = primary;
  }
  return true;
}

bool ViewBuilder::add_range(std::span<const Reply> entry) {
  if (entry.size() < 2 || !entry[0].is_integer() || !entry[1].is_integer()) {
    return reject("CLUSTER SLOTS: an entry is not a range of slots with its nodes");
  }
  first_ = entry[0].integer();
  last_ = entry[1].integer();
  if (first_ < 0 || last_ >= slot_count || last_ < first_) return reject(here() + ": bad range");
  if (entry.size() < 3 || entry[2].type() != Reply::Type::array) {
    return reject(here() + ": no node");
  }
  std::uint32_t primary = no_index;
  if (!add_node(entry[2], primary)) return false;
  if (primary == no_index) return true;  // its slots stay uncovered; other nodes may know better
  std::uint16_t shard = no_shard;
  if (!add_shard(entry, primary, shard)) return false;
  for (auto slot = static_cast<std::size_t>(first_); slot <= static_cast<std::size_t>(last_);
       ++slot) {
    if (view_.slots[slot] != no_shard) {
      return reject(here() + ": slot " + std::to_string(slot) + " is there twice");
    }
    view_.slots[slot] = shard;
  }
  view_.covered += static_cast<int>(last_ - first_ + 1);
  return true;
}

bool ViewBuilder::add_slots(const Reply& slots) {
  for (const Reply& entry : slots.elements()) {
    if (!add_range(entry.elements())) return false;
  }
  return true;
}

void ViewBuilder::join(const NodeLine& line) {
  const auto known = by_id_.find(line.id);
  if (known == by_id_.end()) {
    add_unlisted(line);
    return;
  }
  NodeInfo& node = view_.nodes[known->second];
  node.config_epoch = line.config_epoch;
  if (line.failed) node.health = Health::failed;
  if (node.hostname.empty()) node.hostname = line.hostname;
  if (node.announced_ip.empty()) node.announced_ip = line.ip;
  if (line.myself) view_.answered_by = known->second;
}

// What to connect to for a node that only CLUSTER NODES names, in the way CLUSTER SLOTS would say.
Endpoint ViewBuilder::unlisted_endpoint(const NodeLine& line, bool& implied) const {
  implied = all_implied_;
  if (implied || (line.myself && line.ip.empty())) {
    implied = true;
    return Endpoint{answered_by_.host, line.port};
  }
  const bool by_name = names_preferred_ && !line.hostname.empty();
  return Endpoint{std::string(by_name ? line.hostname : line.ip), line.port};
}

void ViewBuilder::add_unlisted(const NodeLine& line) {
  // A handshake runs under a made-up id; without address there is nothing to talk to.
  if (line.handshake || line.no_address || line.port == 0) return;
  if (line.primary == line.replica || view_.nodes.size() >= most_nodes) return;
  NodeInfo node;
  node.endpoint = unlisted_endpoint(line, node.endpoint_implied);
  if (node.endpoint.host.empty()) return;
  node.announced_ip = line.ip;
  node.hostname = line.hostname;
  node.config_epoch = line.config_epoch;
  node.role = line.replica ? Role::replica : Role::primary;
  if (line.failed) {
    node.health = Health::failed;
  } else if (line.replica) {
    node.health = Health::not_serving;
  }
  const std::uint32_t index = keep(std::move(node), line.id);
  if (line.myself) view_.answered_by = index;
}

void ViewBuilder::add_nodes(std::string_view text) {
  const auto lines = parse_nodes_text(text);
  if (!lines || lines->empty()) return;
  const std::size_t listed = view_.nodes.size();
  for (const NodeLine& line : *lines)
    join(line);
  // A replica may stand before its primary, so this needs all nodes.
  for (const NodeLine& line : *lines) {
    const auto known = by_id_.find(line.id);
    if (known == by_id_.end() || known->second < listed || !line.replica) continue;
    const auto primary = by_id_.find(line.primary_id);
    if (primary == by_id_.end()) continue;
    if (view_.nodes[primary->second].role == Role::primary) {
      view_.nodes[known->second].primary = primary->second;
    }
  }
  view_.has_nodes = true;
}

void ViewBuilder::finish() {
  for (std::uint32_t i = 0; i < view_.nodes.size(); ++i) {
    const NodeInfo& node = view_.nodes[i];
    view_.max_epoch = std::max(view_.max_epoch, node.config_epoch);
    if (view_.answered_by == no_index && node.answers_to(answered_by_)) view_.answered_by = i;
    if (node.role != Role::replica || node.health != Health::ok || node.primary == no_index)
      continue;
    const std::uint16_t shard =
        node.primary < shard_of_.size() ? shard_of_[node.primary] : no_shard;
    if (shard != no_shard) view_.shards[shard].replicas.push_back(i);
  }
}

ViewResult ViewBuilder::build(const Reply& slots, const Reply* nodes) {
  if (!add_slots(slots)) return problem(ViewProblem::malformed, std::move(text_));
  if (view_.covered == 0) {
    return problem(ViewProblem::no_slots, "no slot has an owner whose address is known");
  }
  if (nodes != nullptr && nodes->is_text() && !nodes->is_error()) add_nodes(nodes->text());
  finish();
  ViewResult result;
  result.view = std::move(view_);
  return result;
}

}  // namespace

ViewResult parse_view(const Reply& slots, const Reply* nodes, const Endpoint& answered_by) {
  if (slots.is_error()) {
    const ErrorKind kind = parse_server_error(slots.text()).kind;
    // A server that does not even know CLUSTER has no cluster mode either.
    const bool disabled = kind == ErrorKind::cluster_disabled || kind == ErrorKind::unknown_command;
    return problem(disabled ? ViewProblem::cluster_disabled : ViewProblem::refused,
                   slots.text().empty() ? "an error without text" : std::string(slots.text()));
  }
  if (slots.type() != Reply::Type::array && slots.type() != Reply::Type::set) {
    return problem(ViewProblem::malformed,
                   "CLUSTER SLOTS was answered with a " + std::string(to_string(slots.type())));
  }
  if (slots.elements().empty()) {
    return problem(ViewProblem::no_slots, "the node knows no slots: it is in no cluster, or fresh");
  }
  return ViewBuilder(answered_by).build(slots, nodes);
}

}  // namespace slotwise::topology
