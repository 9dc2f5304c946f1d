#include "commands/route.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/slot.hpp>

#include "commands/learned.hpp"
#include "commands/table.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace slotwise::commands;
using commands_test::cut;
using commands_test::Words;
using slotwise::slot;

std::string where(const Words& args) {
  const Routing r = route(args);
  switch (r.target) {
    case Target::one_slot:
      return "slot " + std::to_string(r.slot);
    case Target::any_primary:
      return r.malformed ? "malformed" : "any";
    case Target::all_shards:
      return "all shards";
    case Target::all_nodes:
      return "all nodes";
    case Target::multi_shard:
      return "multi";
    case Target::special:
      return "special";
    case Target::cross_slot:
      return "cross " + std::string(args[r.key]) + "/" + std::to_string(r.slot) + " " +
             std::string(args[r.other_key]) + "/" + std::to_string(r.other_slot);
    case Target::unknown:
      return r.info != nullptr ? "ask" : "unknown";
  }
  return "?";
}

std::string where(std::string_view text) {
  return where(cut(text));
}
std::string at(std::string_view key) {
  return "slot " + std::to_string(slot(key));
}

}  // namespace

TEST_CASE("route: where the key is") {
  CHECK(where("GET foo") == "slot 12182");
  CHECK(where("XREADGROUP GROUP g c COUNT 1 BLOCK 10 STREAMS mystream >") == "slot 12571");
  CHECK(where("XREAD COUNT 2 STREAMS mystream 0") == "slot 12571");
  CHECK(where("XREAD COUNT 2 STREAMS STREAMS 0") == at("STREAMS"));
  CHECK(where("MEMORY USAGE foo") == "slot 12182");
  CHECK(where("OBJECT ENCODING foo") == "slot 12182");
  CHECK(where("ZUNIONSTORE {a}d 2 {a}1 {a}2") == at("a"));
  CHECK(where("EVAL s 0") == "any");
  CHECK(where("EVAL s 1 foo") == "slot 12182");
  CHECK(where("BLMPOP 1 2 {a}1 {a}2 LEFT") == at("a"));
  CHECK(where("SORT foo BY w_*") == "slot 12182");
  CHECK(where("EVALSHA 0123 1 foo") == "slot 12182");
  CHECK(where("SPUBLISH foo m") == "slot 12182");
  CHECK(where("MGET foo foo") == "slot 12182");
  CHECK(where(Words{"GET", ""}) == "slot 0");
}

TEST_CASE("route: keys of different slots are refused, with their names and slots") {
  CHECK(where("ZUNIONSTORE foo 2 foo bar") == "cross foo/12182 bar/5061");
  CHECK(where("BLMPOP 1 2 foo bar LEFT") == "cross foo/12182 bar/5061");
  CHECK(where("RENAME foo bar") == "cross foo/12182 bar/5061");
  CHECK(where("EVAL s 3 foo foo bar") == "cross foo/12182 bar/5061");
  CHECK(where("SORT foo STORE bar") == "cross foo/12182 bar/5061");
  CHECK(where("MSETNX foo 1 bar 2") == "cross foo/12182 bar/5061");
  CHECK(where("SSUBSCRIBE foo bar") == "cross foo/12182 bar/5061");
  CHECK(where("XREAD STREAMS foo bar 0 0") == "cross foo/12182 bar/5061");
}

TEST_CASE("route: commands that may be divided") {
  CHECK(where("MGET foo bar") == "multi");
  CHECK(where("DEL foo bar k") == "multi");
  CHECK(where("UNLINK foo bar") == "multi");
  CHECK(where("EXISTS foo bar") == "multi");
  CHECK(where("TOUCH foo bar") == "multi");
  CHECK(where("MSET foo 1 bar 2") == "multi");
  CHECK(where("MSETEX 2 foo 1 bar 2 EX 5") == "multi");
  // A condition over all keys cannot be divided, and a key without a value must not be.
  CHECK(where("MSETEX 2 foo 1 bar 2 NX") == "cross foo/12182 bar/5061");
  CHECK(where("MSETEX 2 foo 1 bar 2 EX 5 xx") == "cross foo/12182 bar/5061");
  CHECK(where("MSET foo 1 bar") == "cross foo/12182 bar/5061");
  const Routing r = route(cut("MGET foo foo bar"));
  CHECK(r.slot == 12182);
  CHECK(r.other_slot == 5061);
  CHECK(r.other_key == 3);
}

