// Increments and sums of a split counter. See README.md, "Counters".
//
// Thread rule: any thread but a loop thread.
#pragma once

#include <cstdint>

#include <slotwise/result.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

/// Adds to one part: of two random ones that with fewer calls in flight. What certainly did not
/// happen is done at another part, at last at the original; an Error with outcome `unknown` is
/// given to the caller at once.
Result<void> add(Shared& shared, KeyState& state, std::int64_t by);

/// The original and all parts, from one manifest. Error(incomplete) names what cannot be read.
Result<std::int64_t> sum(Shared& shared, KeyState& state);

}  // namespace slotwise::hotkey
