// The slot map that a set of scripted nodes tells its clients.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace slotwise::kit {

class ScriptedNode;

struct ScriptedMapNode {
  std::string host{};
  std::uint16_t port = 0;
  std::string id{};                                             ///< 40 hex digits
  std::vector<std::pair<std::string, std::string>> metadata{};  ///< {"ip", "127.0.0.2"} ...
};

struct ScriptedRange {
  int first = 0;
  int last = 16383;
  std::vector<ScriptedMapNode> nodes{};  ///< primary first
};

/// Shared by scripted nodes through a shared_ptr; a test changes it while they serve.
/// Thread rule: any thread may call any method at any time.
class ScriptedMap {
 public:
  ScriptedMap() = default;
  explicit ScriptedMap(std::vector<ScriptedRange> ranges) : ranges_(std::move(ranges)) {}

  void set(std::vector<ScriptedRange> ranges);
  /// All slots in equal parts: 0-5460, 5461-10922, 10923-16383 for three.
  void share_among(const std::vector<const ScriptedNode*>& primaries);
  std::vector<ScriptedRange> ranges() const;

  std::string slots_reply(bool resp3) const;                    ///< CLUSTER SLOTS
  std::string shards_reply(bool resp3) const;                   ///< CLUSTER SHARDS
  std::string nodes_reply(const std::string& myself_id) const;  ///< CLUSTER NODES, as a bulk

 private:
  mutable std::mutex mutex_;
  std::vector<ScriptedRange> ranges_;
};

}  // namespace slotwise::kit
