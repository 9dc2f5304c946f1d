// The keeper's steps, carried out. See README.md, "Keeping".
//
// Thread rule: any thread; the lock in the manifest lets one at a time do it.
#pragma once

#include <slotwise/events.hpp>
#include <slotwise/result.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

struct KeepOrder {
  bool undo = false;      ///< towards no copies
  bool announce = false;  ///< a split: wait until all know before the first copies are read
  std::optional<int> per_primary;  ///< another number from now on
};

/// Goes on until the placement is as it should be (or the step after is not due). False: somebody
/// else does it, or it is not due yet: look again in a moment.
Result<bool> keep(Shared& shared, KeyState& state, const KeepOrder& order);

}  // namespace slotwise::hotkey
