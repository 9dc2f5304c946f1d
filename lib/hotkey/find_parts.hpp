// What servers answer about their hot slots and keys, read. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <slotwise/hotkey_find.hpp>
#include <slotwise/reply.hpp>

namespace slotwise::hotkey {

struct SlotUse {
  std::uint16_t slot = 0;
  std::uint64_t keys = 0;
  std::uint64_t cpu_usec = 0;
};

/// CLUSTER SLOT-STATS; nothing if it is not of that form or does not count CPU time.
std::optional<std::vector<SlotUse>> parse_slot_stats(const Reply& reply);

/// What each slot used between two looks, the most first; slots that used nothing are left out.
std::vector<SlotUse> used_between(const std::vector<SlotUse>& before,
                                  const std::vector<SlotUse>& after);

/// How many uses it takes on average until OBJECT FREQ says `counter`, without decay.
double uses_of_counter(std::uint64_t counter, std::uint64_t log_factor) noexcept;

/// The two forms of HOTKEYS.
enum class HotkeysForm : std::uint8_t {
  none,      ///< no such command
  sessions,  ///< Redis 8.6: START, STOP, GET, RESET; CPU time of each key
  windows,   ///< Valkey 9.2: GET, if hotkey-top-k is set; uses a second
};
/// From the answer to COMMAND INFO HOTKEYS.
HotkeysForm hotkeys_form(const Reply& command_info);

struct ServerHotKeys {
  struct Key {
    std::string key;
    std::uint64_t value = 0;  ///< microseconds, or uses a second
    std::int64_t database = 0;
  };
  std::uint64_t total_usec = 0;  ///< of all commands; sessions only
  std::vector<Key> keys;
};
/// HOTKEYS GET; nothing if it is not of that form.
std::optional<ServerHotKeys> parse_hotkeys(const Reply& reply, HotkeysForm form);

/// The value of a line "name:value" of INFO; empty if there is none.
std::string info_value(std::string_view info, std::string_view name);

/// A found key with what only the search needs to know.
struct Candidate {
  FoundKey found;
  double rank = 0;       ///< share, or that of its slot
  bool has_size = true;  ///< MEMORY USAGE can be asked for
};

/// Keeps the best ones, in bounded memory.
class BestKeys {
 public:
  explicit BestKeys(std::size_t limit) : limit_(limit) {}
  void add(Candidate key);
  /// The best first.
  std::vector<Candidate> take();

 private:
  void cut();
  std::size_t limit_;
  std::vector<Candidate> keys_;
};

/// The same note for several nodes is one note.
class Notes {
 public:
  void add(std::string text) { add({}, std::move(text)); }
  void add(const std::string& node, std::string text);
  std::vector<std::string> take();

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> notes_;  // text, nodes
};

}  // namespace slotwise::hotkey
