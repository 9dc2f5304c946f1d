// Hot keys: one key that gets all the traffic is split into copies on every primary, and kept
// split.
//
//   slotwise::hotkey::Splitter splitter(client);
//   auto key = splitter.split("hot:product:1", {.copies_per_primary = 1});
//   key.set(value);         // reaches all copies; says so for each
//   auto got = key.get();   // from a copy of little load
//   splitter.join("hot:product:1");
//
// A split lives in the cluster, not in the process: a manifest beside the original key names the
// copies, all clients find it, and it survives them. How it works and what is guaranteed:
// lib/hotkey/README.md.
//
// Thread rule: everything here may be used from any thread at the same time, except destruction and
// assignment of the objects themselves. Nothing here may be called from a callback of the client,
// except the forms that take a callback themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/client.hpp>
#include <slotwise/error.hpp>
#include <slotwise/export.hpp>
#include <slotwise/result.hpp>

namespace slotwise::hotkey {

class Shared;    // of a Splitter and everything made by it
class KeyState;  // of one split key

/// What a split key holds.
enum class Kind : std::uint8_t {
  value,    ///< every copy has the whole value
  counter,  ///< every copy has a part of the sum
};

/// When a write returns. The original is written first in any case, and what is not waited for goes
/// on in the background until all copies are equal.
enum class Acknowledge : std::uint8_t {
  all,     ///< every copy has answered, or was given up for now (SplitterOptions::copy_timeout)
  quorum,  ///< most of the copies have it
  home,    ///< the original has it
};

struct SplitOptions {
  int copies_per_primary = 1;  ///< 1 to 16; every primary gets the same number
};

struct SplitterOptions {
  Acknowledge acknowledge = Acknowledge::all;
  /// How long one copy is waited for: then a read takes another one, and a write reports this one
  /// as failed; it is repaired in the background.
  std::chrono::milliseconds copy_timeout{500};
  /// Looks after the placement of the keys that were used through this Splitter whenever the
  /// topology changes. One client at a time does it, whoever is first.
  bool keep = true;
  /// Told of what happens in the background: a copy that cannot be repaired yet, a placement that
  /// cannot be changed now, a damaged manifest. On a thread of the Splitter; must not block.
  std::function<void(std::string_view key, const Error& error)> on_trouble;
};

/// What a write did to one copy.
struct CopyWrite {
  enum class State : std::uint8_t {
    written,  ///< it has this very write
    newer,    ///< it had a later write already
    failed,   ///< see error; it is being repaired
    pending,  ///< not waited for (Acknowledge::quorum, home)
  };
  std::string name;  ///< of the copy's key
  int slot = 0;
  std::string node;  ///< "host:port" that owns the slot
  State state = State::pending;
  std::optional<Error> error;  ///< with its outcome
};
SLOTWISE_API std::string_view to_string(CopyWrite::State state) noexcept;

struct WriteResult {
  std::uint64_t version = 0;  ///< of this write; versions of a key only grow
  bool existed = true;        ///< of expire, persist and del: whether there was a value
  bool acknowledged = false;  ///< the level asked for was reached
  std::vector<CopyWrite> copies;
};

struct VersionedValue {
  std::optional<std::string> value;  ///< absent: no such key, or expired
  std::uint64_t version = 0;
};

/// A key that is split into copies. Cheap to copy.
///
/// A read never gives a version older than one that this client (the Splitter) has read or written,
/// and is no miss while any copy or the original has the value. Once another client has joined the
/// key, calls go to the plain key.
class SLOTWISE_API SplitKey {
 public:
  const std::string& key() const noexcept;

  /// The value, from one copy: of two random ones that with fewer calls in flight. Another copy is
  /// asked if that one fails, lacks the value or is behind; in the end the original. Throws Error
  /// if nobody answers within the client's timeout.
  std::optional<std::string> get() const;
  VersionedValue get_with_version() const;
  /// The same without waiting: `done` runs on a loop thread of the client.
  void get(std::function<void(Result<VersionedValue>)> done) const;

