#include "cli/core/interrupt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace slotwise::cli {

namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
constexpr int kill_at = 3;

std::atomic<int> seen{0};
int wake_pipe[2] = {-1, -1};  // a handler may only write; poll() on the other end wakes

static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  const int saved = errno;
  if (seen.fetch_add(1) + 1 >= kill_at) {
    (void)std::signal(signal, SIG_DFL);
    (void)::raise(signal);
  }
  const char byte = 0;
  (void)!::write(wake_pipe[1], &byte, 1);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt() {
  if (wake_pipe[0] < 0 && ::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) wake_pipe[0] = -1;
  seen = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : signals)
    (void)::sigaction(signal, &action, nullptr);
}

Interrupt::~Interrupt() {
  for (const int signal : signals)
    (void)std::signal(signal, SIG_DFL);
}

int Interrupt::count() noexcept {
  return seen.load();
}

bool Interrupt::wait_until(std::chrono::steady_clock::time_point when) {
  using namespace std::chrono;
  const auto left = ceil<milliseconds>(when - steady_clock::now()).count();
  pollfd p{.fd = wake_pipe[0], .events = POLLIN, .revents = 0};
  const int ready = ::poll(&p, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  if (ready > 0) {
    std::array<char, 16> bytes{};
    (void)!::read(wake_pipe[0], bytes.data(), bytes.size());
  }
  return requested();
}

}  // namespace slotwise::cli
