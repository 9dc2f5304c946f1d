// Waiting for a condition instead of sleeping for luck.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace slotwise::kit {

using std::chrono::milliseconds;

/// Polls `condition` every `poll` until it is true. Throws kit::Error "waited 5000 ms for WHAT"
/// when `limit` has passed. A condition that throws ends the waiting with its own exception.
void wait_until(const std::function<bool()>& condition, milliseconds limit, const std::string& what,
                milliseconds poll = milliseconds(10));

/// The same with a text made at the moment of failure, so that it can tell the last state seen.
void wait_until(const std::function<bool()>& condition, milliseconds limit,
                const std::function<std::string()>& what, milliseconds poll = milliseconds(10));

/// The same without the exception: false when the limit passed.
bool wait_for(const std::function<bool()>& condition, milliseconds limit,
              milliseconds poll = milliseconds(10));

}  // namespace slotwise::kit
