// How long to wait before the next attempt.
//
// Thread rule: pure functions; the caller brings the generator.
#pragma once

#include <chrono>

#include "base/random.hpp"

namespace slotwise::base {

struct BackoffLimits {
  std::chrono::milliseconds min{20};
  std::chrono::milliseconds max{1000};
};

/// The pause before attempt number `attempt` + 1; the first pause has attempt = 1.
///
/// Exponential with equal jitter: uniform in [top / 2, top] with top = min * 2^attempt, and never
/// outside [min, max]. Half of the pause is certain, so that a herd of clients spreads without a
/// single one of them coming back at once. Never zero, whatever the limits say: at least 1 ms.
std::chrono::microseconds backoff_delay(BackoffLimits limits, int attempt, Random& random) noexcept;

/// `value` +-20 %, for periodic work. Zero stays zero.
std::chrono::microseconds jittered(std::chrono::microseconds value, Random& random) noexcept;

}  // namespace slotwise::base
