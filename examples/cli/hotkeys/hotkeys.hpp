// The subcommands of `slotwise hotkeys`, and how keys and shares are shown by all of them.
//
// Thread rule: main thread only, but for the functions that make texts (any thread).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/hotkey_find.hpp>

#include "cli/core/options.hpp"

namespace slotwise::cli {

// Each adds its subcommand to the group; cli/hotkeys.cpp calls them.
void add_hotkeys_find(CLI::App& group, Action& action);
void add_hotkeys_watch(CLI::App& group, Action& action);

/// A key on one line: as it is, or in quotes and escaped where that would be ambiguous; cut to
/// about `most` characters.
std::string shown_key(std::string_view key, std::size_t most = 40);
/// `"key":"..."` for a JSON object; a key that is not UTF-8 is written as Latin-1, and
/// `,"encoding":"latin1"` follows.
void append_key_field(std::string& out, std::string_view key);
/// "12.3 %"; empty for none.
std::string shown_share(std::optional<double> share);

// --- find --------------------------------------------------------------------------------------

std::string find_text(const hotkey::FindResult& result);
/// One object on one line.
std::string find_json(const hotkey::FindResult& result);

// --- watch -------------------------------------------------------------------------------------

/// One node between two looks at its INFO.
struct WatchedNode {
  std::string node;
  bool primary = true;
  std::optional<double> ops;  ///< commands a second; nothing: it did not answer
  std::optional<double> cpu;  ///< of one processor, 1 is all of it
  std::vector<hotkey::FoundKey> keys;
};

/// What INFO says of a moment; nothing if it is no INFO.
struct InfoCounts {
  std::uint64_t commands = 0;
  double cpu_seconds = 0;
};
std::optional<InfoCounts> parse_counts(std::string_view info);

/// `part` (0 to 1) of `width` characters.
std::string bar(double part, std::size_t width);
std::string watch_text(const std::vector<WatchedNode>& nodes);
/// One object on one line.
std::string watch_json(const std::vector<WatchedNode>& nodes, std::int64_t unix_ms, double seconds);

}  // namespace slotwise::cli
