// The one thread of a Splitter: refreshes manifests and the registry, repairs copies, looks after
// the placement.
//
// Thread rule: the public functions from any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "hotkey/key_state.hpp"

namespace slotwise::hotkey {

class Shared;

class Background {
 public:
  explicit Background(Shared& shared) : shared_(shared) {}
  ~Background();  // ends it

  void start();
  /// Ends the thread; bounded by the deadline of the calls that it is in.
  void stop() noexcept;
  void want_repair(std::shared_ptr<KeyState> state);

 private:
  struct Repair {
    Clock::time_point due;
    int failures = 0;
  };

  void run();

  Shared& shared_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::shared_ptr<KeyState>, Repair> repairs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace slotwise::hotkey
