#include "observe/events.hpp"

namespace slotwise {

EventSink::~EventSink() = default;

std::string_view to_string(Event::Kind kind) noexcept {
  switch (kind) {
    case Event::Kind::connected:
      return "connected";
    case Event::Kind::disconnected:
      return "disconnected";
    case Event::Kind::connect_failed:
      return "connect_failed";
    case Event::Kind::redirected:
      return "redirected";
    case Event::Kind::retrying:
      return "retrying";
    case Event::Kind::refresh_started:
      return "refresh_started";
    case Event::Kind::refresh_failed:
      return "refresh_failed";
    case Event::Kind::topology_changed:
      return "topology_changed";
    case Event::Kind::primary_changed:
      return "primary_changed";
    case Event::Kind::auth_refused:
      return "auth_refused";
  }
  return "unknown";
}

namespace observe {

void Observer::tell(Event::Kind kind, std::string node, std::string text) noexcept {
  if (sink_ == nullptr) return;
  try {
    Event event;
    event.kind = kind;
    event.at = std::chrono::system_clock::now();
    event.node = std::move(node);
    event.text = std::move(text);
    sink_->on_event(event);
  } catch (...) {  // NOLINT: a sink's exception must not end the loop (documented in EventSink)
  }
}

}  // namespace observe
}  // namespace slotwise
