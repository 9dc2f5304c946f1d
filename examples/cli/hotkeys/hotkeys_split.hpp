// `slotwise hotkeys split|status|join`, and how a split key is shown.
//
// Thread rule: main thread only, but for the functions that make texts (any thread).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/hotkey.hpp>

#include "cli/core/options.hpp"

namespace slotwise::cli {

/// Adds split, status and join.
void add_hotkeys_split(CLI::App& group, Action& action);

/// The key that a word of the command line means: `"a\x00b"` in double quotes with the escapes
/// that find and status print, else the word as it is. Throws UsageError.
std::string key_of(const std::string& word);

std::string status_text(const hotkey::Status& status);
/// One object, without a line end.
std::string status_json(const hotkey::Status& status);
std::string statuses_text(const std::vector<hotkey::Status>& all);

}  // namespace slotwise::cli
