#include "compare/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "support/svg.hpp"

namespace slotwise::bench {

namespace {

double p99(const Measurement& m) {
  return m.counts.p99_us;
}
double p50(const Measurement& m) {
  return m.counts.p50_us;
}
double rate(const Measurement& m) {
  return m.rate();
}
double client_cpu(const Measurement& m) {
  return m.client_cpu_us;
}
double server_cpu(const Measurement& m) {
  return m.server_cpu_us;
}

std::string with_commas(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

/// One side of a shape, as all reports show it.
struct Row {
  std::string shape, side, rate, p50, p99, client_cpu, server_cpu;
  std::string ratio, best, spread, bar, word;  // empty: ours, or no bar
};

Row row_of(const Shape& shape, const std::string& side, const Measurements& rounds) {
  const auto us = [&rounds](double (*figure)(const Measurement&)) {
    const double value = median_of(rounds, figure);
    if (value <= 0) return std::string("-");
    return value < 100 ? fmt::format("{:.2f}", value) : with_commas(value);
  };
  const double per_second = median_of(rounds, rate);
  return {.shape = shape.title,
          .side = side,
          .rate = shape.megabytes > 0 ? with_commas(per_second * shape.megabytes) + " MB"
                                      : with_commas(per_second),
          .p50 = us(p50),
          .p99 = us(p99),
          .client_cpu = us(client_cpu),
          .server_cpu = us(server_cpu)};
}

std::vector<Row> rows_of(const ShapeResult& result) {
  std::vector<Row> rows = {row_of(*result.shape, "slotwise", result.ours)};
  for (std::size_t i = 0; i < result.theirs.size(); ++i) {
    const Verdict& verdict = result.verdicts[i];
    Row row = row_of(*result.shape, verdict.rival, result.theirs[i]);
    row.ratio = fmt::format("{:.2f}", verdict.ratio.of_medians);
    row.best = fmt::format("{:.2f}", verdict.ratio.of_best);
    row.spread = fmt::format("{:.2f}..{:.2f}", verdict.ratio.low, verdict.ratio.high);
    if (verdict.bar > 0) row.bar = fmt::format("{:.2f}", verdict.bar);
    if (verdict.is_short()) row.word = "SHORT";
    rows.push_back(row);
  }
  return rows;
}

std::string text_line(const Row& row) {
  std::string line =
      fmt::format("{:35} {:30} {:>10} {:>8} {:>8} {:>10} {:>10}  {:>6} {:>6} {:>12} {:>5} {}\n",
                  row.shape, row.side, row.rate, row.p50, row.p99, row.client_cpu, row.server_cpu,
                  row.ratio, row.best, row.spread, row.bar, row.word);
  line.erase(line.find_last_not_of(" \n") + 1);
  return line + '\n';
}

nlohmann::json json_of(const Measurements& rounds) {
  auto all = nlohmann::json::array();
  for (const auto& m : rounds) {
    all.push_back({{"operations", m.counts.operations},
                   {"seconds", m.counts.seconds},
                   {"rate", m.rate()},
                   {"p50_us", m.counts.p50_us},
                   {"p99_us", m.counts.p99_us},
                   {"client_cpu_us", m.client_cpu_us},
                   {"server_cpu_us", m.server_cpu_us}});
  }
  return all;
}

}  // namespace

void judge(ShapeResult& result) {
  const bool latency = result.shape->half_rate;
  const Figure figure = latency ? p99 : rate;
  const auto ours = figures(result.ours, figure);
  for (std::size_t i = 0; i < result.theirs.size(); ++i) {
    const auto theirs = figures(result.theirs[i], figure);
    const Rival& rival = result.shape->rivals[i];
    result.verdicts.push_back(
        {.rival = rival.name,
         .bar = rival.bar,
         .ratio = latency ? compare_inverse(ours, theirs) : compare(ours, theirs)});
  }
}

bool any_short(const std::vector<ShapeResult>& results) {
  return std::any_of(results.begin(), results.end(), [](const ShapeResult& result) {
    return std::any_of(result.verdicts.begin(), result.verdicts.end(),
                       [](const Verdict& verdict) { return verdict.is_short(); });
  });
}

std::string text_head() {
  return text_line({.shape = "shape",
                    .side = "client",
                    .rate = "per second",
                    .p50 = "p50 us",
                    .p99 = "p99 us",
                    .client_cpu = "client CPU",
                    .server_cpu = "server CPU",
                    .ratio = "ratio",
                    .best = "best",
                    .spread = "spread",
                    .bar = "bar"});
}

std::string text_rows(const ShapeResult& result) {
  std::string text;
  for (auto row : rows_of(result)) {
    if (!text.empty()) row.shape.clear();
    text += text_line(row);
  }
  return text;
}

std::string markdown(const std::vector<ShapeResult>& results, const std::string& circumstances) {
  std::string text = circumstances;
  text +=
      "\n\n| Shape | Client | per second | p50 us | p99 us | client CPU us | server CPU us | ratio "
      "| best | spread | bar | |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";
  for (const auto& result : results) {
    for (const auto& row : rows_of(result)) {
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                          row.shape, row.side, row.rate, row.p50, row.p99, row.client_cpu,
                          row.server_cpu, row.ratio, row.best, row.spread, row.bar, row.word);
    }
  }
  return text;
}

nlohmann::json json(const std::vector<ShapeResult>& results, const RoundOptions& options,
                    const std::string& circumstances) {
  nlohmann::json all = {{"circumstances", circumstances},
                        {"rounds", options.rounds},
                        {"seconds", options.seconds},
                        {"shapes", nlohmann::json::array()}};
  for (const auto& result : results) {
    nlohmann::json shape = {{"name", result.shape->name},
                            {"title", result.shape->title},
                            {"ours", json_of(result.ours)},
                            {"rivals", nlohmann::json::array()}};
    if (result.offered_rate > 0) shape["offered_rate"] = result.offered_rate;
    for (std::size_t i = 0; i < result.theirs.size(); ++i) {
      const Verdict& verdict = result.verdicts[i];
      nlohmann::json rival = {{"name", verdict.rival},
                              {"rounds", json_of(result.theirs[i])},
                              {"ratio", verdict.ratio.of_medians},
                              {"of_best", verdict.ratio.of_best},
                              {"low", verdict.ratio.low},
                              {"high", verdict.ratio.high}};
      if (verdict.bar > 0) {
        rival["bar"] = verdict.bar;
        rival["short"] = verdict.is_short();
      }
      shape["rivals"].push_back(std::move(rival));
    }
    all["shapes"].push_back(std::move(shape));
  }
  return all;
}

std::string plot(const std::vector<ShapeResult>& results, const std::string& circumstances) {
  std::vector<RatioMark> marks;
  for (const auto& result : results) {
    for (const auto& verdict : result.verdicts) {
      marks.push_back({.label = result.shape->title + " / " + verdict.rival,
                       .ratio = verdict.ratio,
                       .bar = verdict.bar});
    }
  }
  return ratio_chart("slotwise / rival: above 1 is better for slotwise", circumstances, marks);
}

}  // namespace slotwise::bench
