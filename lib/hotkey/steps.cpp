#include "hotkey/steps.hpp"

#include <algorithm>

namespace slotwise::hotkey {

namespace {

using State = CopyPlace::State;
using Slots = std::vector<std::uint16_t>;

Slots slots_in(const std::vector<CopyPlace>& copies, State state) {
  Slots out;
  for (const CopyPlace& copy : copies) {
    if (copy.state == state) out.push_back(copy.slot);
  }
  return out;
}

bool has(const Slots& slots, std::uint16_t slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

std::vector<CopyPlace> without(const std::vector<CopyPlace>& copies, State state) {
  std::vector<CopyPlace> out;
  std::copy_if(copies.begin(), copies.end(), std::back_inserter(out),
               [state](const CopyPlace& copy) { return copy.state != state; });
  return out;
}

bool grace_over(const Manifest& manifest, std::int64_t now) {
  return now - manifest.changed_at >= grace.count();
}

/// The home slot went to a server whose clock is behind: the manifest is written as it is, so that
/// the grace begins by that clock.
bool from_the_future(const Manifest& manifest, std::int64_t now) {
  return manifest.changed_at > now;
}

Step give(Step::Kind kind, Slots slots, std::vector<CopyPlace> copies) {
  return {.kind = kind, .slots = std::move(slots), .copies = std::move(copies)};
}

/// What is to be waited for, and what comes then, once there is nothing to begin or to fill.
Step after_the_grace(const Manifest& manifest, std::int64_t now, Step then) {
  if (from_the_future(manifest, now)) return give(Step::Kind::fill, {}, manifest.copies);
  if (!grace_over(manifest, now)) return give(Step::Kind::wait, {}, {});
  return then;
}

Step remove_leaving(const Manifest& manifest, std::int64_t now) {
  return after_the_grace(manifest, now,
                         give(Step::Kind::remove, slots_in(manifest.copies, State::leaving),
                              without(manifest.copies, State::leaving)));
}

Step undo_step(const Manifest& manifest, std::int64_t now) {
  if (manifest.copies.empty()) return give(Step::Kind::finish, {}, {});
  std::vector<CopyPlace> copies = manifest.copies;
  for (CopyPlace& copy : copies)
    copy.state = State::leaving;
  if (copies != manifest.copies) return give(Step::Kind::fill, {}, std::move(copies));
  return remove_leaving(manifest, now);
}

}  // namespace

Step next_step(std::string_view key, const Manifest& manifest, const TopologyInfo& topology,
               std::int64_t now) {
  if (manifest.joined) return {};
  if (manifest.per_primary == 0) return undo_step(manifest, now);

  // Those that stay if they may. One that joins where nobody answers cannot be filled and would
  // hold all others up: it is given up, and made anew when that primary is back.
  Slots stay;
  Slots unreachable;
  for (const CopyPlace& copy : manifest.copies) {
    if (copy.state == State::leaving) continue;
    const auto* owner = owner_node(topology, copy.slot);
    const bool fillable = owner == nullptr || owner->healthy;
    (copy.state == State::joining && !fillable ? unreachable : stay).push_back(copy.slot);
  }
  const Slots leaving = slots_in(manifest.copies, State::leaving);
  // What leaves is not taken back: its part may be on its way into the original.
  Placement placement = place_copies(key, stay, manifest.per_primary, topology, leaving);
  placement.remove.insert(placement.remove.end(), unreachable.begin(), unreachable.end());

  if (!placement.add.empty()) {
    std::vector<CopyPlace> copies = manifest.copies;
    for (CopyPlace& copy : copies) {
      // Ready ones stay until others are.
      if (copy.state == State::joining && has(placement.remove, copy.slot)) {
        copy.state = State::leaving;
      }
    }
    for (const std::uint16_t slot : placement.add)
      copies.push_back({.slot = slot, .state = State::joining});
    Step step = give(Step::Kind::begin, placement.add, std::move(copies));
    // A split is announced: all clients are to know of it before the first copy counts.
    if (manifest.copies.empty()) return after_the_grace(manifest, now, std::move(step));
    return step;
  }

  std::vector<CopyPlace> copies = manifest.copies;
  Slots fill;
  for (CopyPlace& copy : copies) {
    if (has(placement.remove, copy.slot)) {
      copy.state = State::leaving;
    } else if (copy.state == State::joining) {
      fill.push_back(copy.slot);
      copy.state = State::ready;
    }
  }
  if (copies != manifest.copies) return give(Step::Kind::fill, std::move(fill), std::move(copies));
  if (!leaving.empty()) return remove_leaving(manifest, now);
  return {};
}

bool unfinished(const Manifest& manifest) {
  if (manifest.joined) return false;
  return manifest.per_primary == 0 || manifest.copies.empty() ||
         std::any_of(manifest.copies.begin(), manifest.copies.end(),
                     [](const CopyPlace& copy) { return copy.state != State::ready; });
}

}  // namespace slotwise::hotkey
