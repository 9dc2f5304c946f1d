// slotwise load: load like the usual benchmark tools, that never stops for good.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include <slotwise/client.hpp>

#include "cli/commands.hpp"
#include "cli/core/event_queue.hpp"
#include "cli/core/interrupt.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/units.hpp"
#include "cli/load/load.hpp"
#include "cli/load/report.hpp"

namespace slotwise::cli {

namespace {

using namespace std::chrono_literals;

struct LoadCommand {
  std::string uri;
  LoadOptions load;
  double seconds = 0;
  bool json = false;
};

void show_rows(Load& load, Screen& screen, EventQueue& events, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto columns = load_columns();
  screen.line(table_head(columns), Tone::bold);
  auto next_row = Clock::now() + 1s;
  while (!load.finished()) {
    Interrupt::wait_until(std::min(next_row, Clock::now() + 50ms));
    if (Interrupt::requested() || (seconds > 0 && load.elapsed() >= seconds)) load.request_stop();
    for (const std::string& text : events.take()) {
      screen.line(fmt::format("{:>6.1f}  | {}", load.elapsed(), text), Tone::dim);
    }
    if (Clock::now() < next_row) continue;
    next_row = std::max(next_row + 1s, Clock::now() + 500ms);
    const LoadRow row = load.row();
    screen.line(table_row(columns, load_cells(row)), row.ops == 0     ? Tone::bad
                                                     : row.errors > 0 ? Tone::warn
                                                                      : Tone::plain);
  }
}

int run_load(const LoadCommand& options) {
  const Interrupt interrupt;
  Config config = config_of(options.uri);
  const auto lanes = static_cast<std::size_t>(options.load.threads) *
                     static_cast<std::size_t>(options.load.in_flight);
  config.max_pending = std::max(config.max_pending, lanes + 1);
  const auto events = std::make_shared<EventQueue>();
  config.events = events;

  Screen screen(options.json ? STDERR_FILENO : STDOUT_FILENO);
  screen.line(config.to_string(), Tone::dim);
  const Client client = Client::connect(std::move(config));
  const auto load = std::make_unique<Load>(client, options.load);
  (void)events->take();  // that the client had to find the deployment is no news
  load->start();
  show_rows(*load, screen, *events, options.seconds);
  const LoadTotals totals = load->totals();
  screen.block(load_text(totals));
  if (options.json) Screen(STDOUT_FILENO).line(load_json(totals));
  return totals.ops > 0 ? exit_ok : exit_failed;
}

void add_ratio(CLI::App& command, LoadOptions& load) {
  command
      .add_option_function<std::string>(
          "--ratio",
          [&load](const std::string& text) {
            const auto ratio = parse_ratio(text);
            if (!ratio) {
              throw UsageError(fmt::format(
                  "--ratio: \"{}\" is not SET:GET; write 1:4 for one SET to four GETs", text));
            }
            std::tie(load.sets, load.gets) = *ratio;
          },
          "SET to GET (default 1:4)")
      ->type_name("S:G");
}

constexpr const char* footer =
    "Keys load:0 ... load:K-1 are chosen at random; they are not written beforehand, so the first\n"
    "GETs find nothing. With --in-flight 1 every thread calls and waits; with more, each thread "
    "is\n"
    "an event loop that keeps N calls on their way.\n"
    "\n"
    "An error is counted and the load goes on: a failover is a pause, never the end.\n"
    "\n"
    "--json: one object on standard output (ops, ops_per_s, latency_ms with p50, p99, p99.9 and\n"
    "max, errors_by_code, nodes ...); the table goes to standard error.\n"
    "\n"
    "Ctrl-C ends the load and prints the totals. Exit status: 0, or 1 if nothing was answered.";

}  // namespace

void add_load(CLI::App& app, Action& action) {
  auto options = std::make_shared<LoadCommand>();
  LoadOptions& load = options->load;
  CLI::App* command =
      app.add_subcommand("load", "Make load, and measure operations a second and latency");
  add_uri(*command, options->uri);
  add_number(*command, "--threads", load.threads, 1, 256, "Threads (default 4)");
  add_number(*command, "--in-flight", load.in_flight, 1, 100'000,
             "Calls of each thread at once (default 1)");
  add_ratio(*command, load);
  add_size(*command, "--value-size", load.value_size, "Size of the values (default 100)");
  command->add_option("--keys", load.keys, "Number of keys (default 100000)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}))
      ->type_name("K");
  add_seconds(*command, "--seconds", options->seconds, "How long (default: until Ctrl-C)");
  command->add_flag("--json", options->json, "The totals as one JSON object");
  command->footer(footer);
  command->final_callback(
      [options, &action] { action = [options] { return run_load(*options); }; });
}

}  // namespace slotwise::cli
