// Makes all copies of a split value equal to the original. See README.md, "Repair".
//
// Thread rule: any thread.
#pragma once

#include <memory>

#include <slotwise/result.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

/// One try. The Error of the first copy that could not be brought up to date.
Result<void> repair(Shared& shared, KeyState& state);

/// Puts what the original holds into one copy that joins. Of a counter nothing is to be done.
Result<void> fill(Shared& shared, KeyState& state, std::uint16_t slot);

}  // namespace slotwise::hotkey
