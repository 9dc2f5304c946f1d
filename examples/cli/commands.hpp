// The subcommands: each adds itself to the command line and says what to do when it is chosen.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/core/options.hpp"

namespace slotwise::cli {

void add_exec(CLI::App& app, Action& action);
void add_topology(CLI::App& app, Action& action);
void add_probe(CLI::App& app, Action& action);
void add_load(CLI::App& app, Action& action);
void add_lab(CLI::App& app, Action& action);
void add_hotkeys(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);

}  // namespace slotwise::cli
