// The two threads of a Splitter. One keeps what this client knows fresh, and never waits for long;
// the other repairs copies and looks after the placement, which takes as long as servers take.
//
// Thread rule: the public functions from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hotkey/key_state.hpp"

namespace slotwise::hotkey {

class Shared;

class Background {
 public:
  explicit Background(Shared& shared);
  ~Background();  // ends it

  void start();
  /// Ends the threads; bounded by the deadline of the calls that they are in.
  void stop() noexcept;
  void want_repair(std::shared_ptr<KeyState> state);

 private:
  using State = std::shared_ptr<KeyState>;

  /// What the refreshes found, for the worker. Callbacks of the client hold it, and nothing else of
  /// a Splitter that may be gone by then.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<const KeyState*> being_asked;
    std::vector<State> repair;
    std::vector<std::pair<State, std::shared_ptr<const Copies>>> lost;
    std::vector<State> not_entered;  ///< split, and the registry does not name them
    std::map<std::string, Error> trouble;
    std::vector<std::string> well;
  };
  struct Repair {
    Clock::time_point due;
    int failures = 0;
  };
  struct Keeping {
    std::uint64_t done_for = 0;  ///< the topology's fingerprint; 0 none
    Clock::time_point due;
    int failures = 0;
  };

  void refresh_all();
  void refresh_manifest(const State& state);
  void refresh_registry();
  void run_refreshing() noexcept;

  void work();
  void run_working() noexcept;
  Clock::time_point do_repairs();
  void do_keeping();
  void look_for_changes();
  void keep_one(const State& state, Keeping& keeping, std::uint64_t topology);
  void do_lost(const State& state, const Copies& last);
  void do_not_entered(const State& state);
  void tell(const std::string& what, const std::string& key, const Error& error);
  void tell_well(const std::string& what, const std::string& key);

  Shared& shared_;
  const std::shared_ptr<Inbox> inbox_;
  std::atomic<bool> stopping_{false};
  std::thread refreshing_;
  std::thread working_;
  // The worker's own.
  std::map<State, Repair> repairs_;
  std::map<State, Keeping> keeping_;
  std::map<std::pair<std::string, std::string>, std::string> told_;
  Clock::time_point next_keeping_;
  Clock::time_point next_look_;
};

}  // namespace slotwise::hotkey
