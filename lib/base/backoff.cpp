#include "base/backoff.hpp"

#include <algorithm>

namespace slotwise::base {

using std::chrono::microseconds;

namespace {
constexpr microseconds shortest{1000};
}

microseconds backoff_delay(BackoffLimits limits, int attempt, Random& random) noexcept {
  const microseconds min = std::max<microseconds>(limits.min, shortest);
  const microseconds max = std::max<microseconds>(limits.max, min);
  microseconds top = min;
  // Stops at max, so that a call that is tried for hours cannot overflow.
  for (int i = 0; i < attempt && top < max; ++i)
    top = top > max / 2 ? max : top * 2;
  const microseconds low = std::max(min, top / 2);
  return microseconds(random.between(low.count(), top.count()));
}

microseconds jittered(microseconds value, Random& random) noexcept {
  const auto fifth = value.count() / 5;
  return microseconds(random.between(value.count() - fifth, value.count() + fifth));
}

}  // namespace slotwise::base
