// What a Splitter and everything made by it have in common.
//
// Thread rule: any thread.
#pragma once

#include <chrono>
#include <functional>
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
  /// The same without waiting; `done` on a loop thread, or here and now.
  void current(const std::shared_ptr<KeyState>& state,
               std::function<void(Result<std::shared_ptr<const Copies>>)> done);
  /// Asks the home slot now.
  Result<std::shared_ptr<const Copies>> refresh(KeyState& state);
  std::vector<std::shared_ptr<KeyState>> all_states() const;

  /// Has all copies of the key made equal, in the background, until it succeeds.
  void want_repair(const std::shared_ptr<KeyState>& state);
  void want_repair(const KeyState& state);
  void trouble(std::string_view key, const Error& error) const;

  /// Whether the registry, as it was heard last, names the key. Never waits.
  bool in_registry(std::string_view key) const;
  Result<void> refresh_registry();
  /// When it was heard last; the epoch: never.
  Clock::time_point registry_heard_at() const;
  /// Whether the key is split, for certain. Asks nobody unless the registry was not heard lately;
  /// then that is asked, and if it does not answer, the key's own slot.
  Result<bool> is_split(std::string_view key);

  const Client& client() const noexcept { return store_.client(); }
  const Store& store() const noexcept { return store_; }
  /// Whose calls wait for SplitterOptions::copy_timeout at most.
  const Client& copy_client() const noexcept { return copy_store_.client(); }
  const Store& copy_store() const noexcept { return copy_store_; }
  /// How long one call of the user may last.
  std::chrono::milliseconds call_timeout() const noexcept { return call_timeout_; }
  /// A second old at most.
  std::shared_ptr<const TopologyInfo> topology() const;

  const SplitterOptions& options() const noexcept { return options_; }
  Background& background() noexcept { return *background_; }

 private:
  using Registry = std::set<std::string, std::less<>>;

  std::shared_ptr<const Copies> usable(KeyState& state, Clock::time_point now) const;
  Result<std::shared_ptr<const Copies>> refreshed(KeyState& state, Result<Home>&& home,
                                                  Clock::time_point asked);
  Result<std::shared_ptr<const Copies>> older_one(KeyState& state, Error&& error);

  const SplitterOptions options_;
  const std::chrono::milliseconds call_timeout_;
  const Store store_;
  const Store copy_store_;
  mutable std::mutex mutex_;  // guards states_ and what is of the registry
  std::map<std::string, std::shared_ptr<KeyState>, std::less<>> states_;
  std::shared_ptr<const Registry> registry_;
  Clock::time_point registry_asked_;
  Clock::time_point registry_silent_until_;
  mutable std::mutex topology_mutex_;  // guards what follows
  mutable std::shared_ptr<const TopologyInfo> topology_;
  mutable Clock::time_point topology_at_;
  std::unique_ptr<Background> background_;
};

}  // namespace slotwise::hotkey
