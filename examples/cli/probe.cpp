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
#include "cli/probe/report.hpp"
#include "cli/probe/show.hpp"

namespace slotwise::cli {

namespace {

struct ProbeCommand {
  std::string uri;
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

void add_operation(CLI::App& command, ProbeOperation& operation) {
  command
      .add_option_function<std::string>(
          "--operation",
          [&operation](const std::string& name) {
            if (name != "set" && name != "incr") {
              throw UsageError(fmt::format("--operation: \"{}\" is neither set nor incr", name));
            }
            operation = name == "set" ? ProbeOperation::set : ProbeOperation::incr;
          },
          "What a write is: set (default) or incr")
      ->type_name("NAME")
      ->take_last();
}

constexpr const char* footer =
    "set: each worker sets keys probe:{worker:block}:n one after the other; 1,000 keys share a\n"
    "block and so a slot, and every value is unique. The client may send a SET again, since that\n"
    "is harmless. At the end every acknowledged key is read back. A write that was not\n"
    "acknowledged is failed, whatever its outcome.\n"
    "\n"
    "incr: each worker increments a counter of its own 1,000 times, then the next one. An\n"
    "increment must not run twice, so the client does not send it again once it may have run: the\n"
    "caller is told that the outcome is unknown, which is no fault. failed are those that did not\n"
    "run. At the end each counter must lie between its acknowledged increments and these and its\n"
    "unknown ones together: below is lost, above is doubled. The replies on the way are watched\n"
    "too: a counter that goes back has lost, one that jumps has doubled.\n"
    "\n"
    "One row a second: acknowledged, failed and unknown writes, the slowest (or longest waiting)\n"
    "write, redirects and retries of the client; changes of the deployment stand between the\n"
    "rows. The gap of a shard is the longest time in which it owed an answer and gave none.\n"
    "\n"
    "--pin: worker i writes to shard i modulo the number of shards at the start only. A worker\n"
    "that waits for a dead shard does nothing else meanwhile; pinned, it takes nothing away from\n"
    "the figures of the other shards.\n"
    "\n"
    "--json: one object on standard output with operation, verdict, acked, failed, unknown, lost,\n"
    "wrong, doubled and sum (incr), max_gap_ms, p50_ms, p99_ms, slowest_ms, shards (the same for\n"
    "each), failures and more; the table goes to standard error.\n"
    "\n"
    "Ctrl-C ends the writing; the read-back and the totals follow. A second one skips the\n"
    "read-back. The keys stay in the deployment.\n"
    "\n"
    "Exit status: 0 nothing failed, is lost, wrong or doubled, and all was read back; else 1.";

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
  add_operation(*command, options->probe.operation);
  command->add_flag("--pin", options->probe.pin_to_shards, "Each worker stays with one shard");
  command->add_flag("--json", options->json, "The totals as one JSON object");
  command->footer(footer);
  command->final_callback([options, timeout, &action] {
    options->timeout_given = timeout->count() > 0;
    action = [options] { return run_probe(*options); };
  });
}

}  // namespace slotwise::cli
