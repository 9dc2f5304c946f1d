#include "support/program.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "kit/server_binaries.hpp"

namespace slotwise::bench {

namespace {

constexpr RoundOptions quick_rounds{.rounds = 3, .seconds = 0.4};

}  // namespace

void add_options(CLI::App& app, ProgramOptions& options) {
  options.out = SLOTWISE_BENCH_RESULTS;
  auto* rounds = app.add_option("--rounds", options.rounds.rounds, "Rounds of each comparison")
                     ->check(CLI::Range(1, 1000))
                     ->capture_default_str();
  auto* seconds =
      app.add_option("--seconds", options.rounds.seconds, "Length of one run of one client")
          ->check(CLI::Range(0.01, 3600.0))
          ->capture_default_str();
  app.add_flag(
         "--quick", options.quick,
         fmt::format("As --rounds {} --seconds {}", quick_rounds.rounds, quick_rounds.seconds))
      ->excludes(rounds)
      ->excludes(seconds);
  app.add_option("--out", options.out, "Folder for the results")->capture_default_str();
}

int run_program(CLI::App& app, int argc, char** argv, ProgramOptions& options,
                const std::function<int()>& work) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.quick) options.rounds = quick_rounds;
  // Lines are to be seen as they come, also in a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    return work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return 1;
  }
}

std::string circumstances(const RoundOptions& rounds) {
  double load = 0;
  getloadavg(&load, 1);
  return fmt::format(
      "{:%Y-%m-%d %H:%M}, {} cores shared with the servers ({}), load average {:.1f} at the start, "
      "{} "
      "rounds of {} s",
      fmt::localtime(std::time(nullptr)), std::thread::hardware_concurrency(),
      kit::ServerBinaries::find().to_string(), load, rounds.rounds, rounds.seconds);
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace slotwise::bench