TEST_CASE("route: without keys, by the server's request policy") {
  CHECK(where("PING") == "all shards");
  CHECK(where("DBSIZE") == "all shards");
  CHECK(where("FLUSHALL") == "all shards");
  CHECK(where("KEYS *") == "all shards");
  CHECK(where("INFO") == "all shards");
  CHECK(where("RANDOMKEY") == "all shards");
  CHECK(where("WAIT 1 5") == "all shards");
  CHECK(where("SCRIPT EXISTS x") == "all shards");
  CHECK(where("SCRIPT LOAD x") == "all nodes");
  CHECK(where("CONFIG SET a b") == "all nodes");
  CHECK(where("SCAN 0") == "special");
  CHECK(where("CLUSTERSCAN 0") == at("0"));
  CHECK(where("ECHO x") == "any");
  CHECK(where("TIME") == "any");
  CHECK(where("PUBLISH foo m") == "any");
  CHECK(where("CLUSTER SLOTS") == "any");
  CHECK(where("COMMAND") == "any");
}

TEST_CASE("route: a slot as argument") {
  CHECK(where("CLUSTER COUNTKEYSINSLOT 77") == "slot 77");
  CHECK(where("cluster getkeysinslot 16383 10") == "slot 16383");
  CHECK(where("CLUSTER FLUSHSLOT 5") == "slot 5");
  CHECK(where("CLUSTER COUNTKEYSINSLOT 16384") == "malformed");
  CHECK(where("CLUSTER COUNTKEYSINSLOT x") == "malformed");
  CHECK(where("CLUSTER COUNTKEYSINSLOT") == "malformed");
  CHECK_FALSE(route(cut("CLUSTER COUNTKEYSINSLOT 77")).has_key());
}

TEST_CASE("route: malformed and unknown") {
  CHECK(where("GET") == "malformed");
  CHECK(where("GET a b") == "malformed");
  CHECK(where("EVAL s 5 a") == "malformed");
  CHECK(where("OBJECT") == "malformed");
  CHECK(where("PING a b") == "all shards");  // its arity has no upper end
  CHECK(where("NOSUCH a") == "unknown");
  CHECK(where("OBJECT NOSUCH a") == "unknown");
  CHECK(where(Words{}) == "unknown");
  CHECK(where(Words{""}) == "unknown");
}

TEST_CASE("route_keys: keys that a server named") {
  const Words args = cut("FT.THING x foo bar foo");
  const auto keys = commands_test::array({commands_test::text("foo"), commands_test::text("foo")});
  const std::vector<std::uint32_t> positions = positions_of_keys(args, keys);
  CHECK(positions == std::vector<std::uint32_t>{2, 4});
  const Routing r = route_keys(nullptr, args, positions);
  CHECK(r.target == Target::one_slot);
  CHECK(r.slot == 12182);
  CHECK(route_keys(nullptr, args, std::vector<std::uint32_t>{2, 3}).target == Target::cross_slot);
  CHECK(route_keys(nullptr, args, {}).target == Target::any_primary);

  // Named from right to left, and one that is not there.
  const auto reversed =
      commands_test::array({commands_test::text("bar"), commands_test::text("x")});
  CHECK(positions_of_keys(args, reversed) == std::vector<std::uint32_t>{3, 1});
  CHECK(positions_of_keys(args, commands_test::array({commands_test::text("z")})).empty());
  CHECK(positions_of_keys(args, commands_test::error("ERR")).empty());
}
