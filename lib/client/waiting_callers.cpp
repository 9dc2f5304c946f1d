#include "client/waiting_callers.hpp"

#include "client/operation.hpp"

namespace slotwise::detail {

WaitingCallers::WaitingCallers(net::Loop& loop, ModeSwitch& mode) noexcept
    : loop_(loop), mode_(mode) {
  wake_task_.callers = this;
  wake_task_.run = [](net::Task* task) { static_cast<WakeTask*>(task)->callers->wake(); };
}

void WaitingCallers::add(Operation& op) noexcept {
  op.waiting_since = loop_.now();
  op.next_waiting = nullptr;
  op.before_waiting = last_;
  (last_ != nullptr ? last_->next_waiting : first_) = &op;
  last_ = &op;
  op.listed = true;
  if (!timer_.armed()) loop_.arm(timer_, op.waiting_since + patience);
}

void WaitingCallers::take_out(Operation& op) noexcept {
  (op.before_waiting != nullptr ? op.before_waiting->next_waiting : first_) = op.next_waiting;
  (op.next_waiting != nullptr ? op.next_waiting->before_waiting : last_) = op.before_waiting;
  op.listed = false;
}

void WaitingCallers::look() {
  while (first_ != nullptr && first_->waiting_since + patience <= loop_.now()) {
    Operation& op = *first_;
    take_out(op);
    op.stop_competing(mode_);
  }
  if (first_ != nullptr) loop_.arm(timer_, first_->waiting_since + patience);
}

void WaitingCallers::forget(Operation& op) noexcept {
  if (op.listed) take_out(op);
}

void WaitingCallers::ended(Operation& op) noexcept {
  forget(op);
  if (ended_first_ == nullptr) loop_.defer(&wake_task_);
  op.next_waiting = nullptr;
  (ended_first_ != nullptr ? ended_last_->next_waiting : ended_first_) = &op;
  ended_last_ = &op;
}

void WaitingCallers::wake() noexcept {
  Operation* op = ended_first_;
  ended_first_ = ended_last_ = nullptr;
  while (op != nullptr) {
    Operation* const next = op->next_waiting;  // the caller may use it again at once
    op->announce();
    op = next;
  }
}

}  // namespace slotwise::detail
