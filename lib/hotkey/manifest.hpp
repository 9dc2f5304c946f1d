// What the manifest of a split key says. README.md has its fields.
//
// Thread rule: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/hotkey.hpp>
#include <slotwise/reply.hpp>
#include <slotwise/result.hpp>

namespace slotwise::hotkey {

/// Nothing older is used by a reader while the home slot answers.
inline constexpr std::chrono::milliseconds reader_limit{1000};
/// How long a copy that left stays, and how long a split or a join waits for all to know.
inline constexpr std::chrono::milliseconds grace{2000};
inline constexpr std::chrono::milliseconds refresh_interval{400};

/// Scripts compute with doubles, which are exact up to 2^53. Some room is left above, so that a
/// later version can always be given: until the year 2255.
inline constexpr std::int64_t greatest_version = 9'000'000'000'000'000;

struct CopyPlace {
  enum class State : char { joining = 'j', ready = 'r', leaving = 'l' };
  std::uint16_t slot = 0;
  State state = State::joining;
  friend bool operator==(const CopyPlace&, const CopyPlace&) = default;
};

struct Manifest {
  std::uint64_t number = 0;  ///< grows with every change of what is above `version`
  Kind kind = Kind::value;
  int per_primary = 1;            ///< 1 to 16; 0: it is being joined
  std::vector<CopyPlace> copies;  ///< no slot twice; none while a split is announced

  std::uint64_t version = 0;    ///< of the newest write when this was read
  std::int64_t expires = 0;     ///< 0 never, -1 there is no value, else milliseconds since 1970
  std::int64_t changed_at = 0;  ///< milliseconds since 1970, home server's clock
  bool joined = false;          ///< not split any more
};

/// "7000r 120j"
std::string copies_text(std::span<const CopyPlace> copies);
/// The fields as HGETALL gives them, names and values in turn, from a script's reply (an array) or
/// directly (a map). Error(damaged) names `key` and what is wrong.
Result<Manifest> read_manifest(std::string_view key, const Reply& fields);
Error damaged(std::string_view key, std::string_view what);

}  // namespace slotwise::hotkey
