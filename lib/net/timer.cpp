#include "net/timer.hpp"

namespace slotwise::net {
namespace {
constexpr std::size_t arity = 4;
}

Timer::~Timer() {
  if (heap_ != nullptr) heap_->cancel(*this);
}

TimerHeap::~TimerHeap() {
  for (const entry& e : entries_)
    e.timer->heap_ = nullptr;
}

void TimerHeap::place(std::size_t index, const entry& e) noexcept {
  entries_[index] = e;
  e.timer->index_ = index;
}

void TimerHeap::sift_up(std::size_t index, const entry& e) noexcept {
  while (index > 0) {
    const std::size_t parent = (index - 1) / arity;
    if (!e.before(entries_[parent])) break;
    place(index, entries_[parent]);
    index = parent;
  }
  place(index, e);
}

void TimerHeap::sift_down(std::size_t index, const entry& e) noexcept {
  const std::size_t size = entries_.size();
  for (;;) {
    const std::size_t first = index * arity + 1;
    if (first >= size) break;
    const std::size_t last = first + arity < size ? first + arity : size;
    std::size_t smallest = first;
    for (std::size_t child = first + 1; child < last; ++child) {
      if (entries_[child].before(entries_[smallest])) smallest = child;
    }
    if (!entries_[smallest].before(e)) break;
    place(index, entries_[smallest]);
    index = smallest;
  }
  place(index, e);
}

void TimerHeap::arm(Timer& timer, time_point at) {
  if (timer.heap_ != nullptr && timer.heap_ != this) timer.heap_->cancel(timer);
  const entry e{at, next_sequence_++, &timer};
  timer.at_ = at;
  if (timer.heap_ == nullptr) {
    entries_.push_back(e);
    timer.heap_ = this;
    sift_up(entries_.size() - 1, e);
    return;
  }
  const std::size_t index = timer.index_;
  if (e.before(entries_[index])) {
    sift_up(index, e);
  } else {
    sift_down(index, e);
  }
}

void TimerHeap::cancel(Timer& timer) noexcept {
  if (timer.heap_ == nullptr) return;
  if (timer.heap_ != this) return timer.heap_->cancel(timer);
  remove_at(timer.index_);
  timer.heap_ = nullptr;
}

void TimerHeap::remove_at(std::size_t index) noexcept {
  const entry moved = entries_.back();
  entries_.pop_back();
  if (index == entries_.size()) return;
  // The moved entry comes from another branch: it may belong above its new place or below.
  if (index > 0 && moved.before(entries_[(index - 1) / arity])) {
    sift_up(index, moved);
  } else {
    sift_down(index, moved);
  }
}

std::size_t TimerHeap::run_due(time_point now) {
  const std::uint64_t newcomers = next_sequence_;
  std::size_t count = 0;
  while (!entries_.empty()) {
    const entry first = entries_.front();
    if (first.at > now || first.sequence >= newcomers) break;
    Timer* timer = first.timer;
    remove_at(0);
    timer->heap_ = nullptr;
    ++count;
    timer->fn_(timer->context_);  // may destroy *timer
  }
  return count;
}

}  // namespace slotwise::net
