#include "topology/nodes_text.hpp"

#include <slotwise/slot.hpp>

#include <charconv>

#include "base/endpoint.hpp"

namespace slotwise::topology {

namespace {

// The part of `rest` before `separator`, which is taken off with it.
std::string_view take_until(std::string_view& rest, char separator) noexcept {
  const auto end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

template <class Number>
bool read_number(std::string_view text, Number& value) noexcept {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && at == end && !text.empty();
}

// ip:port@bus[,hostname[,aux=val...]]; before 4.0 without @bus, before 7.0 without hostname.
bool read_address(std::string_view text, NodeLine& line) noexcept {
  std::string_view address = take_until(text, ',');
  const std::string_view name = take_until(text, ',');
  if (name.find('=') == std::string_view::npos) line.hostname = name;
  address = address.substr(0, address.rfind('@'));
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return false;
  unsigned port = 0;
  if (!read_number(address.substr(colon + 1), port) || port > 65535) return false;
  line.port = static_cast<std::uint16_t>(port);  // 0: noaddr, or a TLS port that is unknown
  line.ip = address.substr(0, colon);
  if (line.ip.size() >= 2 && line.ip.front() == '[' && line.ip.back() == ']') {
    line.ip = line.ip.substr(1, line.ip.size() - 2);
  }
  return true;
}

void read_flags(std::string_view flags, NodeLine& line) noexcept {
  while (!flags.empty()) {
    const std::string_view flag = take_until(flags, ',');
    if (flag == "myself") line.myself = true;
    if (flag == "master" || flag == "primary") line.primary = true;
    if (flag == "slave" || flag == "replica") line.replica = true;
    if (flag == "fail") line.failed = true;
    if (flag == "fail?") line.suspected = true;
    if (flag == "handshake") line.handshake = true;
    if (flag == "noaddr") line.no_address = true;
  }
}

// 5, 5-9, [5->-id] or [5-<-id].
bool read_slots(std::string_view field, NodeLine& line) noexcept {
  if (field.front() == '[') {
    if (field.back() != ']') return false;
    const bool out = field.find("->-") != std::string_view::npos;
    const bool in = field.find("-<-") != std::string_view::npos;
    line.migrating += out ? 1 : 0;
    line.importing += in ? 1 : 0;
    return out != in;
  }
  const std::string_view first_text = take_until(field, '-');
  unsigned first = 0;
  unsigned last = 0;
  if (!read_number(first_text, first)) return false;
  if (field.empty()) {
    last = first;
  } else if (!read_number(field, last)) {
    return false;
  }
  if (last < first || last >= slot_count) return false;
  line.slots += static_cast<int>(last - first + 1);
  return true;
}

// 40 hex digits today; other servers that speak the protocol need not follow.
bool is_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= longest_node_id;
}

bool read_line(std::string_view text, NodeLine& line) noexcept {
  line.id = take_until(text, ' ');
  if (!is_id(line.id)) return false;
  if (!read_address(take_until(text, ' '), line)) return false;
  read_flags(take_until(text, ' '), line);
  line.primary_id = take_until(text, ' ');
  if (line.primary_id == "-") line.primary_id = {};
  take_until(text, ' ');  // ping sent
  take_until(text, ' ');  // pong received
  if (!read_number(take_until(text, ' '), line.config_epoch)) return false;
  line.link_up = take_until(text, ' ') == "connected";
  while (!text.empty()) {
    const std::string_view field = take_until(text, ' ');
    if (!field.empty() && !read_slots(field, line)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<NodeLine>> parse_nodes_text(std::string_view text) {
  std::vector<NodeLine> lines;
  while (!text.empty()) {
    std::string_view row = take_until(text, '\n');
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    if (row.empty()) continue;
    NodeLine line;
    if (!read_line(row, line)) return std::nullopt;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace slotwise::topology
