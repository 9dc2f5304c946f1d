// The generated table against the descriptions of a running server, and the same descriptions
// through the code that learns unknown commands.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/reply.hpp>

#include "commands/learned.hpp"
#include "kit/server.hpp"

namespace {

namespace kit = slotwise::kit;
using namespace slotwise::commands;
using slotwise::Reply;

Reply converted(const kit::Reply& from) {
  using From = kit::Reply::Type;
  std::vector<Reply> items;
  for (const kit::Reply& item : from.items)
    items.push_back(converted(item));
  switch (from.type) {
    case From::integer:
      return Reply::make_integer(from.integer);
    case From::string:
    case From::status:
      return Reply::make_text(Reply::Type::string, from.text);
    case From::error:
      return Reply::make_text(Reply::Type::error, from.text);
    case From::map:
      return Reply::make_aggregate(Reply::Type::map, std::move(items));
    case From::set:
    case From::array:
      return Reply::make_aggregate(Reply::Type::array, std::move(items));
    default:
      return {};
  }
}

bool same(const KeySpec& a, const KeySpec& b) {
  return a.begin == b.begin && a.start == b.start && a.keyword == b.keyword && a.find == b.find &&
         a.last == b.last && a.step == b.step && a.limit == b.limit && a.flags == b.flags;
}

/// Names as arguments: {"OBJECT", "ENCODING"}.
std::vector<std::string_view> words_of(std::string_view name) {
  const std::size_t mark = name.find_first_of("| ");
  if (mark == std::string_view::npos) return {name};
  return {name.substr(0, mark), name.substr(mark + 1)};
}

}  // namespace

TEST_CASE("commands: the table says what the server says") {
  kit::Server server;
  for (const bool resp3 : {false, true}) {
    kit::ConnectionOptions options = server.connection_options();
    options.resp3 = resp3;
    kit::Connection connection(server.address(), options);
    if (connection.command("INFO", "server").str().find("valkey_version:9.1.") ==
        std::string::npos) {
      SKIP("the table was made from another version");
    }
    LearnedCommands learned;
    std::size_t compared = 0;
    const auto compare = [&](std::string_view name) {
      INFO(name);
      const std::vector<std::string_view> args = words_of(name);
      const CommandInfo* ours = find(args);
      const CommandInfo* theirs = learned.find(args).info;
      REQUIRE(ours != nullptr);  // if not: run tests/tools/gen_commands.py again
      REQUIRE(theirs != nullptr);
      CHECK(ours->name == theirs->name);
      CHECK(ours->arity == theirs->arity);
      CHECK(ours->request_policy == theirs->request_policy);
      CHECK(ours->response_policy == theirs->response_policy);
      // Tips that are no policy are not learned: nothing here acts on them.
      constexpr std::uint32_t tips =
          static_cast<std::uint32_t>(Flag::nondeterministic_output) |
          static_cast<std::uint32_t>(Flag::nondeterministic_output_order);
      CHECK((ours->flags & ~tips) == (theirs->flags & ~tips));
      CHECK(std::equal(ours->key_specs.begin(), ours->key_specs.end(), theirs->key_specs.begin(),
                       theirs->key_specs.end(), same));
      CHECK((ours->key_rule == KeyRule::single) == (theirs->key_rule == KeyRule::single));
      ++compared;
    };
    for (const kit::Reply& command : connection.command("COMMAND").items) {
      const std::string name = command.at(std::size_t{0}).str();
      learned.learn(name, converted(connection.command("COMMAND", "INFO", name)));
      compare(name);
      for (const kit::Reply& sub : command.at(9).items)
        compare(sub.at(std::size_t{0}).str());
    }
    CHECK(compared > 350);
  }
}
