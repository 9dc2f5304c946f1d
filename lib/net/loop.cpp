#include "net/loop.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include "net/fork.hpp"

namespace slotwise::net {
namespace {

time_point clock_now() noexcept {
  return std::chrono::time_point_cast<duration>(steady_clock::now());
}

}  // namespace

Loop::Loop(loop_settings settings)
    : settings_(settings), generation_(fork_generation()), now_(clock_now()) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  const int epoll_error = errno;
  if (epoll_ >= 0) wakeup_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || wakeup_ < 0) {
    const int sys = epoll_ < 0 ? epoll_error : errno;
    if (epoll_ >= 0) ::close(epoll_);
    throw std::system_error(sys, std::generic_category(), "cannot make an event loop");
  }
  ::epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // data.ptr stays null: dispatch() skips it
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event) != 0) {
    const int sys = errno;
    ::close(wakeup_);
    ::close(epoll_);
    throw std::system_error(sys, std::generic_category(), "cannot make an event loop");
  }
}

Loop::~Loop() {
  ::close(wakeup_);
  ::close(epoll_);
}

void Loop::post(Task* task) noexcept {
  Task* head = posted_.load(std::memory_order_relaxed);
  do {
    task->next = head == asleep() ? nullptr : head;
  } while (!posted_.compare_exchange_weak(head, task, std::memory_order_release,
                                          std::memory_order_relaxed));
  if (head == asleep()) {
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    write_wakeup();
  }
}

void Loop::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  write_wakeup();
}

