// Replies to CLUSTER SLOTS and CLUSTER NODES for tests: from captured bytes, or from short lists.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/reply.hpp>
#include <slotwise/slot.hpp>

#include "topology/view_parser.hpp"

namespace slotwise::topology::testing {

/// A strict little RESP reader for captures; '|' stands for CRLF so that they can be read.
class RespReader {
 public:
  explicit RespReader(std::string_view text) : rest_(text) {}

  Reply next() {
    const std::string_view line = take_line();
    const std::string_view head = line.substr(1);
    switch (line.at(0)) {
      case '*':
        return aggregate(Reply::Type::array, number(head));
      case '~':
        return aggregate(Reply::Type::set, number(head));
      case '%':
        return aggregate(Reply::Type::map, 2 * number(head));
      case ':':
        return Reply::make_integer(number(head));
      case '+':
        return Reply::make_text(Reply::Type::status, std::string(head));
      case '-':
        return Reply::make_text(Reply::Type::error, std::string(head));
      case '_':
        return {};
      case '$':
        return bulk(number(head));
      default:
        throw std::runtime_error("RespReader: unknown type in a capture");
    }
  }

 private:
  std::string_view take_line() {
    const auto end = rest_.find('|');
    if (end == std::string_view::npos) throw std::runtime_error("RespReader: capture ends early");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  static std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  Reply aggregate(Reply::Type type, std::int64_t count) {
    if (count < 0) return {};
    std::vector<Reply> elements;
    for (std::int64_t i = 0; i < count; ++i)
      elements.push_back(next());
    return Reply::make_aggregate(type, std::move(elements));
  }
  Reply bulk(std::int64_t size) {
    if (size < 0) return {};
    return Reply::make_text(Reply::Type::string, std::string(take_line()));
  }
  std::string_view rest_;
};

inline Reply resp(std::string_view text) {
  return RespReader(text).next();
}
inline Reply text(std::string_view value) {
  return Reply::make_text(Reply::Type::string, std::string(value));
}
inline Reply error(std::string_view value) {
  return Reply::make_text(Reply::Type::error, std::string(value));
}
inline Reply list(std::vector<Reply> elements) {
  return Reply::make_aggregate(Reply::Type::array, std::move(elements));
}

/// An id of 40 hex digits that can be told from the others: id('a') = "aaaa...".
inline std::string id(char digit) {
  return std::string(40, digit);
}

struct FakeNode {
  std::string host;
  std::uint16_t port = 7000;
  std::string id;
  std::string hostname;  // metadata

  Reply reply() const {
    std::vector<Reply> metadata;
    if (!hostname.empty()) metadata = {text("hostname"), text(hostname)};
    std::vector<Reply> fields{text(host), Reply::make_integer(port)};
    if (!id.empty()) {
      fields.push_back(text(id));
      fields.push_back(list(std::move(metadata)));
    }
    return list(std::move(fields));
  }
};

struct FakeRange {
  int first = 0;
  int last = 0;
  std::vector<FakeNode> nodes;  // primary, then replicas
};

inline Reply slots_reply(const std::vector<FakeRange>& ranges) {
  std::vector<Reply> entries;
  for (const FakeRange& range : ranges) {
    std::vector<Reply> entry{Reply::make_integer(range.first), Reply::make_integer(range.last)};
    for (const FakeNode& node : range.nodes)
      entry.push_back(node.reply());
    entries.push_back(list(std::move(entry)));
  }
  return list(std::move(entries));
}

struct FakeLine {
  FakeNode node;
  std::uint64_t epoch = 0;
  std::string flags = "master";
  std::string primary = "-";
};

inline std::string nodes_text(const std::vector<FakeLine>& lines) {
  std::string out;
  for (const FakeLine& line : lines) {
    const FakeNode& node = line.node;
    out += node.id + " " + node.host + ":" + std::to_string(node.port) + "@" +
           std::to_string(node.port % 50000 + 10000);
    if (!node.hostname.empty()) out += "," + node.hostname;
    out += " " + line.flags + " " + line.primary + " 0 1426238317239 " +
           std::to_string(line.epoch) + " connected\n";
  }
  return out;
}

inline const Endpoint asked{"127.0.0.1", 7000};

/// A view that must parse.
inline ClusterView view_of(const std::vector<FakeRange>& ranges,
                           const std::vector<FakeLine>& lines = {}) {
  const Reply nodes = text(nodes_text(lines));
  ViewResult result = parse_view(slots_reply(ranges), lines.empty() ? nullptr : &nodes, asked);
  if (!result.ok()) throw std::runtime_error("view_of: " + result.text);
  return std::move(result.view);
}

}  // namespace slotwise::topology::testing
