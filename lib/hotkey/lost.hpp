// A manifest that its home slot does not have any more: emptied, restarted without its data, failed
// over to a replica that never had it.
//
// Thread rule: any thread but a loop thread; waits for calls.
#pragma once

#include <slotwise/result.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

/// The home slot says `absent` and `last` is what this client knew. If copies say that the key is
/// still split, the manifest is made anew with them, and the original gets the newest value that
/// they have. False: the key is not split any more (joined, longer ago than a minute).
Result<bool> restore_lost(Shared& shared, KeyState& state, const Manifest& last);

}  // namespace slotwise::hotkey
