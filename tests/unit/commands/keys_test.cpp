#include "commands/keys.hpp"

#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <string>
#include <string_view>

#include "commands/table.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace slotwise::commands;
using commands_test::cut;
using commands_test::Words;

/// Status and keys as one text: "ok 1 4", "none", "invalid".
std::string keys_of(const Words& args, KeyUse use = KeyUse::routing) {
  const CommandInfo* info = find(args);
  if (info == nullptr) return "not in the table";
  Keys keys;
  std::string out;
  switch (extract_keys(*info, args, keys, use)) {
    case KeyStatus::ok:
      out = "ok";
      break;
    case KeyStatus::none:
      return keys.empty() ? "none" : "none, but keys";
    case KeyStatus::invalid:
      return keys.empty() ? "invalid" : "invalid, but keys";
    case KeyStatus::unknown:
      return "unknown";
  }
  for (const KeyRef key : keys)
    out += " " + std::to_string(key.index);
  return out;
}

std::string keys_of(std::string_view text) {
  return keys_of(cut(text));
}

static_assert(std::forward_iterator<Keys::iterator>);

}  // namespace

TEST_CASE("keys: one key") {
  CHECK(keys_of("GET k") == "ok 1");
  CHECK(keys_of("set k v EX 10") == "ok 1");
  CHECK(keys_of("OBJECT ENCODING foo") == "ok 2");
  CHECK(keys_of("memory usage foo SAMPLES 5") == "ok 2");
  CHECK(keys_of("XINFO STREAM s FULL") == "ok 2");
  CHECK(keys_of("XGROUP CREATE s g $") == "ok 2");
  CHECK(keys_of("PFDEBUG ENCODING k") == "ok 2");
  CHECK(keys_of("RESTORE k 0 x") == "ok 1");
  CHECK(keys_of("VADD k VALUES 1 1 e") == "ok 1");
}

TEST_CASE("keys: none") {
  for (const char* text : {"PING", "INFO server", "DBSIZE", "KEYS *", "SCAN 0", "COMMAND",
                           "OBJECT HELP", "SCRIPT LOAD x", "CONFIG GET a", "PUBLISH c m",
                           "FLUSHALL", "EVAL s 0", "EVAL s 0 a b", "EVALSHA x 0", "FCALL f 0 a",
                           "SUNSUBSCRIBE", "ACL DRYRUN u GET k", "COMMAND GETKEYS GET k"}) {
    INFO(text);
    CHECK(keys_of(text) == "none");
  }
}

TEST_CASE("keys: many") {
  CHECK(keys_of("MGET a b c") == "ok 1 2 3");
  CHECK(keys_of("MSET a 1 b 2") == "ok 1 3");
  CHECK(keys_of("MSETNX a 1 b 2") == "ok 1 3");
  CHECK(keys_of("MSETEX 2 a 1 b 2 EX 5") == "ok 2 4");
  CHECK(keys_of("DEL a a") == "ok 1 2");
  CHECK(keys_of("RENAME a b") == "ok 1 2");
  CHECK(keys_of("COPY a b DB 1") == "ok 1 2");
  CHECK(keys_of("LCS a b LEN") == "ok 1 2");
  CHECK(keys_of("BITOP AND d a b") == "ok 2 3 4");
  CHECK(keys_of("PFCOUNT a b") == "ok 1 2");
  CHECK(keys_of("PFMERGE d") == "ok 1");
  CHECK(keys_of("PFMERGE d a b") == "ok 1 2 3");
  CHECK(keys_of("SINTERSTORE d a b") == "ok 1 2 3");
  CHECK(keys_of("SMOVE a b m") == "ok 1 2");
  CHECK(keys_of("BLPOP a b 5") == "ok 1 2");
  CHECK(keys_of("BLMOVE a b LEFT RIGHT 5") == "ok 1 2");
  CHECK(keys_of("GEOSEARCHSTORE d a FROMMEMBER m BYRADIUS 1 m") == "ok 1 2");
  CHECK(keys_of("ZRANGESTORE d a 0 -1") == "ok 1 2");
}

