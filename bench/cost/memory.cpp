#include "memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <slotwise/slotwise.hpp>

#include "counting.hpp"

namespace slotwise::bench {

namespace {

struct Memory {
  std::size_t heap = 0;      ///< in use, with the allocator's own overhead
  std::size_t resident = 0;  ///< of the process
};

Memory memory_now() {
  const struct ::mallinfo2 info = ::mallinfo2();
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return {info.uordblks + info.hblkhd,
          resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))};
}

void print(const char* what, const Memory& before, const Memory& after) {
  fmt::print("{} heap={} resident={}\n", what, after.heap - before.heap,
             after.resident - before.resident);
}

std::size_t connected_nodes(const Client& client) {
  std::size_t count = 0;
  for (const Stats::Node& node : client.stats().nodes)
    count += node.connections > 0 ? 1 : 0;
  return count;
}

/// Until the bytes of all calls have left: buffers for output are not what a waiting call keeps.
/// Nobody tells, but then the process stops using the processor.
void wait_until_idle() {
  constexpr auto pause = std::chrono::milliseconds(100);
  for (std::uint64_t before = 0, now = counts().cpu_ns; now - before > 1'000'000;) {
    std::this_thread::sleep_for(pause);
    before = std::exchange(now, counts().cpu_ns);
  }
}

}  // namespace

Config patient_config(std::string_view uri) {
  Config config = Config::parse(uri);
  config.timeout = std::chrono::minutes(5);
  config.attempt_timeout = config.connect_timeout = std::chrono::minutes(1);
  config.refresh_interval = config.health_check_interval = std::chrono::milliseconds(0);
  config.max_pending = 2'000'000;
  return config;
}

int print_memory(std::string_view uri, std::size_t nodes, std::size_t pending) {
  const Config config = patient_config(uri);
  const Memory before = memory_now();
  Client client = Client::connect(config);
  // Asynchronous calls go over the main connections, of which there is one a node.
  const Async async = client.async();
  for (int i = 0; connected_nodes(client) < nodes; ++i)
    async.get(fmt::format("key:{:012}", i)).get();
  const Memory idle = memory_now();
  print("client", before, idle);

  for (std::size_t i = 0; i < pending; ++i)
    async.get(fmt::format("silent:{:09}", i)).detach();
  wait_until_idle();
  print("pending", idle, memory_now());
  return 0;
}

}  // namespace slotwise::bench
