// What a Splitter and everything made by it have in common.
//
// Thread rule: any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotkey/key_state.hpp"
#include "hotkey/store.hpp"

namespace slotwise::hotkey {

class Background;

class Shared : public std::enable_shared_from_this<Shared> {
 public:
  Shared(const Client& client, SplitterOptions options);
  ~Shared();

  /// The state of a key, made if there is none; nothing is asked.
  std::shared_ptr<KeyState> state(std::string_view key);
  /// The state with a manifest that is not too old: asks the home slot unless it was heard lately.
  /// If it does not answer an older one is used, if there is any. Error(not_split) if the key is
  /// not split or was joined.
  Result<std::shared_ptr<const Copies>> current(KeyState& state);
  /// Asks the home slot now.
  Result<std::shared_ptr<const Copies>> refresh(KeyState& state);
  std::vector<std::shared_ptr<KeyState>> all_states() const;

  /// Has all copies of the key made equal, in the background, until it succeeds.
  void want_repair(const std::shared_ptr<KeyState>& state);
  void trouble(std::string_view key, const Error& error) const;

  /// Whether the registry, as it was heard last, names the key. Never waits.
  bool in_registry(std::string_view key) const;
  Result<void> refresh_registry();

  const Client& client() const noexcept { return store_.client(); }
  const Store& store() const noexcept { return store_; }
  const SplitterOptions& options() const noexcept { return options_; }
  Background& background() noexcept { return *background_; }

 private:
  const SplitterOptions options_;
  const Store store_;
  mutable std::mutex mutex_;  // guards states_ and registry_
  std::map<std::string, std::shared_ptr<KeyState>, std::less<>> states_;
  std::shared_ptr<const std::set<std::string, std::less<>>> registry_;
  std::unique_ptr<Background> background_;
};

}  // namespace slotwise::hotkey
