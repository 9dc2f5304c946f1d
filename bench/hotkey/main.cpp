// The experiment that hot key splitting answers: three primaries with little processor time each,
// most reads on one key. First as it is, then with one copy on each primary, in turn; then two.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <slotwise/hotkey.hpp>
#include <slotwise/slotwise.hpp>
#include <string>
#include <vector>

#include "hotkey/cpu_limit.hpp"
#include "hotkey/traffic.hpp"
#include "support/program.hpp"
#include "support/statistics.hpp"

namespace {

using namespace slotwise::bench;
namespace hotkey = slotwise::hotkey;
namespace kit = slotwise::kit;

constexpr double processors_each = 0.25;
constexpr std::size_t cold_keys = 3000;
const std::string hot_key = "hot:product:1";

// What the experiment must show.
constexpr double least_on_one_node_before = 0.85;
constexpr double even_share = 1.0 / 3;
constexpr double even_within = 0.02;
constexpr double least_gain = 2.5;

/// What somebody's reads did in all rounds.
struct Rows {
  std::vector<Traffic> rounds;

  double rate() const {
    std::vector<double> rates;
    for (const Traffic& round : rounds)
      rates.push_back(round.per_second);
    return median(rates);
  }
  double share(std::size_t node) const {
    return of_node([node](const Traffic& t) { return t.calls[node]; });
  }
  double processors(std::size_t node) const {
    return of_node([node](const Traffic& t) { return t.processors[node]; });
  }
  nlohmann::json json() const {
    nlohmann::json all;
    for (const Traffic& t : rounds) {
      all.push_back(
          {{"per_second", t.per_second}, {"calls", t.calls}, {"processors", t.processors}});
    }
    return all;
  }

 private:
  template <class Figure>
  double of_node(Figure figure) const {
    std::vector<double> all;
    for (const Traffic& round : rounds)
      all.push_back(figure(round));
    return median(all);
  }
};

class Experiment {
 public:
  Experiment(const ProgramOptions& options, TrafficOptions traffic)
      : options_(options),
        traffic_(traffic),
        cluster_({.primaries = 3}),
        client_(slotwise::Client::connect(cluster_.uri())),
        splitter_(client_),
        value_(traffic.value_size, 'v') {
    traffic_.seconds = options.rounds.seconds;
    client_.set(hot_key, value_);
    auto pipeline = client_.pipeline();
    for (std::size_t i = 0; i < cold_keys; ++i) {
      cold_names_.push_back(fmt::format("cold:product:{}", i));
      (void)pipeline.set(cold_names_.back(), value_);
    }
    (void)pipeline.exec();
  }

  std::vector<int> processes() const {
    std::vector<int> all;
    for (const std::size_t node : cluster_.primaries())
      all.push_back(cluster_.server(node).process().pid);
    return all;
  }

  int run(const std::string& limited);

 private:
  void check(std::string_view what, bool holds, const std::string& figure) {
    fmt::print("{:<58} {:<28} {}\n", what, figure, holds ? "" : "SHORT");
    text_ += fmt::format("| {} | {} | {} |\n", what, figure, holds ? "" : "SHORT");
    checks_.push_back({{"what", what}, {"figure", figure}, {"holds", holds}});
    holds_ = holds_ && holds;
  }
  auto plain_read(const std::string& key) {
    return [async = client_.async(), &key, this](auto done) {
      async.get(key).then([done, this](slotwise::Result<std::optional<std::string>> got) {
        done(got.has_value() && *got == value_);
      });
    };
  }
  auto cold_read() {
    return [this](std::size_t i, auto done) { plain_read(cold_names_[i])(done); };
  }
  Traffic plain() {
    return run_traffic(cluster_, traffic_, cold_keys, plain_read(hot_key), cold_read());
  }
  Traffic split(const hotkey::SplitKey& key) {
    const auto hot = [&key, this](auto done) {
      key.get([done, this](slotwise::Result<hotkey::VersionedValue> got) {
        done(got.has_value() && got->value == value_);
      });
    };
    return run_traffic(cluster_, traffic_, cold_keys, hot, cold_read());
  }
  void print(std::string_view name, const Rows& rows);
  std::string copies_per_node();

