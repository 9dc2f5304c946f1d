#include "hotkey/lost.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hotkey/keeping.hpp"
#include "hotkey/names.hpp"
#include "hotkey/repair.hpp"

namespace slotwise::hotkey {

namespace {

/// What the slots of the copies say of them.
struct Found {
  std::vector<CopyPlace> copies;  ///< those that the new manifest has
  std::size_t there = 0;          ///< copies that prove that the key is split
  std::optional<Error> error;
};

Found look_for_copies(Shared& shared, const KeyState& state, const Manifest& last) {
  const bool counter = last.kind == Kind::counter;
  std::vector<Call<Copy>> calls;
  calls.reserve(last.copies.size());
  for (const CopyPlace& place : last.copies) {
    calls.push_back(counter ? shared.copy_store().look_part(state.key(), place.slot)
                            : shared.copy_store().look_copy(state.key(), place.slot, false));
  }
  Found found;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CopyPlace place = last.copies[i];
    const Result<Copy> copy = calls[i].wait();
    if (!copy) {
      found.error = copy.error();
    } else if (copy->status == Copy::Status::gone) {
      continue;
    } else if (copy->status != Copy::Status::lost) {
      ++found.there;
    } else if (!counter) {
      // Nothing is in it: it is filled before it is read.
      if (place.state == CopyPlace::State::ready) place.state = CopyPlace::State::joining;
    }
    found.copies.push_back(place);
  }
  return found;
}

/// Absent: not known.
std::optional<bool> in_registry_now(Shared& shared, std::string_view key) {
  const auto known =
      shared.copy_client().async().command<std::int64_t>("SISMEMBER", registry_name, key).wait();
  if (!known) return std::nullopt;
  return *known == 1;
}

}  // namespace

Result<bool> restore_lost(Shared& shared, KeyState& state, const Manifest& last) {
  if (last.joined || last.copies.empty()) return false;
  Found found = look_for_copies(shared, state, last);
  if (found.there == 0) {
    // After a join nothing is left of them.
    if (found.error) return std::move(*found.error);
    return false;
  }
  // A copy may have outlived its join, if its primary was down then; most of them do not.
  if (!in_registry_now(shared, state.key()).value_or(false) &&
      found.there * 2 <= last.copies.size()) {
    return false;
  }
  const Result<Home> made =
      shared.store()
          .create(state.key(), last.kind, last.per_primary, last.number, found.copies)
          .wait();
  if (!made) return made.error();
  // Made by this or by another client: the original gets back what the newest copy has.
  if (const Result<Home> home = look_at_manifest(shared, state); !home) return home.error();
  if (last.kind == Kind::value) {
    if (const Result<void> repaired = repair(shared, state); !repaired) return repaired.error();
  }
  return true;
}

}  // namespace slotwise::hotkey
