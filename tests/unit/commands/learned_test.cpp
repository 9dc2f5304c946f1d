#include "commands/learned.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/blocking.hpp"
#include "commands/keys.hpp"
#include "commands/route.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace slotwise::commands;
using namespace commands_test;

Reply list(std::initializer_list<std::string_view> items) {
  std::vector<Reply> out;
  for (const std::string_view item : items)
    out.push_back(text(std::string(item)));
  return array(std::move(out));
}

/// Field names and values, as RESP2 (array) and RESP3 (map) write them.
Reply fields(bool resp3, std::vector<Reply> pairs) {
  return resp3 ? map(std::move(pairs)) : array(std::move(pairs));
}

Reply spec(bool resp3, std::initializer_list<std::string_view> flags, std::string_view begin,
           std::vector<Reply> begin_spec, std::string_view find, std::vector<Reply> find_spec) {
  return fields(resp3, {text("flags"), list(flags), text("begin_search"),
                        fields(resp3, {text("type"), text(std::string(begin)), text("spec"),
                                       fields(resp3, std::move(begin_spec))}),
                        text("find_keys"),
                        fields(resp3, {text("type"), text(std::string(find)), text("spec"),
                                       fields(resp3, std::move(find_spec))})});
}

Reply entry(std::string_view name, int arity, Reply flags, int first, int last, int step,
            Reply tips, std::vector<Reply> specs, std::vector<Reply> subs = {}) {
  return array({text(std::string(name)), number(arity), std::move(flags), number(first),
                number(last), number(step), list({}), std::move(tips), array(std::move(specs)),
                array(std::move(subs))});
}

Reply reply_of(Reply one) {
  std::vector<Reply> out;
  out.push_back(std::move(one));
  return array(std::move(out));
}

}  // namespace

TEST_CASE("learned: key specifications of an unknown command, RESP2 and RESP3") {
  for (const bool resp3 : {false, true}) {
    LearnedCommands learned;
    const Words args = cut("x.union dest 2 {a}1 {a}2");
    CHECK_FALSE(learned.find(args).asked);
    learned.learn("x.union",
                  reply_of(entry("x.union", -4, list({"write", "module"}), 1, 1, 1,
                                 list({"request_policy:multi_shard", "response_policy:agg_sum"}),
                                 {spec(resp3, {"OW"}, "index", {text("index"), number(1)}, "range",
                                       {text("lastkey"), number(0), text("keystep"), number(1),
                                        text("limit"), number(0)}),
                                  spec(resp3, {"RO"}, "index", {text("index"), number(2)}, "keynum",
                                       {text("keynumidx"), number(0), text("firstkey"), number(1),
                                        text("keystep"), number(1)})})));
    const LearnedCommands::Found found = learned.find(cut("X.Union"));
    REQUIRE(found.asked);
    REQUIRE(found.info != nullptr);
    CHECK(found.info->name == "X.UNION");
    CHECK(found.info->is(Flag::write));
    CHECK(found.info->is(Flag::module));
    CHECK(found.info->request_policy == RequestPolicy::multi_shard);
    CHECK(found.info->response_policy == ResponsePolicy::agg_sum);
    Keys keys;
    CHECK(extract_keys(*found.info, args, keys) == KeyStatus::ok);
    CHECK(keys.size() == 3);
    CHECK(route(*found.info, args).target == Target::cross_slot);
  }
}

TEST_CASE("learned: a keyword, and one key") {
  LearnedCommands learned;
  learned.learn(
      "x.read",
      reply_of(entry("x.read", -3, list({"readonly", "blocking"}), 0, 0, 0, list({}),
                     {spec(true, {"RO"}, "keyword",
                           {text("keyword"), text("FROM"), text("startfrom"), number(-2)}, "range",
                           {text("lastkey"), number(-1), text("keystep"), number(1), text("limit"),
                            number(0)})})));
  const Words args = cut("X.READ a FROM foo");
  const CommandInfo* info = learned.find(args).info;
  REQUIRE(info != nullptr);
  CHECK(route(*info, args).slot == 12182);
  CHECK(info->retry_safe());
  CHECK(blocks(*info, args));
  CHECK(server_block_time(*info, args).kind == BlockTime::Kind::forever);

  learned.learn("x.get",
                reply_of(entry("x.get", 2, list({"readonly"}), 1, 1, 1, list({}),
                               {spec(true, {"RO"}, "index", {text("index"), number(1)}, "range",
                                     {text("lastkey"), number(0), text("keystep"), number(1),
                                      text("limit"), number(0)})})));
  CHECK(learned.find(cut("x.get k")).info->key_rule == KeyRule::single);
  CHECK(route(*learned.find(cut("x.get k")).info, cut("x.get foo")).slot == 12182);
}