  ProgramOptions options_;
  TrafficOptions traffic_;
  kit::Cluster cluster_;
  slotwise::Client client_;
  hotkey::Splitter splitter_;
  const std::string value_;
  std::vector<std::string> cold_names_;
  std::string text_;
  nlohmann::json checks_;
  bool holds_ = true;
};

void Experiment::print(std::string_view name, const Rows& rows) {
  std::string line = fmt::format("| {} | {:.0f} |", name, rows.rate());
  for (std::size_t node = 0; node < 3; ++node)
    line +=
        fmt::format(" {:.1f} % | {:.0f} % |", 100 * rows.share(node), 100 * rows.processors(node));
  fmt::print("{}\n", line);
  text_ += line + "\n";
}

std::string Experiment::copies_per_node() {
  std::map<std::string, int> copies;
  for (const auto& copy : splitter_.status(hot_key).copies)
    ++copies[copy.node];
  std::string text;
  for (const auto& [node, count] : copies)
    text += (text.empty() ? "" : "/") + std::to_string(count);
  return text;
}

int Experiment::run(const std::string& limited) {
  const auto where = circumstances(options_.rounds);
  text_ = fmt::format(
      "{}; {}, {} reads in flight, {:.0f} % of them on one key, values of {} bytes.\n\n", where,
      limited, traffic_.in_flight, 100 * traffic_.hot_share, traffic_.value_size);
  fmt::print("{}\n", text_);
  const hotkey::SplitKey key = splitter_.split(hot_key, {.copies_per_primary = 1});
  (void)plain();  // warm
  (void)split(key);
  Rows before;
  Rows after;
  for (int round = 0; round < options_.rounds.rounds; ++round) {
    before.rounds.push_back(plain());
    after.rounds.push_back(split(key));
  }
  std::string head = "| Reads | per second |";
  std::string rule = "|---|--:|";
  for (int node = 1; node <= 3; ++node) {
    head += fmt::format(" node {} calls | CPU |", node);
    rule += "--:|--:|";
  }
  fmt::print("{}\n", head);
  text_ += head + "\n" + rule + "\n";
  print("the key as it is", before);
  print("one copy on each primary", after);
  const std::string one_each = copies_per_node();
  splitter_.split(hot_key, {.copies_per_primary = 2});
  Rows two;
  two.rounds.push_back(split(key));
  print("two copies on each primary", two);
  const std::string two_each = copies_per_node();

  fmt::print("\n");
  text_ += "\n| Must hold | measured | |\n|---|---|---|\n";
  const auto all_nodes = [](const Rows& rows) {
    return std::vector<double>{rows.share(0), rows.share(1), rows.share(2)};
  };
  const auto shares = all_nodes(before);
  const double most = *std::max_element(shares.begin(), shares.end());
  check("before: one node has more than 85 % of the calls", most > least_on_one_node_before,
        fmt::format("{:.1f} %", 100 * most));
  const auto even = all_nodes(after);
  check("after: each node has 33.3 % +- 2 points",
        std::all_of(even.begin(), even.end(),
                    [](double s) { return std::abs(s - even_share) <= even_within; }),
        fmt::format("{:.1f} / {:.1f} / {:.1f} %", 100 * even[0], 100 * even[1], 100 * even[2]));
  const double gain = after.rate() / before.rate();
  check("reads: at least 2.5 times as many", gain >= least_gain, fmt::format("{:.2f}", gain));
  check("copies on each node", one_each == "1/1/1", one_each);
  check("copies on each node with two on each primary", two_each == "2/2/2", two_each);

  const nlohmann::json results = {{"circumstances", where},  {"limit", limited},
                                  {"before", before.json()}, {"after", after.json()},
                                  {"two", two.json()},       {"checks", checks_}};
  write_file(options_.out / "hotkey.json", results.dump(2) + "\n");
  write_file(options_.out / "hotkey.md", text_);
  fmt::print("\nresults: {}/hotkey.json, .md\n", options_.out.string());
  return holds_ ? 0 : 1;
}

int run_experiment(const ProgramOptions& options, const TrafficOptions& traffic) {
  std::string limited = fmt::format("each server limited to {} of a processor", processors_each);
  std::unique_ptr<CpuLimit> limit;  // outlives the servers
  Experiment experiment(options, traffic);
  std::string why;
  limit = CpuLimit::make(experiment.processes(), processors_each, why);
  if (limit == nullptr) {
    limited = "servers not limited (" + why + "), so the gain says little";
  }
  return experiment.run(limited);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads one hot key as it is, and split into copies, in turn on the same servers.",
               "bench_hotkey");
  ProgramOptions options;
  options.rounds = {.rounds = 5, .seconds = 2};
  TrafficOptions traffic;
  add_options(app, options);
  app.add_option("--in-flight", traffic.in_flight, "Reads under way at a time")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--value-size", traffic.value_size, "Bytes of each value")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--hot-share", traffic.hot_share, "Share of the reads that go to the hot key")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  return run_program(app, argc, argv, options, [&] { return run_experiment(options, traffic); });
}
