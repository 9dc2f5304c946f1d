// One typed call for each script, and what its answer means. All that is atomic happens at one
// slot, in a script (scripts.cpp); this is the only file that knows their arguments and replies.
//
// Thread rule: any thread; no state but the client.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/client.hpp>

#include "hotkey/manifest.hpp"

namespace slotwise::hotkey {

/// A call on its way whose reply is read as a T.
template <class T>
class Call {
 public:
  using Reader = Result<T> (*)(std::string_view key, Result<Reply>&& reply);
  Call(std::string key, Task<Reply> task, Reader reader) noexcept
      : key_(std::move(key)), task_(std::move(task)), reader_(reader) {}

  Result<T> wait() { return reader_(key_, task_.wait()); }
  /// f(Result<T>), on a loop thread or here and now.
  template <class F>
  void then(F f) && {
    std::move(task_).then([key = std::move(key_), reader = reader_, f = std::move(f)](
                              Result<Reply> reply) mutable { f(reader(key, std::move(reply))); });
  }

 private:
  std::string key_;
  Task<Reply> task_;
  Reader reader_;
};

/// What the home slot says.
struct Home {
  enum class Status : std::uint8_t {
    ok,
    absent,    ///< there is no manifest
    joined,    ///< not split any more; a write was made to the original all the same
    no_value,  ///< expire, persist: nothing there; counters: original lost. Nothing done
    changed,   ///< another manifest than was expected; nothing done
    locked,    ///< somebody else changes it; nothing done
    behind,    ///< restore: the home slot has this version or a newer one
  };
  Status status = Status::ok;
  std::uint64_t version = 0;  ///< of the newest write
  /// The greatest version that came by restore() instead of being given here, 0 if none did (field
  /// `restored` of the manifest). A writer whose version is below it may have been overwritten by
  /// an older write that was restored, and writes again.
  std::uint64_t restored = 0;
  std::int64_t expires = 0;          ///< as in Manifest
  std::int64_t now = 0;              ///< home server's clock, milliseconds since 1970
  bool lost = false;                 ///< there ought to be a value and there is none
  bool existed = true;               ///< del: there was a value
  std::optional<std::string> value;  ///< if it was asked for
  std::optional<Manifest> manifest;  ///< if it is not `known`
};

/// What the slot of a copy says.
struct Copy {
  enum class Status : std::uint8_t {
    written,  ///< put: taken, or exactly this version was there
    newer,    ///< put: nothing done; remove: a newer manifest has it, nothing done
    value,    ///< look: there is a value
    deleted,  ///< look: rightly none
    expired,  ///< look: rightly none
    lost,     ///< look: there ought to be one; part: not there
    gone,     ///< removed a short time ago; nothing done
    folded,   ///< part: `part` was taken out of it
    part,     ///< part: `part` is in it; remove, fold: so nothing was done
  };
  Status status = Status::lost;
  std::uint64_t version = 0;
  std::int64_t expires = 0;
  std::int64_t part = 0;
  std::uint64_t number = 0;          ///< of the manifest that it was opened by
  std::optional<std::string> value;  ///< without its version, if it was asked for
};

struct Stored {  // what a copy's GET gives
  std::uint64_t version = 0;
  std::string value;
};

/// Times and expiries are milliseconds. `known`: the number of the manifest that the caller has; 0
/// for none. Idempotent scripts are tried again by the client as reads are.
class Store {
 public:
  /// `timeout`: of each call; absent: the client's.
  explicit Store(const Client& client,
                 std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  // --- home slot ---
  /// `expires_in`: absent never; else from the server's now.
  Call<Home> set(std::string_view key, std::uint64_t known, std::string_view value,
                 std::optional<std::chrono::milliseconds> expires_in) const;
  Call<Home> del(std::string_view key, std::uint64_t known) const;
  /// Absent: persist.
  Call<Home> expire(std::string_view key, std::uint64_t known,
                    std::optional<std::chrono::milliseconds> expires_in) const;
  /// Changes nothing. A counter's value is its original.
  Call<Home> look(std::string_view key, std::uint64_t known, bool with_value) const;
  /// Takes a value that a copy has and the home slot has forgotten, if it is newer than its own, or
  /// if it is the same version and the value is lost. No value: deleted.
  Call<Home> restore(std::string_view key, std::uint64_t version, std::int64_t expires,
                     std::optional<std::string_view> value) const;
  /// A manifest, unless there is one (changed); after a join its mark is no manifest. Its number is
  /// above `above`. With `copies` it is one that was lost and is made anew: its version is 0 if the
  /// original is not there, so that restore() takes any copy's, and the original is called lost.
  /// Error(server) if the original has another type.
  Call<Home> create(std::string_view key, Kind kind, int per_primary, std::uint64_t above,
                    std::span<const CopyPlace> copies = {}) const;
  /// If the number is `expected` and the lock is free, over or `token`'s: takes the lock for
  /// `hold` (0: lets it go) and sets what is given. If that is anything the number grows. `adopt`:
  /// the original as it is now is a write of its own: new version, its expiry (-1: none there). At
  /// the end of a split's announcement, since until then others wrote it as a plain key.
  struct Change {
    std::uint64_t expected = 0;
    std::string token;
    std::chrono::milliseconds hold{0};
    std::optional<std::vector<CopyPlace>> copies;
    std::optional<int> per_primary;
    bool adopt = false;
  };
  Call<Home> change(std::string_view key, const Change& change) const;
  /// The same, and adds what was folded to the original. For counters. Must be given `copies`.
  Call<Home> add_folded(std::string_view key, const Change& change, std::int64_t amount) const;
  /// The manifest becomes the mark of a join that is kept for a minute. Only without copies.
  Call<Home> finish_join(std::string_view key, const Change& change) const;

  /// Adds to the original of a counter: where no part can take it. Also of one that was joined.
  Call<Home> add_home(std::string_view key, std::uint64_t known, std::int64_t by) const;

  // --- the slot of a copy ---
  Call<Stored> get(std::string_view key, std::uint16_t slot) const;  // nil: Error(not_split)
  /// No value: deleted.
  Call<Copy> put(std::string_view key, std::uint16_t slot, std::uint64_t version,
                 std::int64_t expires, std::optional<std::string_view> value) const;
  Call<Copy> look_copy(std::string_view key, std::uint16_t slot, bool with_value) const;
  /// Before it joins: takes a mark `gone` or `folded` away; of a counter a part 0, if there is
  /// none. What else is there stays, so that a keeper that was too slow harms no copy in use.
  /// `number`, here, in remove and in fold: of the newest manifest that the keeper has. What a
  /// later one did is not undone (answers gone, folded; newer; part).
  Call<Copy> open(std::string_view key, std::uint16_t slot, Kind kind, std::uint64_t number) const;
  /// Removes copy and leaves the mark `gone` for a minute; `folded` stays for a minute.
  Call<Copy> remove(std::string_view key, std::uint16_t slot, std::uint64_t number) const;

  // --- parts of a counter ---
  Call<Copy> add(std::string_view key, std::uint16_t slot, std::int64_t by) const;
  Call<Copy> look_part(std::string_view key, std::uint16_t slot) const;
  Call<Copy> fold(std::string_view key, std::uint16_t slot, std::uint64_t number) const;

  /// Splits "VERSION:value" in place. Error(damaged) if it is not of that form.
  static Result<Stored> read_stored(std::string_view key, std::uint16_t slot, std::string&& stored);

  const Client& client() const noexcept { return client_; }

 private:
  Client client_;
  Async once_;   // for what must not run twice
  Async again_;  // for what may
};

}  // namespace slotwise::hotkey