void Loop::write_wakeup() noexcept {
  // The eventfd is shared with the parent after a fork, and the loop's thread lives only there.
  if (generation_ != fork_generation()) return;
  const std::uint64_t one = 1;
  while (::write(wakeup_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Loop::run() {
  const Loop* const outer = std::exchange(here_, this);
  while (!stopping_.load(std::memory_order_acquire))
    iterate(duration::max());
  stopping_.store(false, std::memory_order_relaxed);
  here_ = outer;
}

void Loop::run_once(duration max_wait) {
  const Loop* const outer = std::exchange(here_, this);
  iterate(max_wait);
  here_ = outer;
}

void Loop::iterate(duration max_wait) {
  ++iterations_;
  const int ready = wait(max_wait);
  refresh_now();
  dispatch(ready);
  timers_.run_due(now_);
  run_posted();
  run_deferred();
}

duration Loop::until_next_timer(duration limit) const noexcept {
  const time_point next = timers_.next();
  if (next == never) return limit;
  return std::clamp(next - now_, duration{0}, limit);
}

int Loop::wait(duration limit) {
  limit = std::max(limit, duration{0});
  if (posted_.load(std::memory_order_relaxed) != nullptr || deferred_head_ != nullptr) {
    limit = duration{0};
  }
  if (limit > duration{0} && timers_.size() > 0) {
    refresh_now();  // the iteration may have been long
    limit = until_next_timer(limit);
  }
  if (limit == duration{0}) return wait_kernel(limit);

  int ready = 0;
  if (settings_.busy_poll > duration{0} && busy_poll(limit, ready)) return ready;

  Task* expected = nullptr;
  if (!posted_.compare_exchange_strong(expected, asleep(), std::memory_order_relaxed)) {
    return wait_kernel(duration{0});
  }
  ready = wait_kernel(limit);
  // Awake: posts that come from now on are found by run_posted() and need no eventfd write.
  expected = asleep();
  posted_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  return ready;
}

bool Loop::busy_poll(duration limit, int& ready) {
  const time_point end = clock_now() + std::min(settings_.busy_poll, limit);
  do {
    ready = wait_kernel(duration{0});
    if (ready > 0 || posted_.load(std::memory_order_relaxed) != nullptr ||
        stopping_.load(std::memory_order_relaxed)) {
      return true;
    }
  } while (clock_now() < end);
  return false;
}

int Loop::wait_kernel(duration limit) {
  int ready = -1;
  if (limit <= duration{0} || limit == duration::max()) {
    ready = ::epoll_wait(epoll_, batch_.data(), batch_size, limit <= duration{0} ? 0 : -1);
    return std::max(ready, 0);  // EINTR: the iteration goes on with nothing ready
  }
  if (has_pwait2_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const ::timespec timeout{static_cast<::time_t>(seconds.count()),
                             static_cast<long>((limit - seconds).count())};
    ready = ::epoll_pwait2(epoll_, batch_.data(), batch_size, &timeout, nullptr);
    // Kernels before 5.11 do not know the call, and old sandboxes answer EPERM to what they do
    // not know.
    if (ready < 0 && (errno == ENOSYS || errno == EPERM)) has_pwait2_ = false;
  }
  if (!has_pwait2_) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    constexpr std::int64_t longest = 24 * 3600 * 1000;  // a day; the loop then looks again
    ready = ::epoll_wait(epoll_, batch_.data(), batch_size,
                         static_cast<int>(std::min<std::int64_t>(ms, longest)));
  }
  return std::max(ready, 0);
}

void Loop::dispatch(int ready) {
  batch_end_ = ready;
  for (batch_next_ = 0; batch_next_ < batch_end_;) {
    const ::epoll_event event = batch_[static_cast<std::size_t>(batch_next_++)];
    if (event.data.ptr != nullptr) static_cast<Watcher*>(event.data.ptr)->on_events(event.events);
  }
  batch_next_ = batch_end_ = 0;
}

void Loop::run_posted() {
  if (posted_.load(std::memory_order_relaxed) == nullptr) return;
  Task* stack = posted_.exchange(nullptr, std::memory_order_acquire);
  if (stack == asleep()) return;
  // Newest first: turn the stack round.
  Task* first = nullptr;
  while (stack != nullptr) {
    Task* next = stack->next;
    stack->next = first;
    first = stack;
    stack = next;
  }
  while (first != nullptr) {
    Task* task = first;
    first = task->next;
    task->next = nullptr;
    task->run(task);
  }
}

void Loop::defer(Task* task) noexcept {
  task->next = nullptr;
  if (deferred_tail_ != nullptr) {
    deferred_tail_->next = task;
  } else {
    deferred_head_ = task;
  }
  deferred_tail_ = task;
}

bool Loop::undefer(Task* task) noexcept {
  Task* before = nullptr;
  for (Task* it = deferred_head_; it != nullptr; before = it, it = it->next) {
    if (it != task) continue;
    (before != nullptr ? before->next : deferred_head_) = it->next;
    if (deferred_tail_ == it) deferred_tail_ = before;
    it->next = nullptr;
    return true;
  }
  return false;
}

void Loop::run_deferred() {
  while (deferred_head_ != nullptr) {
    Task* task = deferred_head_;
    deferred_head_ = task->next;
    if (deferred_head_ == nullptr) deferred_tail_ = nullptr;
    task->next = nullptr;
    task->run(task);
  }
}

int Loop::add(Watcher& watcher, int fd, std::uint32_t interest) noexcept {
  if (generation_ != fork_generation()) return ECANCELED;
  ::epoll_event event{};
  event.events = interest;
  event.data.ptr = &watcher;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return errno;
  watcher.fd_ = fd;
  watcher.interest_ = interest;
  return 0;
}

int Loop::modify(Watcher& watcher, std::uint32_t interest) noexcept {
  if (watcher.interest_ == interest) return 0;
  if (generation_ != fork_generation()) return ECANCELED;
  ::epoll_event event{};
  event.events = interest;
  event.data.ptr = &watcher;
  if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, watcher.fd_, &event) != 0) return errno;
  watcher.interest_ = interest;
  return 0;
}

void Loop::remove(Watcher& watcher) noexcept {
  if (!watcher.watched()) return;
  if (generation_ == fork_generation()) {
    ::epoll_event unused{};
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, watcher.fd_, &unused);
  }
  watcher.fd_ = -1;
  watcher.interest_ = 0;
  for (int i = batch_next_; i < batch_end_; ++i) {
    ::epoll_event& event = batch_[static_cast<std::size_t>(i)];
    if (event.data.ptr == &watcher) event.data.ptr = nullptr;
  }
}

time_point Loop::refresh_now() noexcept {
  now_ = clock_now();
  return now_;
}

Loop::counters Loop::count() const noexcept {
  return {iterations_, wakeups_.load(std::memory_order_relaxed)};
}

}  // namespace slotwise::net