TEST_CASE("keys: a number of keys") {
  CHECK(keys_of("EVAL s 1 foo") == "ok 3");
  CHECK(keys_of("EVAL s 2 a b c") == "ok 3 4");
  CHECK(keys_of("FCALL f 1 a x") == "ok 3");
  CHECK(keys_of("ZUNION 2 a b WITHSCORES") == "ok 2 3");
  CHECK(keys_of("ZUNIONSTORE d 2 a b") == "ok 1 3 4");
  CHECK(keys_of("ZUNIONSTORE d 2 a b WEIGHTS 1 2") == "ok 1 3 4");
  CHECK(keys_of("SINTERCARD 2 a b LIMIT 1") == "ok 2 3");
  CHECK(keys_of("LMPOP 2 a b LEFT") == "ok 2 3");
  CHECK(keys_of("BLMPOP 1 2 a b LEFT") == "ok 3 4");
  CHECK(keys_of("BZMPOP 0 1 a MIN") == "ok 3");
  // Wrong numbers: a server says so itself, and there is no key to go by.
  for (const char* text :
       {"EVAL s 2 a", "EVAL s -1 a", "EVAL s 99999999999999999999 a", "ZUNIONSTORE d 5 a b",
        "ZUNIONSTORE d 0 a", "ZUNIONSTORE d x a", "ZUNION 0 a", "LMPOP 3 a LEFT",
        "BLMPOP 1 0 a LEFT", "MSETEX 2 a 1", "SINTERCARD -1 a"}) {
    INFO(text);
    CHECK(keys_of(text) == "invalid");
  }
  // No integer for the command, but one for the search for keys: see keys.cpp.
  CHECK(keys_of("EVAL s 1x a") == "ok 3");
  CHECK(keys_of(Words{"EVAL", "s", " +1", "a"}) == "ok 3");
}

TEST_CASE("keys: XREAD and XREADGROUP") {
  CHECK(keys_of("XREADGROUP GROUP g c COUNT 1 BLOCK 10 STREAMS mystream >") == "ok 9");
  CHECK(keys_of("XREAD COUNT 2 STREAMS mystream 0") == "ok 4");
  CHECK(keys_of("xread streams a b 0 0") == "ok 2 3");
  // Names that are words of the syntax.
  CHECK(keys_of("XREAD COUNT 2 STREAMS STREAMS 0") == "ok 4");
  CHECK(keys_of("XREAD STREAMS STREAMS COUNT 0 0") == "ok 2 3");
  CHECK(keys_of("XREADGROUP GROUP STREAMS STREAMS STREAMS STREAMS >") == "ok 5");
  CHECK(keys_of("XREADGROUP COUNT 2 GROUP STREAMS c STREAMS s >") == "ok 7");
  CHECK(keys_of("XREADGROUP NOACK GROUP c STREAMS STREAMS s >") == "ok 6");
  CHECK(keys_of("XREADGROUP GROUP g c NOACK STREAMS a b > >") == "ok 6 7");
  CHECK(keys_of("XREADGROUP GROUP g c CLAIM 5 STREAMS a >") == "ok 7");
  for (const char* text : {"XREAD STREAMS a b 0", "XREAD STREAMS a", "XREAD COUNT 2 x",
                           "XREAD COUNT STREAMS STREAMS a", "XREAD BOGUS STREAMS a 0"}) {
    INFO(text);
    CHECK(keys_of(text) == "invalid");
  }
}

