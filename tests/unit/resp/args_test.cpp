#include <slotwise/args.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "memory_meter.hpp"

namespace slotwise::resp::test {
namespace {

using Words = std::vector<std::string>;

Words words(const Args& args) {
  return {args.words().begin(), args.words().end()};
}

Args made_elsewhere(int number) {
  return Args("SET", "k", number);
}

}  // namespace

TEST_CASE("words of many kinds") {
  const std::string key = "key";
  const char* text = "text";
  const std::string_view view = "view";
  const char array[] = "array";
  Args args("SET", key, text, view);
  args.add(array).add("").add(std::string_view("a\0b", 3));
  CHECK(words(args) == Words{"SET", "key", "text", "view", "array", "", std::string("a\0b", 3)});
  CHECK(args.words()[1].data() == key.data());  // not copied
  CHECK(args.size() == 7);
  CHECK(Args().empty());
}

TEST_CASE("numbers") {
  Args args("X");
  args.add(0)
      .add(-1)
      .add(std::int64_t{INT64_MIN})
      .add(UINT64_MAX)
      .add(std::uint8_t{200})
      .add(short{-5});
  CHECK(words(args) ==
        Words{"X", "0", "-1", "-9223372036854775808", "18446744073709551615", "200", "-5"});
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Args real("X", 0.1, 1e300, -2.0, infinite, -infinite, 0.1F);
  CHECK(words(real) == Words{"X", "0.1", "1e+300", "-2", "inf", "-inf", "0.1"});
}

TEST_CASE("many words and many numbers keep their places") {
  Args args("X");
  Words expected{"X"};
  for (int i = 0; i != 1000; ++i) {
    args.add(i * 1'000'000).add("w");
    expected.push_back(std::to_string(i * 1'000'000));
    expected.emplace_back("w");
  }
  CHECK(words(args) == expected);
}

TEST_CASE("temporaries are kept") {
  const std::string long_text(1000, 'x');
  Args args("X", std::string("short"), std::string(long_text));
  args.add(long_text + "y").add_copy(std::string("composed")).add_copy(std::string(2000, 'z'));
  CHECK(words(args) ==
        Words{"X", "short", long_text, long_text + "y", "composed", std::string(2000, 'z')});
}

TEST_CASE("ranges") {
  const std::vector<std::string> keys{"a", "b"};
  const std::map<std::string, int> pairs{{"k", 1}, {"l", 2}};
  const std::list<double> reals{1.5, 2.5};
  Args args("X");
  args.add_range(keys).add_range(pairs).add_range(reals).add_range({"p", "q"});
  CHECK(words(args) == Words{"X", "a", "b", "k", "1", "l", "2", "1.5", "2.5", "p", "q"});

  Args made("X");
  made.add_range(keys | std::views::transform([](const std::string& k) { return k + "!"; }));
  CHECK(words(made) == Words{"X", "a!", "b!"});
}

TEST_CASE("an Args can be returned") {
  CHECK(words(made_elsewhere(7)) == Words{"SET", "k", "7"});
}

TEST_CASE("an ordinary command needs no heap") {
  const MemoryMeter meter;
  Args args("SET", "key", "value", "PX", 5000, "KEEP", 1.5, INT64_MIN, -0.25);
  args.add_range({"a", "b", "c", "d", "e", "f", "g"});
  CHECK(args.size() == 16);
  CHECK(MemoryMeter::allocations() == 0);
}

static_assert(!std::is_copy_constructible_v<Args> && !std::is_move_constructible_v<Args>);
static_assert(!std::is_constructible_v<Args, Args&>);

}  // namespace slotwise::resp::test
