// Keys of any type: existence, expiry, names.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <slotwise/args.hpp>
#include <slotwise/commands/time.hpp>
#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>
#include <slotwise/export.hpp>

namespace slotwise {

/// When an expiry is set. All but `always` need a server of 7.0.
enum class ExpireIf : std::uint8_t {
  always,
  without_expiry,  ///< NX: only if the key has no expiry
  with_expiry,     ///< XX: only if it has one
  later,           ///< GT: only if the new one is later; no expiry counts as latest
  earlier,         ///< LT: only if the new one is earlier
};

namespace detail {
/// One value of an enum as its word, or no word.
struct SLOTWISE_API ExpireCondition {
  ExpireIf value;
  void append_to(Args& args) const;
};
/// A word that is there or not.
struct Flag {
  bool on;
  std::string_view word;
  void append_to(Args& args) const {
    if (on) args.add(word);
  }
};
}  // namespace detail

template <class Face>
class KeyCommands {
 public:
  /// Deletes keys, and gives how many there were. They may lie in several slots; then not atomic.
  /// (DEL)
  auto del(Words keys) const { return detail::call_spread<std::int64_t, "DEL">(*this, keys); }
  /// Like del(), but the server frees the memory in the background. (UNLINK)
  auto unlink(Words keys) const { return detail::call_spread<std::int64_t, "UNLINK">(*this, keys); }
  /// How many of these keys exist; one that is named twice counts twice. They may lie in several
  /// slots. (EXISTS)
  auto exists(Words keys) const { return detail::call_spread<std::int64_t, "EXISTS">(*this, keys); }
  /// Marks keys as just used, and gives how many exist. They may lie in several slots. (TOUCH)
  auto touch(Words keys) const { return detail::call_spread<std::int64_t, "TOUCH">(*this, keys); }

  /// Lets a key expire after `ttl`; zero or less deletes it now. False: no such key, or the
  /// condition did not hold. (PEXPIRE)
  auto expire(std::string_view key, Duration ttl, ExpireIf condition = ExpireIf::always) const {
    return detail::call<bool, "PEXPIRE">(*this, key, ttl, detail::ExpireCondition{condition});
  }
  /// Lets a key expire at `when`; a past moment deletes it now. False: no such key, or the
  /// condition did not hold. (PEXPIREAT)
  auto expire_at(std::string_view key, UnixTime when, ExpireIf condition = ExpireIf::always) const {
    return detail::call<bool, "PEXPIREAT">(*this, key, when, detail::ExpireCondition{condition});
  }
  /// Time until a key expires. Nil: no such key; `slotwise::no_expiry`: it never does. (PTTL)
  auto ttl(std::string_view key) const {
    return detail::call<std::optional<std::chrono::milliseconds>, "PTTL">(*this, key);
  }
  /// When a key expires. Nil: no such key; `slotwise::never_expires`: it never does. Server of 7.0.
  /// (PEXPIRETIME)
  auto expire_time(std::string_view key) const {
    return detail::call<std::optional<std::chrono::system_clock::time_point>, "PEXPIRETIME">(*this,
                                                                                             key);
  }
  /// Takes the expiry away. False: no such key, or it had none. (PERSIST)
  auto persist(std::string_view key) const { return detail::call<bool, "PERSIST">(*this, key); }

  /// "string", "list", "set", "zset", "hash", "stream", or "none" if there is no such key. (TYPE)
  auto type(std::string_view key) const { return detail::call<std::string, "TYPE">(*this, key); }
  /// Gives a key another name, in the same slot; a key of that name is overwritten. It is an error
  /// if there is no such key. (RENAME)
  auto rename(std::string_view key, std::string_view new_name) const {
    return detail::call<void, "RENAME">(*this, key, new_name);
  }
  /// The same, if there is no key of the new name yet: else false. (RENAMENX)
  auto renamenx(std::string_view key, std::string_view new_name) const {
    return detail::call<bool, "RENAMENX">(*this, key, new_name);
  }
  /// Copies a key to another of the same slot. False: no such key, or the other exists and
  /// `replace` is false. (COPY)
  auto copy(std::string_view from, std::string_view to, bool replace = false) const {
    return detail::call<bool, "COPY">(*this, from, to, detail::Flag{replace, "REPLACE"});
  }
  /// A key as bytes for restore(). Nil: no such key. (DUMP)
  auto dump(std::string_view key) const {
    return detail::call<std::optional<std::string>, "DUMP">(*this, key);
  }
  /// Makes a key from the bytes of dump(), without expiry or with `ttl`. It is an error (BUSYKEY)
  /// if the key exists and `replace` is false. (RESTORE)
  auto restore(std::string_view key, std::string_view bytes, std::optional<Duration> ttl = {},
               bool replace = false) const {
    return detail::call<void, "RESTORE">(*this, key, ttl ? ttl->milliseconds() : 0, bytes,
                                         detail::Flag{replace, "REPLACE"});
  }
  /// The name of some key. Nil: there are none. (RANDOMKEY)
  auto randomkey() const { return detail::call<std::optional<std::string>, "RANDOMKEY">(*this); }
  /// How the server stores a value ("listpack", "skiplist" ...). Nil: no such key. (OBJECT
  /// ENCODING)
  auto object_encoding(std::string_view key) const {
    return detail::call<std::optional<std::string>, "OBJECT ENCODING">(*this, key);
  }
  /// Time since a key was used last. Nil: no such key. (OBJECT IDLETIME)
  auto object_idletime(std::string_view key) const {
    return detail::call<std::optional<std::chrono::seconds>, "OBJECT IDLETIME">(*this, key);
  }
  /// Bytes of memory that a key takes, estimated from a few of its elements. Nil: no such key.
  /// (MEMORY USAGE)
  auto memory_usage(std::string_view key) const {
    return detail::call<std::optional<std::int64_t>, "MEMORY USAGE">(*this, key);
  }
};

}  // namespace slotwise
