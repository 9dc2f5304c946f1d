// What several subcommands have in common on their command lines.
//
// Thread rule: main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include <slotwise/config.hpp>

namespace slotwise::cli {

/// Exit statuses of every subcommand.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  ///< a reply was an error, something was lost, ...
inline constexpr int exit_usage = 2;   ///< the command line makes no sense

/// The command line makes no sense; the text names the option and the mend.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the chosen subcommand does; its value is the exit status.
using Action = std::function<int()>;

CLI::Option* add_uri(CLI::App& command, std::string& uri);
CLI::Option* add_duration(CLI::App& command, const std::string& name,
                          std::chrono::milliseconds& value, const std::string& help);
/// Seconds, with a unit if wanted; 0 stays 0.
CLI::Option* add_seconds(CLI::App& command, const std::string& name, double& value,
                         const std::string& help);
CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& value,
                      const std::string& help);
/// A whole number in a range.
CLI::Option* add_number(CLI::App& command, const std::string& name, int& value, int least, int most,
                        const std::string& help);

/// So many a second.
CLI::Option* add_rate(CLI::App& command, const std::string& name, double& value,
                      const std::string& help);

/// The settings that the URI names. Throws UsageError.
Config config_of(const std::string& uri);
/// True if the URI itself sets this option in its query.
bool uri_sets(const std::string& uri, const std::string& option);

}  // namespace slotwise::cli
