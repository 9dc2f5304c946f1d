// One write of a split value. See README.md, "A write".
//
// Thread rule: any thread but a loop thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <slotwise/hotkey.hpp>
#include <slotwise/result.hpp>

#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

struct WriteOrder {
  enum class Kind : std::uint8_t { set, del, expire, persist };
  Kind kind = Kind::set;
  std::string value;                                         ///< of set
  std::optional<std::chrono::milliseconds> expires_in = {};  ///< of set and expire
};

/// Returns at the level of acknowledgement that the Splitter has; the rest goes on by itself.
Result<WriteResult> write(Shared& shared, const std::shared_ptr<KeyState>& state, WriteOrder order);

}  // namespace slotwise::hotkey