TEST_CASE("keys: SORT") {
  CHECK(keys_of("SORT foo BY w_*") == "ok 1");
  CHECK(keys_of("SORT foo BY w_* GET o_* GET # LIMIT 0 5 ASC ALPHA") == "ok 1");
  CHECK(keys_of("SORT foo STORE d") == "ok 1 3");
  CHECK(keys_of("SORT foo BY STORE STORE d") == "ok 1 5");
  CHECK(keys_of("SORT foo GET STORE GET x STORE d") == "ok 1 7");
  CHECK(keys_of("SORT foo STORE d STORE e") == "ok 1 5");
  CHECK(keys_of("SORT foo STORE") == "ok 1");
  CHECK(keys_of("SORT_RO foo BY STORE") == "ok 1");
  CHECK(keys_of("SORT_RO foo STORE d") == "ok 1");
}

TEST_CASE("keys: GEORADIUS and MIGRATE") {
  CHECK(keys_of("GEORADIUS a 1 2 3 m STORE b") == "ok 1 7");
  CHECK(keys_of("GEORADIUS a 1 2 3 m STOREDIST b") == "ok 1 7");
  CHECK(keys_of("GEORADIUS a 1 2 3 m STORE b STOREDIST c") == "ok 1 9");
  CHECK(keys_of("GEORADIUS a 1 2 3 m COUNT 1 ASC") == "ok 1");
  CHECK(keys_of("GEORADIUSBYMEMBER a STORE 3 m STORE STORE") == "ok 1 6");
  CHECK(keys_of("GEORADIUSBYMEMBER a STORE 3 m") == "ok 1");
  CHECK(keys_of("GEORADIUS_RO a 1 2 3 m") == "ok 1");

  CHECK(keys_of("MIGRATE h 1 k 0 5") == "ok 3");
  CHECK(keys_of(cut("MIGRATE h 1  0 5 KEYS a b")) == "ok 7 8");
  CHECK(keys_of(cut("MIGRATE h 1  0 5 COPY REPLACE AUTH KEYS KEYS a b")) == "ok 11 12");
  CHECK(keys_of(cut("MIGRATE h 1  0 5 AUTH2 KEYS KEYS KEYS KEYS")) == "ok 10");
  CHECK(keys_of("MIGRATE h 1 k 0 5 KEYS a") == "invalid");
  CHECK(keys_of(cut("MIGRATE h 1  0 5 KEYS")) == "invalid");
}

TEST_CASE("keys: channels of sharded pub/sub decide the slot but are no keys") {
  CHECK(keys_of("SPUBLISH ch m") == "ok 1");
  CHECK(keys_of("SSUBSCRIBE a b") == "ok 1 2");
  CHECK(keys_of("CLUSTERSCAN 0") == "ok 1");
  CHECK(keys_of(cut("SPUBLISH ch m"), KeyUse::data) == "none");
  CHECK(keys_of(cut("SSUBSCRIBE a b"), KeyUse::data) == "none");
  CHECK(keys_of(cut("GET k"), KeyUse::data) == "ok 1");
}

TEST_CASE("keys: what the command does with them") {
  Keys keys;
  const Words args = cut("ZUNIONSTORE d 2 a b");
  REQUIRE(extract_keys(of("ZUNIONSTORE"), args, keys) == KeyStatus::ok);
  REQUIRE(keys.size() == 3);
  CHECK(keys.ranges().size() == 2);
  auto key = keys.begin();
  CHECK((*key).is(KeyFlag::ow));
  CHECK((*++key).is(KeyFlag::ro));
  CHECK((*++key).is(KeyFlag::ro));
  CHECK(++key == keys.end());
}

TEST_CASE("keys: too few arguments are invalid for every command, and nothing is read outside") {
  for (const CommandInfo& info : all()) {
    INFO(info.name);
    Words args = cut(info.name);
    const auto needed = static_cast<std::size_t>(info.arity < 0 ? -info.arity : info.arity);
    Keys keys;
    while (args.size() < needed) {
      CHECK(extract_keys(info, args, keys) == KeyStatus::invalid);
      args.push_back("1");
    }
    const KeyStatus status = extract_keys(info, args, keys);
    CHECK(status != KeyStatus::unknown);
    CHECK((status == KeyStatus::ok) == !keys.empty());
    for (const KeyRef key : keys)
      CHECK(key.index < args.size());
  }
}