  /// Writes the original and then all copies at once. Throws Error if the original could not be
  /// written (with its outcome; if that is `unknown` the copies are brought to whatever the
  /// original holds, in the background); what happened to the copies is in the result.
  WriteResult set(std::string_view value) const;
  /// Expires after `ttl` (at least a millisecond), everywhere at the same moment.
  WriteResult set(std::string_view value, std::chrono::milliseconds ttl) const;
  WriteResult del() const;
  WriteResult expire(std::chrono::milliseconds ttl) const;
  WriteResult persist() const;

 private:
  friend class Splitter;
  friend class TransparentClient;
  SplitKey(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state) noexcept;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<KeyState> state_;
};

/// A counter that is split into parts. Cheap to copy.
class SLOTWISE_API SplitCounter {
 public:
  const std::string& key() const noexcept;

  /// Adds to one part. Throws Error; an increment with outcome `unknown` is not repeated.
  void incr(std::int64_t by = 1) const;
  /// The sum of all parts. Never less than all increments that were acknowledged before it began;
  /// throws Error(incomplete) that names the part if one cannot be read or is lost.
  std::int64_t read() const;

 private:
  friend class Splitter;
  friend class TransparentClient;
  SplitCounter(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state) noexcept;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<KeyState> state_;
};

/// How a split key stands.
struct Status {
  struct Copy {
    std::string name;
    int slot = 0;
    std::string node;           ///< owner of the slot now; empty if nobody is
    std::uint64_t version = 0;  ///< of what it holds; of a counter its part
    std::string state;          ///< "ready", "joining", "leaving", or why it cannot be read
  };
  std::string key;
  Kind kind = Kind::value;
  std::uint64_t manifest_version = 0;
  std::uint64_t version = 0;  ///< of the original
  int copies_per_primary = 0;
  bool balanced = false;  ///< every primary has that number of ready copies
  std::vector<Copy> copies;
};

/// Splits keys, and gives access to those that are split. Starts two threads of its own, which
/// refresh manifests, repair copies and look after the placement.
class SLOTWISE_API Splitter {
 public:
  /// Shares everything of the client, which must be one of a cluster (else Error(refused)).
  explicit Splitter(const Client& client, SplitterOptions options = {});
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;
  /// Ends its threads in bounded time. SplitKeys go on working, without repair and keeping.
  ~Splitter();

  /// Splits a key of type string, or one that does not exist yet. Takes a second or two: every
  /// client is to know before it counts. On a key that is split already: with the same options
  /// nothing happens, with others the copies are placed anew. Throws Error.
  SplitKey split(std::string_view key, SplitOptions options = {}) const;
  /// The same for a counter: the key holds an integer or does not exist.
  SplitCounter split_counter(std::string_view key, SplitOptions options = {}) const;

  /// A key that is split already, by whomever. Throws Error(not_split).
  SplitKey open(std::string_view key) const;
  SplitCounter open_counter(std::string_view key) const;
  /// All keys that are split in this cluster, sorted.
  std::vector<std::string> keys() const;

  /// One key again: the copies are removed, the original has the newest value (of a counter: the
  /// sum). Takes two or three seconds: no reader may lose its copy while it reads. Throws
  /// Error(not_split) if it is not split.
  void join(std::string_view key) const;

  /// Asks the original and all copies.
  Status status(std::string_view key) const;

 private:
  friend class TransparentClient;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<const void> guard_;  // ends the thread when the Splitter is gone
};

/// The everyday commands for any key: those of keys that are split go to their copies, all others
/// to the client as they are. It learns of splits by itself within a second.
class SLOTWISE_API TransparentClient {
 public:
  explicit TransparentClient(const Splitter& splitter);

  std::optional<std::string> get(std::string_view key) const;
  void set(std::string_view key, std::string_view value) const;
  void set(std::string_view key, std::string_view value, std::chrono::milliseconds ttl) const;
  bool del(std::string_view key) const;
  bool expire(std::string_view key, std::chrono::milliseconds ttl) const;
  /// Of a split counter: adds to a part, and the result is the sum read after it.
  std::int64_t incr(std::string_view key, std::int64_t by = 1) const;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace slotwise::hotkey
