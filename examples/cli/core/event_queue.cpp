#include "cli/core/event_queue.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace slotwise::cli {

void EventQueue::on_event(const Event& event) {
  if (event.kind != Event::Kind::topology_changed && event.kind != Event::Kind::primary_changed) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  const auto same = std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) {
    return line.kind == event.kind && line.text == event.text;
  });
  if (same != lines_.end()) {
    ++same->count;
  } else if (lines_.size() < limit) {
    lines_.push_back({event.kind, event.text, 1});
  }
}

std::vector<std::string> EventQueue::take() {
  std::vector<Line> lines;
  {
    const std::scoped_lock lock(mutex_);
    lines.swap(lines_);
  }
  const bool maps = std::any_of(lines.begin(), lines.end(), [](const Line& line) {
    return line.kind == Event::Kind::topology_changed;
  });
  std::vector<std::string> out;
  for (Line& line : lines) {
    if (line.kind == Event::Kind::primary_changed && maps) continue;
    if (line.count > 1) line.text += fmt::format(" ({} times)", line.count);
    out.push_back(std::move(line.text));
  }
  return out;
}

}  // namespace slotwise::cli
