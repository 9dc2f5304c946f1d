// Hands events to the application's sink. Thread rule: the loop's thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <slotwise/events.hpp>

#include "observe/counters.hpp"

namespace slotwise::observe {

class Observer {
 public:
  explicit Observer(std::shared_ptr<EventSink> sink) : sink_(std::move(sink)) {}

  Counters counters;

  /// True if somebody listens: texts are made only then.
  bool listening() const noexcept { return sink_ != nullptr; }
  void tell(Event::Kind kind, std::string node, std::string text = {}) noexcept;

 private:
  std::shared_ptr<EventSink> sink_;
};

}  // namespace slotwise::observe
