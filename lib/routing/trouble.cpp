#include "routing/trouble.hpp"

#include <utility>

#include "routing/dispatcher.hpp"

namespace slotwise::routing {

void Trouble::wake(void* self) {
  auto& t = *static_cast<Trouble*>(self);
  WaitingRoom::remove(t);
  t.dispatcher.go_on(t);
}

void Trouble::add_step(std::string step) {
  if (times_ > 0 && step == step_) {
    ++times_;
    return;
  }
  constexpr std::size_t longest = 600;  // a path without end helps nobody
  if (earlier_steps_.size() < longest) earlier_steps_ = path();
  step_ = std::move(step);
  times_ = 1;
}

std::string Trouble::path() const {
  if (times_ == 0) return {};
  std::string text = earlier_steps_;
  if (!text.empty()) text += " -> ";
  text += step_;
  if (times_ > 1) text += " (" + std::to_string(times_) + " times)";
  return text;
}

}  // namespace slotwise::routing
