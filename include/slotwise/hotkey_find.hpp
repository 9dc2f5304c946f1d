// Hot keys at the servers: what all clients together use most, over the whole deployment at once.
//
//   for (const auto& key : slotwise::hotkey::find(client).keys) std::cout << key.key << '\n';
//
// What one client uses most it knows by itself, for less: Client::hot_keys().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/client.hpp>
#include <slotwise/export.hpp>

namespace slotwise::hotkey {

/// How it is known that a key is hot; the better ones first.
enum class FindSource : std::uint8_t {
  hotkeys,          ///< "HOTKEYS": the server's own command counted uses of the key
  slot_stats,       ///< "SLOT-STATS": the CPU time of the key's slot; no other key is in it
  slot_stats_freq,  ///< "SLOT-STATS/FREQ": the same, divided among the slot's keys by OBJECT FREQ
  slot_stats_idle,  ///< "SLOT-STATS/IDLETIME": a hot slot's key that was used in this moment. With
                    ///< a share: the only one of them
  object_freq,      ///< "OBJECT FREQ": of all keys, it has one of the highest counters
};
SLOTWISE_API std::string_view to_string(FindSource source) noexcept;

struct FoundKey {
  std::string key;
  std::string node;  ///< "host:port" of the primary that has it
  /// Of the CPU time that commands with keys took on all primaries between the two looks, 0 to 1.
  std::optional<double> share;
  /// OBJECT FREQ, 0 to 255: the logarithm of an estimate, which decays with time; not a number of
  /// requests. With FindSource::hotkeys: uses a second, where the server counts these.
  std::optional<std::uint64_t> counter;
  std::optional<std::uint64_t> size;  ///< MEMORY USAGE in bytes
  FindSource source = FindSource::object_freq;
};

struct FindOptions {
  std::size_t limit = 20;  ///< keys in the result
  /// Between the two looks at what the servers count: so the result tells of now, and not of all
  /// the time since the servers' start.
  std::chrono::milliseconds look{1000};
  std::chrono::milliseconds timeout{2000};  ///< of each question to a node
  double least_share = 0.001;               ///< slots and keys with less are left out
  std::size_t slots_per_node = 8;           ///< the hottest ones, whose keys are looked at
  std::size_t keys_per_slot = 1000;         ///< looked at in each of them
  /// Where a server has neither of the better sources, all its keys are gone through by SCAN, for
  /// this long at most. 0: they are not gone through.
  std::chrono::milliseconds scan_time{60'000};
};

struct FindResult {
  std::vector<FoundKey> keys;  ///< the hottest first
  /// What the figures mean, what could not be known and how that is mended, and every node that did
  /// not answer. One sentence or two each.
  std::vector<std::string> notes;
};

/// Asks all primaries at once. Reads only, but for HOTKEYS of Redis, which has to be started: it is
/// ended and its data are removed afterwards; one that somebody else has started is left alone.
/// Takes `look` and a little more, with SCAN longer. Throws nothing of the servers': what fails
/// is a note. Any thread, but not from a callback.
SLOTWISE_API FindResult find(const Client& client, const FindOptions& options = {});

}  // namespace slotwise::hotkey
