// One read of a split value. See README.md, "A read".
//
// Thread rule: a Reading belongs to one call; the functions may be used from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slotwise/hotkey.hpp>
#include <slotwise/result.hpp>

#include "hotkey/key_state.hpp"
#include "hotkey/store.hpp"

namespace slotwise::hotkey {

/// How long a copy that failed is passed over.
inline constexpr std::chrono::milliseconds pass_over{1000};

/// What a read does next, and what the replies mean to it. Does no I/O: the two ways to read, in
/// place and with a callback, ask it in turn.
///
/// 1. A value is given if its version is at least the floor, and what every copy should have by
/// now.
/// 2. "There is none" is given if the copy that says so knows the newest version heard of.
/// 3. What the original says is given unless it is below the floor as it was when the read began:
///    then the home slot has forgotten writes, and all copies are searched for the newest. Likewise
///    if it has lost the value or the manifest.
/// 4. Only what nobody has is given up: a copy that cannot be asked may have it, so that is an
/// error.
class Reading {
 public:
  struct Limits {
    std::chrono::milliseconds copy;  ///< for one copy
    std::chrono::milliseconds all;   ///< for the whole read
  };
  struct Move {
    enum class Kind : std::uint8_t {
      get,    ///< GET of the copy: got()
      look,   ///< look at the copy, with value: looked()
      home,   ///< look at the original, with value: home_said()
      plain,  ///< not split any more: GET of the plain key: plain_got()
      done,   ///< take()
    };
    Kind kind = Kind::done;
    std::size_t copy = 0;                ///< which of copies().manifest.copies
    std::chrono::milliseconds limit{0};  ///< time for the answer
  };

  Reading(KeyState& state, std::shared_ptr<const Copies> copies, Limits limits,
          Clock::time_point now) noexcept;
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  Move begin(Clock::time_point now) { return next_copy(now); }
  Move got(Result<std::optional<std::string>>&& reply, Clock::time_point now);
  Move looked(Result<Copy>&& reply, Clock::time_point now);
  Move home_said(Result<Home>&& reply, Clock::time_point now);
  Move plain_got(Result<std::optional<std::string>>&& reply);

  /// Once, after Move::done.
  Result<VersionedValue> take() { return std::move(*result_); }
  /// A copy lacks what it should have, or the home slot does.
  bool repair_wanted() const noexcept { return repair_wanted_; }
  const Copies& copies() const noexcept { return *copies_; }

 private:
  enum class Phase : std::uint8_t { copies, home, search };

  Move next_copy(Clock::time_point now);
  std::optional<std::size_t> choose(Clock::time_point now);
  std::optional<std::size_t> choose_untried(Clock::time_point now);
  bool claim(std::size_t copy, Clock::time_point now) const noexcept;
  Move ask(Move::Kind kind, std::size_t copy, Clock::time_point now);
  Move ask_home(Clock::time_point now);
  Move behind(std::uint64_t version, std::optional<std::string>&& value, Clock::time_point now);
  Move nobody_else();
  Move missed(Clock::time_point now);
  Move failed(Error error, Clock::time_point now);
  Move stored(std::uint64_t version, std::string&& value, Clock::time_point now);
  Move none_there(std::uint64_t version, Clock::time_point now);
  Move search(Clock::time_point now);
  Move searched(Result<Copy>&& reply, Clock::time_point now);
  Move found_all(Clock::time_point now);
  Move plain(Clock::time_point now) const noexcept;
  Move give(std::optional<std::string>&& value, std::uint64_t version);
  Move end(Error error);
  void in_trouble(Clock::time_point now) const noexcept;
  void answered() noexcept;
  std::chrono::milliseconds left(Clock::time_point now) const noexcept;

  KeyState& state_;
  const std::shared_ptr<const Copies> copies_;
  const Limits limits_;
  const Clock::time_point begun_;
  const std::uint64_t floor_;  // when it began
  Phase phase_ = Phase::copies;
  std::size_t copy_ = 0;  // asked now
  bool in_flight_ = false;
  bool repair_wanted_ = false;
  bool home_failed_ = false;
  bool no_manifest_ = false;
  std::vector<bool> tried_;  // empty while none was
  std::optional<Error> error_;
  std::optional<VersionedValue> spare_;   // of a copy that is behind, but not below the floor
  std::optional<VersionedValue> newest_;  // of the search
  std::uint64_t home_version_ = 0;
  bool somebody_silent_ = false;
  std::optional<Result<VersionedValue>> result_;
};

class Shared;

/// In place, on the caller's thread.
Result<VersionedValue> read(Shared& shared, const std::shared_ptr<KeyState>& state);
/// Nothing waits; `done` is called on a loop thread, or here and now.
void read(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state,
          std::function<void(Result<VersionedValue>)> done);

}  // namespace slotwise::hotkey
