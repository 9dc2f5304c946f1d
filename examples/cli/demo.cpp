// slotwise demo: a cluster doubles its shards and loses a primary while a probe writes to it.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <slotwise/client.hpp>

#include "cli/commands.hpp"
#include "cli/core/event_queue.hpp"
#include "cli/core/interrupt.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/units.hpp"
#include "cli/probe/probe.hpp"
#include "cli/probe/report.hpp"
#include "cli/probe/show.hpp"
#include "kit/cluster.hpp"
#include "kit/error.hpp"

namespace slotwise::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Quick enough that every shard is written to all the time, slow enough that two cores have time
/// for the servers too.
constexpr double writes_per_second = 6000;
constexpr int workers = 8;

/// In small steps: the main thread waits for the same signal and may take it first.
void calm(std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (Interrupt::requested()) throw Interrupted();
    std::this_thread::sleep_for(50ms);
  }
}

/// What happens to the cluster while the probe writes. Runs on a thread of its own.
class Director {
 public:
  Director(kit::Cluster& cluster, const Probe& probe, ProbeShow& show)
      : cluster_(cluster), probe_(probe), show_(show), thread_([this] { direct(); }) {}

  bool ended() const noexcept { return ended_; }
  bool failed() const noexcept { return failed_; }

 private:
  void direct() {
    try {
      calm(5s);
      scale_out();
      calm(5s);
      kill_a_primary();
      calm(8s);
    } catch (const Interrupted&) {
      failed_ = true;
    } catch (const std::exception& error) {
      show_.note(error.what(), Tone::bad);
      failed_ = true;
    }
    ended_ = true;
  }

  void scale_out() {
    const bool atomic = cluster_.binaries().has_migrateslots();
    show_.note(fmt::format("* SCALE OUT: 3 new shards join, and half of the slots move to them{}",
                           atomic ? " (MIGRATESLOTS)" : " key by key"),
               Tone::bold);
    const auto since = Clock::now();
    cluster_.add_shards(3);
    show_.note(fmt::format("* the cluster has 6 shards, {:.1f} s later", seconds(since)),
               Tone::bold);
  }

  void kill_a_primary() {
    cluster_.wait_ready_to_fail_over();
    // Somebody is writing to it at this moment.
    const int slot = slotwise::slot(probe_.current_key(0));
    const std::size_t victim = cluster_.owner_of(slot);
    const kit::ClusterNode node = cluster_.node(victim);
    show_.note(
        fmt::format("* SIGKILL for primary {} ({}), {} slots", node.name, node.address.to_string(),
                    grouped(static_cast<std::uint64_t>(node.slot_total))),
        Tone::bold);
    const auto since = Clock::now();
    cluster_.kill(victim, SIGKILL);
    const std::size_t heir = new_owner(slot, victim);
    show_.note(fmt::format("* its replica {} ({}) has taken over, {:.1f} s later",
                           cluster_.node(heir).name, cluster_.node(heir).address.to_string(),
                           seconds(since)),
               Tone::bold);
  }

  /// As the kit's own waiting, but Ctrl-C ends it.
  std::size_t new_owner(int slot, std::size_t old) {
    for (const auto end = Clock::now() + 20s; Clock::now() < end; calm(50ms)) {
      try {
        const std::size_t owner = cluster_.owner_of(slot);
        if (owner != old) return owner;
      } catch (const kit::Error&) {  // nobody owns it yet
      }
    }
    throw kit::Error("no replica has taken over within 20 s");
  }

  static double seconds(Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  }

  kit::Cluster& cluster_;
  const Probe& probe_;
  ProbeShow& show_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> failed_{false};
  std::jthread thread_;  // last: it uses all of the above
};

int verdict(const ProbeTotals& totals, bool failed, Screen& screen) {
  if (Interrupt::requested()) {
    screen.line("\nInterrupted.", Tone::warn);
    return exit_failed;
  }
  if (failed) {
    screen.line("\nThe demo could not be played to its end.", Tone::bad);
    return exit_failed;
  }
  if (!totals.clean()) {
    screen.line("\nNOT GOOD: see the totals above.", Tone::bad);
    return exit_failed;
  }
  screen.line(fmt::format("\nGOOD: {} writes while the cluster doubled and lost a primary; "
                          "none failed, none is lost.",
                          grouped(totals.acked)),
              Tone::good);
  return exit_ok;
}

int run_demo() {
  const Interrupt interrupt;
  Screen screen(STDOUT_FILENO);
  screen.line("Three primaries and three replicas start. A probe writes to them without pause.");
  screen.line("The cluster doubles its shards; then a primary is killed. No write may get lost.\n");

  ProbeShow* show = nullptr;
  kit::ClusterOptions options{.primaries = 3, .replicas = 1};
  options.progress = [&](const std::string& text) {
    if (Interrupt::requested()) throw Interrupted();
    // Steps of what the director announces anyway are passed over.
    if (show != nullptr && !text.starts_with("moved") && text.find("started") == text.npos) return;
    if (show != nullptr) {
      show->note("  " + text, Tone::dim);
    } else {
      screen.line("  " + text, Tone::dim);
    }
  };
  kit::Cluster cluster(options);
  screen.line(fmt::format("  {} at {}\n", cluster.binaries().to_string(), cluster.uri({0, 1, 2})));

  Config config = Config::parse(cluster.uri());
  const auto events = std::make_shared<EventQueue>();
  config.events = events;
  const Client client = Client::connect(std::move(config));
  Probe probe(client, {.workers = workers, .rate = writes_per_second, .timeout = 20s});
  ProbeShow table(probe, screen, events);
  show = &table;

  (void)events->take();  // that a client had to find the cluster is no news
  probe.start();
  bool failed = false;
  {
    const Director director(cluster, probe, table);
    table.run([&] { return director.ended(); });
    while (!director.ended())
      std::this_thread::sleep_for(10ms);
    failed = director.failed();
  }
  if (!Interrupt::requested()) table.verify();
  show = nullptr;
  const ProbeTotals totals = probe.totals();
  screen.block(totals_text(totals));
  return verdict(totals, failed, screen);
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "demo", "Watch a cluster double its shards and lose a primary under a probe");
  command->footer(
      "Takes about half a minute. Starts 3 primaries and 3 replicas on loopback, scales out to 6\n"
      "shards, kills a primary, and ends everything it started. Exit status 0 only if no write\n"
      "failed and nothing acknowledged is lost.");
  command->final_callback([&action] { action = [] { return run_demo(); }; });
}

}  // namespace slotwise::cli
