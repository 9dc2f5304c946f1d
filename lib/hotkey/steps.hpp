// What the keeper does next with a manifest. Each step ends in a manifest from which the next one
// is found, by this keeper or by another.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <slotwise/events.hpp>

#include "hotkey/manifest.hpp"
#include "hotkey/placement.hpp"

namespace slotwise::hotkey {

struct Step {
  enum class Kind : std::uint8_t {
    none,    ///< placed as it should be
    wait,    ///< until the grace is over
    begin,   ///< open `slots`, then `copies` is the new manifest
    fill,    ///< fill `slots` (joining), then `copies`
    remove,  ///< `copies` first, then remove the keys of `slots`. Of a counter: fold them first
    finish,  ///< joined: no copies any more
  };
  Kind kind = Kind::none;
  std::vector<std::uint16_t> slots;
  std::vector<CopyPlace> copies;
};

/// `now`: the home server's clock, in milliseconds since 1970. A manifest with `per_primary` 0 goes
/// towards no copies at all.
Step next_step(std::string_view key, const Manifest& manifest, const TopologyInfo& topology,
               std::int64_t now);

/// Whether there is something to do even if the topology does not change.
bool unfinished(const Manifest& manifest);

}  // namespace slotwise::hotkey
