#include "cli/load/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/core/units.hpp"

namespace slotwise::cli {

namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

double per_second(std::uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

std::string whole(double value) {
  return grouped(static_cast<std::uint64_t>(std::llround(value)));
}

Json json_of(const LoadTotals::Latency& l) {
  return {{"p50", rounded(l.p50_ms)},
          {"p99", rounded(l.p99_ms)},
          {"p99.9", rounded(l.p999_ms)},
          {"max", rounded(l.max_ms)}};
}

std::vector<std::string> cells(const std::string& name, std::uint64_t ops, double seconds,
                               const LoadTotals::Latency& l) {
  return {name,
          whole(per_second(ops, seconds)),
          short_ms(l.p50_ms),
          short_ms(l.p99_ms),
          short_ms(l.p999_ms),
          short_ms(l.max_ms)};
}

}  // namespace

std::vector<Column> load_columns() {
  return {{"second", Align::right, 6}, {"ops", Align::right, 9},    {"errors", Align::right, 7},
          {"p50 ms", Align::right, 8}, {"p99 ms", Align::right, 8}, {"max ms", Align::right, 8}};
}

std::vector<std::string> load_cells(const LoadRow& row) {
  return {fmt::format("{:.0f}", row.at), grouped(row.ops),     grouped(row.errors),
          short_ms(row.p50_ms),          short_ms(row.p99_ms), short_ms(row.max_ms)};
}

std::string load_text(const LoadTotals& t) {
  Table table({{"NODE"},
               {"OPS/S", Align::right},
               {"P50 MS", Align::right},
               {"P99 MS", Align::right},
               {"P99.9 MS", Align::right},
               {"MAX MS", Align::right}});
  table.add(cells("all", t.ops, t.seconds, t.latency));
  for (const auto& node : t.nodes) {
    table.add(cells(node.endpoint, node.ops, t.seconds, node.latency));
  }
  std::string out = fmt::format("\nTotals of {:.1f} s\n{}", t.seconds, table.to_string("  "));
  fmt::format_to(std::back_inserter(out),
                 "\n  {} ops: {} SET, {} GET ({} found something)\n"
                 "  {} errors, {} redirects, {} retries, longest pause {} ms\n",
                 grouped(t.ops), grouped(t.sets), grouped(t.gets), grouped(t.hits),
                 grouped(t.errors), grouped(t.redirects), grouped(t.retries),
                 short_ms(t.max_pause_ms));
  for (const auto& [code, count] : t.errors_by_code) {
    fmt::format_to(std::back_inserter(out), "    {:>9}  {}\n", grouped(count), code);
  }
  return out;
}

std::string load_json(const LoadTotals& t) {
  Json nodes = Json::array();
  for (const auto& node : t.nodes) {
    nodes.push_back({{"node", node.endpoint},
                     {"ops", node.ops},
                     {"ops_per_s", rounded(per_second(node.ops, t.seconds))},
                     {"latency_ms", json_of(node.latency)}});
  }
  const Json out{{"ops", t.ops},
                 {"ops_per_s", rounded(per_second(t.ops, t.seconds))},
                 {"sets", t.sets},
                 {"gets", t.gets},
                 {"hits", t.hits},
                 {"errors", t.errors},
                 {"errors_by_code", t.errors_by_code},
                 {"redirects", t.redirects},
                 {"retries", t.retries},
                 {"seconds", rounded(t.seconds)},
                 {"max_pause_ms", rounded(t.max_pause_ms)},
                 {"latency_ms", json_of(t.latency)},
                 {"nodes", nodes}};
  return out.dump();
}

}  // namespace slotwise::cli
