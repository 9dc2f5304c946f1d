// A probe as a person sees it: rows, events between them, totals.
//
// Thread rule: use one ProbeShow from one thread at a time; note() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/core/event_queue.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/table.hpp"
#include "cli/probe/probe.hpp"

namespace slotwise::cli {

class ProbeShow {
 public:
  /// `events` (may be null) are those of the probe's client.
  ProbeShow(Probe& probe, Screen& screen, std::shared_ptr<EventQueue> events);

  /// Shows a row a second until the probe's workers have ended. They are asked to end when `done`
  /// (called some times a second) says so, or at Ctrl-C.
  void run(const std::function<bool()>& done);
  /// Reads everything back, with a line that tells how far it is. A second Ctrl-C ends it.
  void verify();
  /// A line between the rows: something that somebody did.
  void note(const std::string& text, Tone tone);

 private:
  void show_events();
  void show_row(const ProbeRow& row);
  void print(double at, std::string_view text, Tone tone);

  Probe& probe_;
  Screen& screen_;
  std::shared_ptr<EventQueue> events_;
  const std::vector<Column> columns_;
  int rows_ = 0;

  struct Note {
    std::string text;
    Tone tone;
  };
  std::mutex mutex_;
  std::vector<Note> notes_;  // guarded by mutex_
};

}  // namespace slotwise::cli
