#include "kit/wait.hpp"

#include <fmt/format.h>

#include <thread>

#include "kit/error.hpp"

namespace slotwise::kit {

bool wait_for(const std::function<bool()>& condition, milliseconds limit, milliseconds poll) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    // The clock is read before the condition: it is tried once more after the limit, so that a
    // machine which slept for seconds does not fail a condition that came true meanwhile.
    const bool last = std::chrono::steady_clock::now() >= end;
    if (condition()) return true;
    if (last) return false;
    std::this_thread::sleep_for(poll);
  }
}

void wait_until(const std::function<bool()>& condition, milliseconds limit,
                const std::function<std::string()>& what, milliseconds poll) {
  if (wait_for(condition, limit, poll)) return;
  throw Error(fmt::format("waited {} ms for {}", limit.count(), what()));
}

void wait_until(const std::function<bool()>& condition, milliseconds limit, const std::string& what,
                milliseconds poll) {
  wait_until(
      condition, limit, [&] { return what; }, poll);
}

}  // namespace slotwise::kit
