#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <string>

#include "server/cli_process.hpp"

using namespace slotwise::test;
using namespace std::chrono_literals;

TEST_CASE("demo: shards double, a primary dies, and no write is lost") {
  CliProcess demo({"demo"});
  const CliResult result = demo.finish(150s);
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  for (const char* part : {"SCALE OUT", "SIGKILL", "has taken over", "Totals", "GOOD"}) {
    CHECK(result.out.find(part) != std::string::npos);
  }
  for (const auto& line : lines_of(result.out))
    CHECK(line.size() <= 100);
}
