// The parts of the hot path, without servers: slot, encode, parse, table look-ups.
#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <string_view>

#include <slotwise/reply.hpp>
#include <slotwise/slot.hpp>

#include "commands/command_info.hpp"
#include "commands/route.hpp"
#include "resp/encoder.hpp"
#include "resp/parser.hpp"

namespace {

using namespace slotwise;

constexpr std::string_view key = "key:000000001234";  // 16 bytes
const std::string value(64, 'x');

void slot_of_key(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(slot(key));
}
BENCHMARK(slot_of_key);

void encode_get(benchmark::State& state) {
  const std::array<std::string_view, 2> words = {"GET", key};
  std::string out;
  for (auto _ : state) {
    out.clear();
    resp::append_command(out, words);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(encode_get);

void encode_set(benchmark::State& state) {
  const std::array<std::string_view, 3> words = {"SET", key, value};
  std::string out;
  for (auto _ : state) {
    out.clear();
    resp::append_command(out, words);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(encode_set);

void parse_bulk_of_64(benchmark::State& state) {
  const std::string bytes = "$64\r\n" + value + "\r\n";
  resp::Parser parser;
  for (auto _ : state) {
    parser.feed(bytes);
    Reply reply;
    if (parser.next(reply) != resp::Status::reply) state.SkipWithError("no reply");
    benchmark::DoNotOptimize(reply);
  }
}
BENCHMARK(parse_bulk_of_64);

void parse_array_of_100(benchmark::State& state) {
  std::string bytes = "*100\r\n";
  for (int i = 0; i < 100; ++i)
    bytes += "$3\r\nabc\r\n";
  resp::Parser parser;
  for (auto _ : state) {
    parser.feed(bytes);
    Reply reply;
    if (parser.next(reply) != resp::Status::reply) state.SkipWithError("no reply");
    benchmark::DoNotOptimize(reply);
  }
}
BENCHMARK(parse_array_of_100);

void find_command(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(commands::find("zunionstore"));
}
BENCHMARK(find_command);

void route_zunionstore(benchmark::State& state) {
  const std::array<std::string_view, 5> words = {"ZUNIONSTORE", "{a}d", "2", "{a}1", "{a}2"};
  for (auto _ : state)
    benchmark::DoNotOptimize(commands::route(words));
}
BENCHMARK(route_zunionstore);

}  // namespace

BENCHMARK_MAIN();
