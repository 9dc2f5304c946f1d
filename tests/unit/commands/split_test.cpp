#include "commands/split.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/slot.hpp>

#include "commands/route.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace commands_test;
using slotwise::commands::find;
using slotwise::commands::join;
using slotwise::commands::Part;
using slotwise::commands::route;
using slotwise::commands::split;
using slotwise::commands::Target;

std::vector<Part> parts_of(const Words& args) {
  return split(*find(args), args);
}

std::string shown(const std::vector<Part>& parts) {
  std::string out;
  for (const Part& part : parts) {
    if (!out.empty()) out += " |";
    for (const std::string_view arg : part.args)
      out.append(out.empty() ? "" : " ").append(arg);
  }
  return out;
}

}  // namespace

TEST_CASE("split: MGET in the order of its slots, duplicates stay") {
  const Words args = cut("MGET foo bar k foo missing {bar}x");
  const std::vector<Part> parts = parts_of(args);
  CHECK(shown(parts) == "MGET foo foo | MGET bar {bar}x | MGET k | MGET missing");
  CHECK(parts[0].slot == 12182);
  CHECK(parts[0].keys == std::vector<std::uint32_t>{0, 3});
  CHECK(parts[1].keys == std::vector<std::uint32_t>{1, 5});
  for (const Part& part : parts)
    CHECK(route(part.args).target == Target::one_slot);

  // The answers go back to the places of their keys, whatever order they come in.
  std::vector<Reply> replies;
  replies.push_back(array({text("FOO"), text("FOO")}));
  replies.push_back(array({text("BAR"), Reply()}));
  replies.push_back(array({text("K")}));
  replies.push_back(array({Reply()}));
  CHECK(show(join(*find("MGET"), parts, std::move(replies))) ==
        "[\"FOO\" \"BAR\" \"K\" \"FOO\" nil nil]");
}

TEST_CASE("split: values and tails travel with their keys") {
  CHECK(shown(parts_of(cut("MSET foo 1 bar 2 foo 3"))) == "MSET foo 1 foo 3 | MSET bar 2");
  CHECK(shown(parts_of(cut("DEL foo bar"))) == "DEL foo | DEL bar");
  std::vector<Part> parts = parts_of(cut("MSETEX 3 foo 1 bar 2 foo 3 EX 10"));
  CHECK(shown(parts) == "MSETEX 2 foo 1 foo 3 EX 10 | MSETEX 1 bar 2 EX 10");
  std::vector<Part> moved = std::move(parts);
  CHECK(shown(moved) == "MSETEX 2 foo 1 foo 3 EX 10 | MSETEX 1 bar 2 EX 10");
}

TEST_CASE("split: what cannot be divided") {
  CHECK(parts_of(cut("MGET foo foo")).empty());
  CHECK(parts_of(cut("RENAME foo bar")).empty());
  CHECK(parts_of(cut("MSETEX 2 foo 1 bar 2 NX")).empty());
  CHECK(parts_of(cut("MSET foo 1 bar")).empty());
  CHECK(parts_of(cut("PING")).empty());
}

TEST_CASE("join: counts are added, errors are never hidden") {
  const std::vector<Part> del = parts_of(cut("DEL foo bar k"));
  CHECK(show(join(*find("DEL"), del, {number(1), number(0), number(1)})) == "2");
  CHECK(show(join(*find("DEL"), del, {number(1), error("LOADING"), number(1)})) == "-LOADING");
  const std::vector<Part> mset = parts_of(cut("MSET foo 1 bar 2"));
  CHECK(show(join(*find("MSET"), mset, {status("OK"), status("OK")})) == "+OK");

  const std::vector<Part> mget = parts_of(cut("MGET foo bar"));
  CHECK(show(join(*find("MGET"), mget, {array({text("a")}), error("LOADING")})) == "-LOADING");
  CHECK(join(*find("MGET"), mget, {array({text("a")}), array({})}).is_error());
  CHECK(join(*find("MGET"), mget, {array({text("a")})}).is_error());
}

TEST_CASE("split: 10,000 keys") {
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i)
    keys.push_back("key:" + std::to_string(i % 7'000));
  Words args{"MGET"};
  args.insert(args.end(), keys.begin(), keys.end());
  const std::vector<Part> parts = parts_of(args);
  std::vector<Reply> replies;
  for (const Part& part : parts) {
    std::vector<Reply> values;
    for (std::size_t i = 1; i < part.args.size(); ++i) {
      REQUIRE(slotwise::slot(part.args[i]) == part.slot);
      values.push_back(text(std::string(part.args[i])));
    }
    replies.push_back(array(std::move(values)));
  }
  const Reply joined = join(*find("MGET"), parts, std::move(replies));
  REQUIRE(joined.elements().size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    REQUIRE(joined.elements()[i].text() == keys[i]);
}
