// slotwise against other clients on the same servers, in turn: medians, ratios and bars.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "compare/report.hpp"
#include "compare/shapes.hpp"
#include "support/program.hpp"

namespace {

using namespace slotwise::bench;

/// Half of what the slowest of them can.
double half_rate(const std::vector<Side*>& sides, const Deployment& servers) {
  double slowest = 0;
  for (const auto& rounds : run_in_turn(sides, servers, {.rounds = 5, .seconds = 0.2})) {
    const double rate = median_of(rounds, &Measurement::rate);
    slowest = slowest == 0 ? rate : std::min(slowest, rate);
  }
  return slowest / 2;
}

ShapeResult run(const Shape& shape, Bed& bed, RoundOptions options) {
  std::vector<SidePtr> made;
  made.push_back(shape.ours(bed));
  for (const auto& rival : shape.rivals)
    made.push_back(rival.make(bed));
  std::vector<Side*> sides;
  for (const auto& side : made)
    sides.push_back(side.get());
  const auto& servers = shape.tls ? bed.tls() : bed.plain();

  ShapeResult result{.shape = &shape};
  if (shape.half_rate) {
    result.offered_rate = half_rate(sides, servers);
    for (auto* side : sides)
      side->set_rate(result.offered_rate);
    // A p99 is a matter of rare moments: of more rounds the median is steadier.
    options = {.rounds = options.rounds * 3, .seconds = options.seconds / 2};
  }
  auto all = run_in_turn(sides, servers, options);
  result.ours = std::move(all.front());
  result.theirs.assign(std::make_move_iterator(all.begin() + 1),
                       std::make_move_iterator(all.end()));
  judge(result);
  return result;
}

std::vector<const Shape*> chosen(const std::vector<std::string>& names) {
  std::vector<const Shape*> which;
  for (const auto& shape : shapes()) {
    if (names.empty() || std::find(names.begin(), names.end(), shape.name) != names.end()) {
      which.push_back(&shape);
    }
  }
  return which;
}

int compare_all(const std::vector<std::string>& names, const ProgramOptions& options) {
  const auto where = circumstances(options.rounds);
  fmt::print("{}\n\n{}", where, text_head());
  Bed bed;
  std::vector<ShapeResult> results;
  for (const auto* shape : chosen(names)) {
    results.push_back(run(*shape, bed, options.rounds));
    fmt::print("{}", text_rows(results.back()));
  }
  write_file(options.out / "compare.json", json(results, options.rounds, where).dump(2) + "\n");
  write_file(options.out / "compare.md", markdown(results, where));
  write_file(options.out / "compare.svg", plot(results, where));
  fmt::print("\nresults: {}/compare.json, .md, .svg\n", options.out.string());
  return any_short(results) ? 1 : 0;
}

int list() {
  for (const auto& shape : shapes())
    fmt::print("{:16} {}\n", shape.name, shape.title);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs slotwise and other clients in turn against three real primaries on this machine.\n"
      "Exit status: 0 all ratios reach their bars, 1 one falls SHORT (or a run failed), 2 usage.",
      "bench_compare");
  ProgramOptions options;
  add_options(app, options);
  std::vector<std::string> all_names;
  for (const auto& shape : shapes())
    all_names.push_back(shape.name);
  std::vector<std::string> names;
  app.add_option("--shape", names, "Only this one; may be given several times")
      ->check(CLI::IsMember(all_names));
  bool only_list = false;
  app.add_flag("--list", only_list, "Print the names of the shapes");
  return run_program(app, argc, argv, options,
                     [&] { return only_list ? list() : compare_all(names, options); });
}
