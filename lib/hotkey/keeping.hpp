// The keeper's steps, carried out. See README.md, "Keeping".
//
// Thread rule: any thread but a loop thread; the lock in the manifest lets one at a time do it.
#pragma once

#include <atomic>

#include <slotwise/result.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

struct KeepOrder {
  int most_steps = 40;  ///< then somebody else may
  const std::atomic<bool>* stop = nullptr;
};

/// Goes on until the placement is as it should be, or the key is joined: true. False: somebody else
/// does it, or the next step is not due: look again in a moment. Error(not_split) if it is not.
Result<bool> keep(Shared& shared, KeyState& state, const KeepOrder& order = {});

/// Another number of copies per primary from now on, 0 for a join; keep() does the rest. False:
/// somebody else is changing the manifest, again in a moment. Error(not_split) likewise.
Result<bool> order_copies(Shared& shared, KeyState& state, int per_primary);

/// Asks the home slot itself; the server's clock is in the answer. Error(not_split) if there is no
/// manifest or the key was joined.
Result<Home> look_at_manifest(Shared& shared, KeyState& state);

/// Adds the key to the registry. True: it was not there.
Result<bool> enter_in_registry(Shared& shared, std::string_view key);

}  // namespace slotwise::hotkey
