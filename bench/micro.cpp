// The parts of the hot path, without servers: slot, encode, parse, table look-ups; and those of a
// new map.
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/reply.hpp>
#include <slotwise/slot.hpp>

#include "base/random.hpp"
#include "commands/command_info.hpp"
#include "commands/route.hpp"
#include "kit/scripted_map.hpp"
#include "observe/top_keys.hpp"
#include "resp/encoder.hpp"
#include "resp/parser.hpp"
#include "routing/slot_table.hpp"
#include "topology/slot_map.hpp"
#include "topology/view_parser.hpp"

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

/// What one call in Config::hot_key_sampling costs more: a key that is looked for in a full sketch.
void sketch_of_hot_keys(benchmark::State& state) {
  std::vector<std::string> keys;
  for (int i = 0; i < 100'000; ++i)
    keys.push_back(fmt::format("key:{:012}", i));
  const auto now = observe::RecentKeys::Clock::now();
  observe::RecentKeys sketch(now, 1);
  base::Random random(1);
  for (auto _ : state) {
    // Half of the calls have one of 100 keys, the others any.
    const std::uint32_t from = (random.next() & 1U) != 0 ? 100U : 100'000U;
    sketch.add_call(now);
    sketch.add_key(keys[random.below(from)]);
  }
}
BENCHMARK(sketch_of_hot_keys);

// --- a new map of 1,000 nodes whose slots are in ranges of one, and of which a tenth has moved
// -----

constexpr std::size_t large_primaries = 500;

std::string large_map_bytes(std::size_t round) {
  std::vector<kit::ScriptedMapNode> nodes;
  for (std::size_t i = 0; i < 2 * large_primaries; ++i)
    nodes.push_back(
        {fmt::format("127.1.{}.{}", i / 200, 1 + i % 200), 6379, fmt::format("{:040x}", i + 1)});
  std::vector<kit::ScriptedRange> ranges;
  for (int slot = 0; slot < slot_count; ++slot) {
    const std::size_t shard =
        (static_cast<std::size_t>(slot) + (slot % 10 == 0 ? round : 0)) % large_primaries;
    ranges.push_back({slot, slot, {nodes[shard], nodes[shard + large_primaries]}});
  }
  return kit::ScriptedMap(std::move(ranges)).slots_reply(true);
}

Reply large_map_reply(const std::string& bytes) {
  resp::Parser parser;
  parser.feed(bytes);
  Reply reply;
  if (parser.next(reply) != resp::Status::reply) throw std::logic_error("no reply");
  return reply;
}

const Endpoint asked = {"127.1.0.1", 6379};

void large_map_parse_reply(benchmark::State& state) {
  const std::string bytes = large_map_bytes(0);
  for (auto _ : state)
    benchmark::DoNotOptimize(large_map_reply(bytes));
}
BENCHMARK(large_map_parse_reply)->Unit(benchmark::kMillisecond);

void large_map_parse_view(benchmark::State& state) {
  const Reply reply = large_map_reply(large_map_bytes(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(topology::parse_view(reply, nullptr, asked));
}
BENCHMARK(large_map_parse_view)->Unit(benchmark::kMillisecond);

void large_map_merge(benchmark::State& state) {
  const topology::ClusterView views[] = {
      topology::parse_view(large_map_reply(large_map_bytes(0)), nullptr, asked).view,
      topology::parse_view(large_map_reply(large_map_bytes(1)), nullptr, asked).view};
  topology::SlotMap map;
  std::size_t round = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(map.merge(views[round++ % 2]));
}
BENCHMARK(large_map_merge)->Unit(benchmark::kMillisecond);

/// All of it: what a client does between the last byte of the answer and the new map.
void large_map_in_use(benchmark::State& state) {
  const std::string bytes[] = {large_map_bytes(0), large_map_bytes(1)};
  topology::SlotMap map;
  auto table = std::make_unique<routing::SlotTable>();
  std::size_t round = 0;
  for (auto _ : state) {
    map.merge(topology::parse_view(large_map_reply(bytes[round++ % 2]), nullptr, asked).view);
    for (int slot = 0; slot < slot_count; ++slot) {
      // Any address will do: the table only keeps it.
      const auto owner =
          static_cast<std::size_t>(map.current()->owner_handle(static_cast<std::uint16_t>(slot)));
      table->set(static_cast<std::uint16_t>(slot), reinterpret_cast<routing::Node*>(owner * 64));
    }
  }
}
BENCHMARK(large_map_in_use)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
