// The state file of a lab. Not for users: see Lab.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "kit/lab.hpp"

namespace slotwise::kit {

/// What a later process needs to take a lab up again.
struct LabState {
  LabOptions options;
  LabNetworkState network;
  std::vector<NodeState> nodes;
};

void to_json(nlohmann::json& to, const NodeState& node);
void from_json(const nlohmann::json& from, NodeState& node);

/// DIR/lab.json, read and replaced (never written in place) under a lock on DIR/.lab.lock, so that
/// several commands may work on one lab.
///
/// Thread rule: a value without state of its own; any thread.
class LabStateFile {
 public:
  explicit LabStateFile(std::filesystem::path dir) : dir_(std::move(dir)) {}

  bool exists() const;
  LabState read() const;
  void write(const LabState& state) const;
  /// Adds the node, or replaces the one of its name.
  void update(const NodeState& node) const;
  void update(const LabNetworkState& network) const;
  void remove() const;

 private:
  std::filesystem::path file() const { return dir_ / "lab.json"; }
  LabState read_locked() const;
  void write_locked(const LabState& state) const;

  std::filesystem::path dir_;
};

}  // namespace slotwise::kit