TEST_CASE("learned: servers before 7.0 and modules say first key, last key, step") {
  LearnedCommands learned;
  learned.learn("old", reply_of(array({text("old"), number(-2), list({"write"}), number(1),
                                       number(-1), number(2)})));
  Keys keys;
  const Words args = cut("OLD a 1 b 2");
  REQUIRE(extract_keys(*learned.find(args).info, args, keys) == KeyStatus::ok);
  CHECK(keys.size() == 2);
  learned.learn("moves", reply_of(array({text("moves"), number(-2), list({"write", "movablekeys"}),
                                         number(0), number(0), number(0)})));
  CHECK(route(*learned.find(cut("moves a")).info, cut("moves a")).target == Target::unknown);
}

TEST_CASE("learned: subcommands come with their container") {
  LearnedCommands learned;
  Reply sub = entry("ft|info", 3, list({"readonly"}), 0, 0, 0, list({}), {});
  learned.learn("FT", reply_of(entry("ft", -2, list({}), 0, 0, 0, list({}), {}, {std::move(sub)})));
  CHECK(learned.find(cut("ft")).info->is(Flag::container));
  REQUIRE(learned.find(cut("ft info x")).info != nullptr);
  CHECK(learned.find(cut("ft info x")).info->name == "FT INFO");
  CHECK(learned.find(cut("FT nosuch x")).asked);
  CHECK(learned.find(cut("FT nosuch x")).info == nullptr);
}

TEST_CASE("learned: no such command, refusals and nonsense are remembered as such") {
  LearnedCommands learned;
  learned.learn("a", reply_of(Reply()));
  learned.learn("b", error("NOPERM"));
  learned.learn("c", array({}));
  learned.learn("d", reply_of(array({number(1)})));
  learned.learn("e",
                reply_of(array({text("e"), text("x"), number(1), text(""), Reply(), map({})})));
  for (const char* name : {"A", "b", "C", "d"}) {
    INFO(name);
    CHECK(learned.find(cut(name)).asked);
    CHECK(learned.find(cut(name)).info == nullptr);
  }
  CHECK(learned.find(cut("e")).info->arity == -1);
  // A specification that nobody here understands.
  learned.learn("f", reply_of(entry("f", -1, list({}), 1, 1, 1, list({}),
                                    {spec(true, {"RO"}, "magic", {}, "range", {}),
                                     spec(true, {"RO"}, "index", {text("index"), number(99'999)},
                                          "keynum", {text("keynumidx"), text("x")})})));
  CHECK(learned.find(cut("f a")).info->key_rule == KeyRule::ask_the_server);
  CHECK(learned.find(Args()).asked == false);
  const std::string huge(1'000'000, 'x');
  learned.learn(huge, reply_of(Reply()));
  const Words args{huge, huge};
  CHECK(learned.find(args).asked);
  CHECK(learned.find(args).info == nullptr);
}

TEST_CASE("learned: the number of names is limited") {
  LearnedCommands learned;
  for (std::size_t i = 0; i < LearnedCommands::max_names + 100; ++i) {
    learned.learn("garbage" + std::to_string(i), reply_of(Reply()));
  }
  const std::string last = "garbage" + std::to_string(LearnedCommands::max_names + 50);
  CHECK(learned.find(Words{last}).asked);  // or it would be asked again with each call
  CHECK(learned.find(Words{last}).info == nullptr);
  CHECK(learned.find(Words{"garbage0"}).asked);
}
