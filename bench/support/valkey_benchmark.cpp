// Baseline (5): `valkey-benchmark --cluster`, a program of its own, of the server's makers.
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "support/drive.hpp"
#include "support/sides.hpp"

namespace slotwise::bench {

namespace {

constexpr const char* name = "valkey-benchmark";

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) fail(name, "does not start");
  std::string text;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, n);
  if (pclose(pipe) != 0) fail(name, text);
  return text;
}

/// The last line of its CSV: "name","rps","avg","min","p50","p95","p99","max".
std::vector<double> figures_of(const std::string& text) {
  std::vector<double> figures;
  const auto line = text.rfind("\n\"") + 1;
  for (std::size_t at = text.find("\",\"", line); at != std::string::npos;) {
    at += 3;
    double figure = 0;
    if (std::from_chars(text.data() + at, text.data() + text.size(), figure).ec != std::errc())
      break;
    figures.push_back(figure);
    at = text.find("\",\"", at);
  }
  if (figures.size() != 7 || figures[0] <= 0) fail(name, "not understood: " + text);
  return figures;
}

class ValkeyBenchmark : public Side {
 public:
  ValkeyBenchmark(const Deployment& deployment, const Workload& workload, std::size_t in_flight)
      // Each step of a pipeline is a sequence of five commands.
      : command_(fmt::format(
            "'{}' --cluster -h {} -p {} -c {} -P {} -r 1 -d {} --csv",
            deployment.benchmark_program(), deployment.address(0).host, deployment.address(0).port,
            node_count,
            std::max<std::size_t>(1, (in_flight + node_count * 5 / 2) / (node_count * 5)),
            workload.value().size())) {
    run(0);  // sets its keys
  }

  Counts run(double seconds) override {
    // Its own --duration takes whole seconds only; so it gets as many requests as it did before.
    const double requests = rate_ > 0 ? std::max(1000.0, rate_ * seconds) : 100000;
    const auto figures = figures_of(output_of(fmt::format(
        "{} -n {:.0f} -- 4 get '{{tag}}__rand_int__' ';' set '{{tag}}__rand_int__' __data__ 2>&1",
        command_, requests)));
    rate_ = figures[0];
    Counts counts;
    counts.operations = static_cast<std::uint64_t>(requests);
    counts.seconds = requests / rate_;
    counts.p50_us = figures[3] * 1000;
    counts.p99_us = figures[5] * 1000;
    return counts;
  }
  bool is_child_process() const override { return true; }

 private:
  std::string command_;
  double rate_ = 0;  // of the last run
};

}  // namespace

SidePtr valkey_benchmark(const Deployment& deployment, const Workload& workload,
                         std::size_t in_flight) {
  return std::make_unique<ValkeyBenchmark>(deployment, workload, in_flight);
}

}  // namespace slotwise::bench
