// What one operation costs, in figures that other work on the machine does not change. The program
// runs the load and counts allocations and system calls; instructions are counted from outside, by
// measure.py, which also starts the servers (with `serve`).
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "counting.hpp"
#include "memory.hpp"
#include "refresh_time.hpp"
#include "serve.hpp"
#include "shapes.hpp"

namespace {

using namespace slotwise;

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int usage(const char* wrong) {
  fmt::print(
      stderr,
      "bench_cost: {}\n"
      "usage: bench_cost [ARGUMENT...]    measure.py: what an operation costs; -h for more\n"
      "       bench_cost growth [ARGUMENT...]  growth.py: how that grows; -h for more\n"
      "What these call:\n"
      "       bench_cost shapes           their names\n"
      "       bench_cost serve            a cluster of 3; prints its URI, ends with stdin\n"
      "       bench_cost serve-scripted N the same with N scripted nodes\n"
      "       bench_cost serve-large-map N S  one node that tells of N and ranges of S slots\n"
      "       bench_cost run URI SHAPE SHORT LONG [IN_FLIGHT [KEYS]]\n"
      "                                   counts a short run and a long one, in operations\n"
      "       bench_cost memory URI NODES PENDING\n"
      "                                   of a client, with scripted nodes only\n"
      "       bench_cost refresh-time URI ROUNDS\n"
      "                                   of a client, for what serve-large-map tells\n",
      wrong);
  return 2;
}

int print_shapes() {
  for (const bench::Shape& shape : bench::shapes()) {
    if (shape.needs_keys) fmt::print("{}\n", shape.name);
  }
  return 0;
}

/// Hands over to a script that lies beside this file; does not return.
int run_script(const char* script, const char* program, std::vector<char*> arguments) {
  std::string path = std::filesystem::path(__FILE__).replace_filename(script);
  std::string self = std::filesystem::absolute(program);
  std::string python = "python3";
  arguments.insert(arguments.begin(), {python.data(), path.data(), self.data()});
  arguments.push_back(nullptr);
  ::execvp("python3", arguments.data());
  throw std::runtime_error("python3 cannot be run");
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value == 0)
    throw Usage(fmt::format("'{}' is not a number above 0", text));
  return value;
}

void print(const char* which, std::uint64_t operations, const bench::Counts& counts) {
  fmt::print("{} operations={} allocations={} bytes={} system_calls={} cpu_ns={}\n", which,
             operations, counts.allocations, counts.allocated_bytes, counts.system_calls,
             counts.cpu_ns);
}

int run(const std::vector<std::string_view>& words) {
  const bench::Shape* shape = bench::find_shape(words[2]);
  if (shape == nullptr) throw Usage(fmt::format("there is no shape '{}'", words[2]));
  const std::uint64_t short_run = number(words[3]);
  const std::uint64_t long_run = number(words[4]);

  Client client = Client::connect(bench::patient_config(words[1]));
  bench::Data data;
  if (shape->needs_keys)
    data = bench::make_data(client, words.size() > 6 ? number(words[6]) : 1024);
  data.in_flight = words.size() > 5 ? number(words[5]) : shape->in_flight;
  shape->run(client, data, short_run);  // connections, pools and buffers get their size
  static_cast<void>(client.refresh());  // so that the questions for the map are behind us

  const bench::Counts start = bench::counts();
  slotwise_bench_mark();
  shape->run(client, data, short_run);
  slotwise_bench_mark();
  const bench::Counts middle = bench::counts();
  shape->run(client, data, long_run);
  slotwise_bench_mark();
  const bench::Counts end = bench::counts();
  print("short", short_run, middle - start);
  print("long", long_run, end - middle);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    const std::string_view command = words.empty() ? "" : words[0];
    if (command == "shapes") return print_shapes();
    if (command == "serve" && words.size() == 1) return bench::serve_cluster();
    if (command == "serve-scripted" && words.size() == 2)
      return bench::serve_scripted(number(words[1]));
    if (command == "serve-large-map" && words.size() == 3)
      return bench::serve_large_map(number(words[1]), number(words[2]));
    if (command == "run" && words.size() >= 5 && words.size() <= 7) return run(words);
    if (command == "memory" && words.size() == 4)
      return bench::print_memory(words[1], number(words[2]), number(words[3]));
    if (command == "refresh-time" && words.size() == 3)
      return bench::print_refresh_time(words[1], number(words[2]));
    if (command == "growth") return run_script("growth.py", argv[0], {argv + 2, argv + argc});
    if (command.empty() || command.starts_with("-") || bench::find_shape(command) != nullptr)
      return run_script("measure.py", argv[0], {argv + 1, argv + argc});
    return usage("wrong arguments");
  } catch (const Usage& wrong) {
    return usage(wrong.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_cost: {}\n", error.what());
    return 1;
  }
}
