// slotwise doctor: would this deployment survive a failure?

#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <slotwise/client.hpp>

#include "cli/commands.hpp"
#include "cli/core/screen.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/doctor/gather.hpp"
#include "cli/doctor/report.hpp"

namespace slotwise::cli {

namespace {

struct DoctorCommand {
  std::string uri;
  std::chrono::milliseconds timeout{3000};
  bool json = false;
};

/// What can be said about a deployment that lets no client start.
Findings unreachable(const Error& error) {
  Findings findings;
  findings.add(Level::problem, "reach", std::string(error.message()),
               "No client can start with this URI.",
               "Check addresses, credentials and TLS; then the servers themselves.");
  return findings;
}

Findings look_at(const Config& config, std::chrono::milliseconds limit) {
  if (config.mode == Mode::sentinel) return examine(gather_by_sentinels(config, limit));
  std::optional<Client> client;
  try {
    client.emplace(Client::connect(config));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::refused) throw;
    return unreachable(error);
  }
  return examine(gather(*client, config, limit));
}

int run_doctor(const DoctorCommand& options) {
  const Config config = config_of(options.uri);
  const Findings findings = look_at(config, options.timeout);
  Screen screen(STDOUT_FILENO);
  const std::string uri = config.to_string();
  if (options.json) {
    screen.line(doctor_json(uri, findings));
  } else {
    screen.block(doctor_text(uri, findings));
  }
  return findings.trouble() ? exit_failed : exit_ok;
}

constexpr const char* footer =
    "Reads only: PING, INFO, CONFIG GET of some settings, CLUSTER INFO and NODES, COMMAND INFO, "
    "and\n"
    "DNS for the TTL of the nodes' names; at sentinels SENTINEL MASTER, SLAVES, SENTINELS, MYID "
    "and\n"
    "CKQUORUM. What it may not read it says to be not known.\n"
    "\n"
    "It looks at: nodes that answer, slots served, bus links; replicas that could take over now,\n"
    "votes for a failover, addresses shared by a primary and its replicas; persistence, the node\n"
    "timeout against a restart and against DNS, cluster-require-full-coverage; memory, balance,\n"
    "versions and what they can do; the nodes that the URI names. With sentinels (those of the "
    "URI\n"
    "and those that they know): their number, quorum against majority, whether enough of them\n"
    "answer for a failover, CKQUORUM, whether they agree and hear each other, where they are.\n"
    "\n"
    "Levels: problem (broken, or the next failure breaks it), warning (a failure will hurt more\n"
    "than it has to), note (worth knowing), ok. --json: one object with uri, healthy, problems,\n"
    "warnings, notes, and findings [{level, check, what, why, do}].\n"
    "\n"
    "Exit status: 0 nothing above a note, 1 a warning or a problem, 2 the command line makes no\n"
    "sense.";

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto options = std::make_shared<DoctorCommand>();
  CLI::App* command =
      app.add_subcommand("doctor", "Tell whether a deployment would survive a failure");
  add_uri(*command, options->uri);
  add_duration(*command, "--timeout", options->timeout,
               "How long to wait for a node's answers (default 3s)");
  command->add_flag("--json", options->json, "One JSON object");
  command->footer(footer);
  command->final_callback(
      [options, &action] { action = [options] { return run_doctor(*options); }; });
}

}  // namespace slotwise::cli
