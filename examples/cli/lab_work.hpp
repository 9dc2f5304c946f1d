// How `slotwise lab` gets its small subcommands.
//
// Thread rule: main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/core/options.hpp"
#include "kit/lab.hpp"

namespace slotwise::cli {

/// What they have on their command lines.
struct LabArguments {
  std::string dir{};
  std::string node{};
  std::string signal = "KILL";
  std::string address{};
  std::string slots{};
  int count = 0;
  bool legacy = false;
  bool json = false;
  kit::LabFault fault{};
  std::vector<std::string> answer{};  ///< of the DNS
};

using LabWork = std::function<void(kit::Lab&, const LabArguments&)>;

/// Progress goes to standard error, so that standard output is for programs to read.
void say(const std::string& text);

/// Adds `lab NAME`, which opens the lab and does the work on it.
CLI::App& add_work(CLI::App& lab, Action& action, const std::shared_ptr<LabArguments>& arguments,
                   const std::string& name, const std::string& help, LabWork work);

/// cut, fault, heal, reset-connections, dns; and the process that does all that.
void add_network_work(CLI::App& lab, Action& action,
                      const std::shared_ptr<LabArguments>& arguments);

}  // namespace slotwise::cli
