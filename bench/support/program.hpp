// What the bench programs have in common: options, circumstances, files.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "support/measure.hpp"

namespace slotwise::bench {

struct ProgramOptions {
  RoundOptions rounds;
  bool quick = false;
  std::filesystem::path out;
};

/// --rounds, --seconds, --quick, --out.
void add_options(CLI::App& app, ProgramOptions& options);

/// Parses, and runs `work`. Exit status: that of work, 1 for an exception, 2 for a bad command
/// line. --quick is in options.rounds when work begins.
int run_program(CLI::App& app, int argc, char** argv, ProgramOptions& options,
                const std::function<int()>& work);

/// "2026-11-30 10:20, 2 cores shared with the servers (valkey 9.1.2), load average 3.1 before, ..."
std::string circumstances(const RoundOptions& rounds);

void write_file(const std::filesystem::path& file, const std::string& text);

}  // namespace slotwise::bench
