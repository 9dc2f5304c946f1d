// Events of a client, kept until a person's table has room for them.
//
// Thread rule: on_event() on loop threads of the client; take() from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <slotwise/events.hpp>

namespace slotwise::cli {

/// Keeps what changes the map, as lines for a person; the rest happens too often for a line each
/// and is in Stats.
class EventQueue : public EventSink {
 public:
  void on_event(const Event& event) override;

  /// What has happened since the last call. A new map tells the new primaries too, so these have
  /// lines of their own only without one. What is told again and again (a map that is mended slot
  /// by slot) is one line, with a count.
  std::vector<std::string> take();

 private:
  struct Line {
    Event::Kind kind;
    std::string text;
    std::size_t count;
  };
  static constexpr std::size_t limit = 200;  // a table that nobody reads must not grow for ever

  std::mutex mutex_;
  std::vector<Line> lines_;  // guarded by mutex_
};

}  // namespace slotwise::cli
