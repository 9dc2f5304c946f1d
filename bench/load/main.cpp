// Throughput against the number of calls in flight, and of threads: slotwise and baselines.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/sides.hpp"
#include "support/svg.hpp"

namespace {

using namespace slotwise::bench;

using MakeSide = SidePtr (*)(const Deployment&, const Workload&, int);

struct Line {
  std::string name;
  MakeSide make;
};

/// One picture: the same clients at one width after another.
struct Sweep {
  std::string title;
  std::string width;  ///< what is varied
  int widest;
  std::vector<Line> lines;
};

const std::vector<Sweep>& sweeps() {
  static const std::vector<Sweep> all = {
      {"asynchronous calls of one thread",
       "in flight",
       1024,
       {{"slotwise",
         [](const Deployment& servers, const Workload& workload, int n) {
           return slotwise_async(servers, workload, static_cast<std::size_t>(n));
         }},
        {"hiredis async",
         [](const Deployment& servers, const Workload& workload, int n) {
           return hiredis_async(servers, workload, static_cast<std::size_t>(n));
         }},
        {"floor",
         [](const Deployment& servers, const Workload& workload, int n) {
           return floor_async(servers, workload, static_cast<std::size_t>(n));
         }}}},
      {"synchronous calls",
       "threads",
       64,
       {{"slotwise, one client", slotwise_sync},
        {"hiredis, connection per thread", hiredis_sync}}}};
  return all;
}

struct Point {
  int width;
  std::vector<Measurements> of_lines;
};

std::vector<Point> run(const Sweep& sweep, const Deployment& servers, const Workload& workload,
                       const RoundOptions& options) {
  fmt::print("{:>12}", sweep.width);
  for (const auto& line : sweep.lines)
    fmt::print(" {:>32}", line.name);
  fmt::print("\n");
  std::vector<Point> points;
  for (int width = 1; width <= sweep.widest; width *= 2) {
    std::vector<SidePtr> made;
    std::vector<Side*> sides;
    for (const auto& line : sweep.lines) {
      made.push_back(line.make(servers, workload, width));
      sides.push_back(made.back().get());
    }
    points.push_back({width, run_in_turn(sides, servers, options)});
    fmt::print("{:>12}", width);
    for (const auto& line : points.back().of_lines)
      fmt::print(" {:>32.0f}", median_of(line, &Measurement::rate));
    fmt::print("\n");
  }
  return points;
}

LineChart chart_of(const Sweep& sweep, const std::vector<Point>& points) {
  LineChart chart{
      .title = sweep.title, .x_name = sweep.width, .y_name = "operations/s", .curves = {}};
  for (std::size_t i = 0; i < sweep.lines.size(); ++i) {
    Curve curve{.name = sweep.lines[i].name, .points = {}};
    for (const auto& point : points)
      curve.points.emplace_back(point.width, median_of(point.of_lines[i], &Measurement::rate));
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

std::string markdown_of(const Sweep& sweep, const std::vector<Point>& points) {
  std::string text = fmt::format("\n\n{}, operations/s:\n\n| {} |", sweep.title, sweep.width);
  std::string rule = "|--:|";
  for (const auto& line : sweep.lines) {
    text += fmt::format(" {} | p99 us | CPU us |", line.name);
    rule += "--:|--:|--:|";
  }
  text += "\n" + rule;
  for (const auto& point : points) {
    text += fmt::format("\n| {} |", point.width);
    for (const auto& rounds : point.of_lines) {
      text += fmt::format(" {:.0f} | {:.0f} | {:.2f} |", median_of(rounds, &Measurement::rate),
                          median_of(rounds, [](const Measurement& m) { return m.counts.p99_us; }),
                          median_of(rounds, [](const Measurement& m) { return m.client_cpu_us; }));
    }
  }
  return text;
}

nlohmann::json json_of(const Sweep& sweep, const std::vector<Point>& points) {
  nlohmann::json all = {{"title", sweep.title}, {"width", sweep.width}};
  for (std::size_t i = 0; i < sweep.lines.size(); ++i) {
    nlohmann::json line = {{"name", sweep.lines[i].name}};
    for (const auto& point : points) {
      line["points"].push_back(
          {{"width", point.width}, {"rates", figures(point.of_lines[i], &Measurement::rate)}});
    }
    all["lines"].push_back(std::move(line));
  }
  return all;
}

int sweep_all(const ProgramOptions& options) {
  const auto where = circumstances(options.rounds);
  fmt::print("{}\n\n", where);
  Deployment servers(false);
  const Workload workload(servers, {});
  std::vector<LineChart> charts;
  std::string text = where;
  nlohmann::json results = {{"circumstances", where}};
  for (const auto& sweep : sweeps()) {
    const auto points = run(sweep, servers, workload, options.rounds);
    charts.push_back(chart_of(sweep, points));
    text += markdown_of(sweep, points);
    results["sweeps"].push_back(json_of(sweep, points));
  }
  write_file(options.out / "load.json", results.dump(2) + "\n");
  write_file(options.out / "load.md", text + "\n");
  write_file(options.out / "load.svg",
             line_charts("Load: 3 primaries, 64-byte values, 80 % GET", where, charts));
  fmt::print("\nresults: {}/load.json, .md, .svg\n", options.out.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs slotwise and other clients in turn with ever more calls in flight, and ever more "
      "threads.",
      "bench_load");
  ProgramOptions options;
  options.rounds = {.rounds = 5, .seconds = 0.3};
  add_options(app, options);
  return run_program(app, argc, argv, options, [&] { return sweep_all(options); });
}
