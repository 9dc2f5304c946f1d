// Arguments at random: nothing may be read outside, whatever they are (run under sanitizers too).

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/slot.hpp>

#include "commands/blocking.hpp"
#include "commands/keys.hpp"
#include "commands/learned.hpp"
#include "commands/route.hpp"
#include "commands/split.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace slotwise::commands;
using commands_test::Words;

/// Each word in memory of its own size, so that a read beyond it is seen.
std::vector<std::string> random_command(std::mt19937& random) {
  static constexpr std::string_view spice[] = {"STREAMS",
                                               "store",
                                               "STOREDIST",
                                               "KEYS",
                                               "BLOCK",
                                               "COUNT",
                                               "GROUP",
                                               "BY",
                                               "GET",
                                               "LIMIT",
                                               "AUTH",
                                               "AUTH2",
                                               "NOACK",
                                               "NX",
                                               "XX",
                                               "EX",
                                               "0",
                                               "1",
                                               "2",
                                               "3",
                                               "-1",
                                               "+1",
                                               " 2",
                                               "2x",
                                               "1e9",
                                               "0.5",
                                               "inf",
                                               "nan",
                                               "",
                                               "{",
                                               "{}",
                                               "{a}",
                                               "a",
                                               "b",
                                               "foo",
                                               "help",
                                               "16383",
                                               "16384",
                                               "99999999999999",
                                               "-9223372036854775808",
                                               "9223372036854775807"};
  std::vector<std::string> out;
  const CommandInfo& info = all()[random() % all().size()];
  for (const std::string_view word : commands_test::cut(info.name))
    out.emplace_back(word);
  if (random() % 50 == 0) out.pop_back();
  const std::size_t count = random() % 4 == 0 ? random() % 30 : random() % 7;
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 8 == 0) {
      std::string noise(random() % 12, '\0');
      for (char& c : noise)
        c = static_cast<char>(random() & 0xffU);
      out.push_back(std::move(noise));
    } else {
      out.emplace_back(spice[random() % std::size(spice)]);
    }
  }
  for (std::string& word : out)
    word.shrink_to_fit();
  return out;
}

}  // namespace

TEST_CASE("fuzz: 200,000 commands of random arguments") {
  std::mt19937 random(7);
  std::size_t with_keys = 0;
  std::size_t divided = 0;
  for (int round = 0; round < 200'000; ++round) {
    const std::vector<std::string> owned = random_command(random);
    const Words args(owned.begin(), owned.end());
    const CommandInfo* info = find(args);
    const Routing routing = route(args);
    REQUIRE(routing.info == info);
    refused_because(args);
    if (info == nullptr) continue;

    Keys keys;
    const KeyStatus status = extract_keys(*info, args, keys);
    REQUIRE(status != KeyStatus::unknown);
    REQUIRE((status == KeyStatus::ok) == !keys.empty());
    std::size_t count = 0;
    for (const KeyRef key : keys) {
      REQUIRE(key.index >= 1);
      REQUIRE(key.index < args.size());
      ++count;
    }
    REQUIRE(count == keys.size());
    with_keys += count != 0;
    if (routing.target == Target::one_slot && routing.has_key()) {
      REQUIRE(routing.slot == slotwise::slot(args[routing.key]));
    }
    if (server_block_time(*info, args).kind == BlockTime::Kind::limited) {
      REQUIRE(server_block_time(*info, args).time.count() > 0);
      REQUIRE(blocks(*info, args));
    }

    const std::vector<Part> parts = split(*info, args);
    REQUIRE(parts.empty() == (routing.target != Target::multi_shard));
    std::size_t keys_of_parts = 0;
    for (const Part& part : parts) {
      const Routing of_part = route(part.args);
      REQUIRE(of_part.target == Target::one_slot);
      REQUIRE(of_part.slot == part.slot);
      keys_of_parts += part.keys.size();
    }
    if (!parts.empty()) REQUIRE(keys_of_parts == keys.size());
    divided += !parts.empty();
  }
  // The words hit often enough to mean something.
  CHECK(with_keys > 30'000);
  CHECK(divided > 500);
}
