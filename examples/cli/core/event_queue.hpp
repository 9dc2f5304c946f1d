// Events of a client, kept until a person's table has room for them.
//
// Thread rule: on_event() on loop threads of the client; take() from any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include <slotwise/events.hpp>

namespace slotwise::cli {

/// Keeps what changes the map; the rest happens too often for a line each and is in Stats.
class EventQueue : public EventSink {
 public:
  void on_event(const Event& event) override {
    if (event.kind != Event::Kind::topology_changed && event.kind != Event::Kind::primary_changed) {
      return;
    }
    const std::scoped_lock lock(mutex_);
    if (events_.size() < limit) events_.push_back(event);
  }

  std::vector<Event> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  static constexpr std::size_t limit = 1000;  // a table that nobody reads must not grow for ever
  std::mutex mutex_;
  std::vector<Event> events_;  // guarded by mutex_
};

}  // namespace slotwise::cli
