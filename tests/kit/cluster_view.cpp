#include "kit/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace {

template <class Number>
Number to_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(fmt::format("CLUSTER NODES has '{}' where a number belongs", text));
  }
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, separator);)
    parts.push_back(part);
  return parts;
}

/// "127.0.0.1:7000@17000,hostname,shard-id=..."
void read_address(NodeLine& node, const std::string& text) {
  const auto parts = split(text, ',');
  const std::string address = parts.empty() ? "" : parts[0];
  const auto at = address.rfind('@');
  const auto colon = address.rfind(':', at);
  if (colon == std::string::npos) throw Error("CLUSTER NODES has the address '" + text + "'");
  node.host = address.substr(0, colon);
  const auto end = at == std::string::npos ? address.size() : at;
  node.port = to_number<std::uint16_t>(address.substr(colon + 1, end - colon - 1));
  if (at != std::string::npos) node.bus_port = to_number<std::uint16_t>(address.substr(at + 1));
  if (parts.size() > 1 && parts[1].find('=') == std::string::npos) node.hostname = parts[1];
}

/// "5-10", "5", "[93->-id]" or "[93-<-id]"
void read_slots(NodeLine& node, const std::string& text) {
  if (text.front() == '[') {
    const auto dash = text.find('-');
    const int slot = to_number<int>(text.substr(1, dash - 1));
    const auto id = text.substr(dash + 3, text.size() - dash - 4);
    (text[dash + 1] == '>' ? node.migrating : node.importing)[slot] = id;
    return;
  }
  const auto dash = text.find('-');
  const int first = to_number<int>(text.substr(0, dash));
  const int last = dash == std::string::npos ? first : to_number<int>(text.substr(dash + 1));
  node.slots.push_back({first, last});
}

NodeLine read_line(const std::string& line) {
  const auto words = split(line, ' ');
  if (words.size() < 8) throw Error("CLUSTER NODES has the line '" + line + "'");
  NodeLine node;
  node.id = words[0];
  read_address(node, words[1]);
  node.flags = split(words[2], ',');
  if (words[3] != "-") node.primary_id = words[3];
  node.config_epoch = to_number<std::uint64_t>(words[6]);
  node.connected = words[7] == "connected";
  for (std::size_t i = 8; i < words.size(); ++i)
    read_slots(node, words[i]);
  return node;
}

}  // namespace

std::string SlotRange::to_string() const {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

std::vector<SlotRange> to_ranges(const std::vector<int>& slots) {
  std::vector<SlotRange> ranges;
  for (const int slot : slots) {
    if (!ranges.empty() && ranges.back().last + 1 == slot) {
      ranges.back().last = slot;
    } else {
      ranges.push_back({slot, slot});
    }
  }
  return ranges;
}

bool NodeLine::has_flag(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

bool NodeLine::in_trouble() const {
  return has_flag("fail") || has_flag("fail?") || has_flag("handshake") || has_flag("noaddr");
}

ClusterView ClusterView::parse(std::string_view text) {
  ClusterView view;
  for (const auto& line : split(text, '\n')) {
    // nodes.conf, which has the same form, ends with a line of variables.
    if (!line.empty() && !line.starts_with("vars ")) view.nodes.push_back(read_line(line));
  }
  return view;
}

const NodeLine* ClusterView::find(std::string_view id) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeLine& node) { return node.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

std::vector<const NodeLine*> ClusterView::owners() const {
  std::vector<const NodeLine*> owners(slot_count, nullptr);
  for (const auto& node : nodes) {
    for (const auto& range : node.slots) {
      for (int slot = range.first; slot <= range.last; ++slot) {
        owners.at(static_cast<std::size_t>(slot)) = &node;
      }
    }
  }
  return owners;
}

}  // namespace slotwise::kit
