#include "cli/core/units.hpp"

#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "cli/core/suggest.hpp"

using namespace slotwise::cli;
using namespace std::chrono_literals;

TEST_CASE("durations have units") {
  CHECK(parse_duration("500ms") == 500ms);
  CHECK(parse_duration("5s") == 5s);
  CHECK(parse_duration("5") == 5s);
  CHECK(parse_duration("1.5s") == 1500ms);
  CHECK(parse_duration("2m") == 2min);
  CHECK(parse_duration("1h") == 1h);
  CHECK(parse_duration("0") == 0ms);
  for (const char* bad : {"", "s", "-1s", "5x", "5 s", "nan", "inf", "1e300", "5ms "}) {
    CHECK_FALSE(parse_duration(bad));
  }
}

TEST_CASE("sizes have units") {
  CHECK(parse_size("100") == 100U);
  CHECK(parse_size("64k") == 65536U);
  CHECK(parse_size("1m") == 1048576U);
  CHECK(parse_size("2gb") == 2147483648U);
  for (const char* bad :
       {"", "k", "-1", "1.5k", "1t", "99999999999999999999", "18446744073709551615k"}) {
    CHECK_FALSE(parse_size(bad));
  }
}

TEST_CASE("a ratio is two numbers") {
  CHECK(parse_ratio("1:4") == std::pair(1U, 4U));
  CHECK(parse_ratio("0:1") == std::pair(0U, 1U));
  for (const char* bad : {"", "1", "1:", ":4", "0:0", "1:4:2", "-1:4", "1:99999999"}) {
    CHECK_FALSE(parse_ratio(bad));
  }
}

TEST_CASE("numbers are written for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(UINT64_MAX) == "18,446,744,073,709,551,615");
  CHECK(short_ms(0) == "0.00");
  CHECK(short_ms(0.421) == "0.42");
  CHECK(short_ms(0.999) == "1.0");
  CHECK(short_ms(7.34) == "7.3");
  CHECK(short_ms(9.97) == "10");
  CHECK(short_ms(1204.4) == "1,204");
}

TEST_CASE("a misspelt name finds its neighbour") {
  CHECK(nearest("--sconds", {"--seconds", "--workers"}) == "--seconds");
  CHECK(nearest("--sec", {"--seconds", "--workers"}) == "--seconds");
  CHECK(nearest("prob", {"exec", "probe", "load"}) == "probe");
  CHECK(nearest("--xyz", {"--seconds", "--workers"}).empty());
  CHECK(nearest("", {"exec"}).empty());
}
