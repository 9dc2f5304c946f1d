// slotwise probe: write without pause, and see whether anything acknowledged gets lost.

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>

#include <slotwise/client.hpp>

#include "cli/commands.hpp"
#include "cli/core/event_queue.hpp"
#include "cli/core/interrupt.hpp"
#include "cli/core/screen.hpp"
#include "cli/probe/probe.hpp"
#include "cli/probe/show.hpp"

namespace slotwise::cli {

namespace {

struct ProbeCommand {
  std::string uri;
  std::string operation = "set";
  ProbeOptions probe;
  double rate = 0;
  double seconds = 0;
  bool timeout_given = false;
  bool json = false;
};

int run_probe(const ProbeCommand& options) {
  const Interrupt interrupt;
  Config config = config_of(options.uri);
  ProbeOptions probe_options = options.probe;
  probe_options.rate = options.rate;
  if (!options.timeout_given && uri_sets(options.uri, "timeout")) {
    probe_options.timeout = config.timeout;
  }
  const auto events = std::make_shared<EventQueue>();
  config.events = events;

  // With --json the table is for whoever looks on; the object alone is the output.
  Screen screen(options.json ? STDERR_FILENO : STDOUT_FILENO);
  screen.line(config.to_string(), Tone::dim);
  const Client client = Client::connect(std::move(config));
  Probe probe(client, probe_options);
  ProbeShow show(probe, screen, events);
  (void)events->take();  // that the client had to find the deployment is no news
  probe.start();
  show.run([&] { return options.seconds > 0 && probe.elapsed() >= options.seconds; });
  show.verify();
  const ProbeTotals totals = probe.totals();
  screen.block(totals_text(totals));
  if (options.json) Screen(STDOUT_FILENO).line(totals_json(totals));
  return totals.clean() ? exit_ok : exit_failed;
}

constexpr const char* footer =
    "Each worker sets keys probe:{worker:block}:n one after the other; 1,000 keys share a block "
    "and\n"
    "so a slot, and every value is unique. A write is acknowledged, or recorded as failed with "
    "its\n"
    "reason and outcome. At the end every acknowledged key is read back.\n"
    "\n"
    "One row a second: acknowledged and failed writes, the slowest (or longest waiting) write,\n"
    "redirects and retries of the client; changes of the deployment stand between the rows. The\n"
    "longest gap of a shard is the longest time in which it owed an answer and gave none.\n"
    "\n"
    "--json: one object on standard output with acked, failed, unknown, lost, wrong, max_gap_ms,\n"
    "seconds and more; the table goes to standard error.\n"
    "\n"
    "Ctrl-C ends the writing; the read-back and the totals follow. A second one skips the\n"
    "read-back. The keys stay in the deployment.\n"
    "\n"
    "Exit status: 0 nothing failed and all acknowledged keys are there, else 1.";

}  // namespace

void add_probe(CLI::App& app, Action& action) {
  auto options = std::make_shared<ProbeCommand>();
  CLI::App* command = app.add_subcommand(
      "probe", "Write without pause and tell whether anything failed or got lost");
  add_uri(*command, options->uri);
  add_number(*command, "--workers", options->probe.workers, 1, 1000, "Writing threads (default 8)");
  add_seconds(*command, "--seconds", options->seconds, "How long to write (default: until Ctrl-C)");
  add_rate(*command, "--rate", options->rate,
           "Writes a second of all workers together (default: no limit)");
  CLI::Option* timeout =
      add_duration(*command, "--timeout", options->probe.timeout,
                   "Deadline of each write (default: the URI's timeout, or else 20s)");
  command->add_option("--operation", options->operation, "What a write is (default set)")
      ->check(CLI::IsMember({"set"}))
      ->type_name("NAME");
  command->add_flag("--json", options->json, "The totals as one JSON object");
  command->footer(footer);
  command->final_callback([options, timeout, &action] {
    options->timeout_given = timeout->count() > 0;
    action = [options] { return run_probe(*options); };
  });
}

}  // namespace slotwise::cli
