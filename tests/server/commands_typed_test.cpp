// The typed commands against real servers, in RESP2 and in RESP3: what each gives, and that both
// protocols give the same.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <slotwise/slotwise.hpp>

#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "kit/wait.hpp"

namespace {

namespace kit = slotwise::kit;
using namespace std::chrono_literals;
using slotwise::Client;
using slotwise::Error;
using slotwise::ErrorCode;
using slotwise::Outcome;
using std::nullopt;
using Clock = std::chrono::system_clock;
using texts = std::vector<std::string>;
using scored = std::vector<std::pair<std::string, double>>;
using StringSet = std::unordered_set<std::string>;
constexpr double inf = std::numeric_limits<double>::infinity();

/// The error of a call that must fail.
template <class F>
Error failure(F call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  throw 0;
}

void strings(const Client& c) {
  CHECK(c.get("s") == nullopt);
  CHECK(c.set("s", "v"));
  CHECK(c.get("s") == "v");
  CHECK_FALSE(c.set("s", "w", {.condition = slotwise::SetIf::absent}));
  CHECK(c.set("s", "w", {.ttl = 1h, .condition = slotwise::SetIf::present}));
  CHECK(c.set("s", "x", {.keep_ttl = true}));
  CHECK(c.ttl("s").value() > 59min);
  CHECK(c.set("s", "x"));
  CHECK(c.ttl("s") == slotwise::no_expiry);
  CHECK(c.set("s", "y", 1h));
  CHECK(c.set_get("s", "z") == "y");
  CHECK(c.set_get("none", "z") == nullopt);
  CHECK(c.set_get("s", "a", {.condition = slotwise::SetIf::absent}) == "z");
  CHECK(c.get("s") == "z");
  CHECK_FALSE(c.setnx("s", "n"));
  CHECK(c.getex("s", 1h) == "z");
  CHECK(c.ttl("s").value() <= 1h);
  CHECK(c.getex_persist("s") == "z");
  CHECK(c.ttl("s") == slotwise::no_expiry);
  CHECK(c.getex_at("s", Clock::now() + 1h) == "z");
  CHECK(c.getdel("s") == "z");
  CHECK(c.getdel("s") == nullopt);
  CHECK(c.set("s", "v", {.expire_at = Clock::now() + 1h}));

  try {
    const bool other = c.set("s", "w", {.if_equal = "u"});
    const bool same = c.set("s", "w", {.if_equal = "v"});
    CHECK_FALSE(other);
    CHECK(same);
  } catch (const Error& error) {  // a server before Valkey 8.1
    CHECK(error.server_text() == "ERR syntax error");
  }

  const std::string bytes("\0\r\n\xff", 4);
  CHECK(c.set("bytes", bytes));
  CHECK(c.get("bytes") == bytes);
  CHECK(c.append("bytes", "!") == 5);
  CHECK(c.strlen("bytes") == 5);
  CHECK(c.getrange("bytes", -2, -1) == "\xff!");
  CHECK(c.setrange("bytes", 7, "x") == 8);

  CHECK(c.incr("n") == 1);
  CHECK(c.incrby("n", 9) == 10);
  CHECK(c.decr("n") == 9);
  CHECK(c.decrby("n", 10) == -1);
  CHECK(c.incrbyfloat("n", 0.5) == -0.5);
  CHECK(c.command<double>("GET", "n") == -0.5);
  const Error not_a_number = failure([&] { c.incr("n"); });
  CHECK(not_a_number.code() == ErrorCode::server);
  CHECK(not_a_number.outcome() == Outcome::rejected);
  CHECK(failure([&] {
          c.get("list");
          c.rpush("list", "a");
          c.get("list");
        })
            .server_text()
            .starts_with("WRONGTYPE"));
}

void many_slots(const Client& c) {
  std::map<std::string, std::string> values;
  texts keys;
  for (int i = 0; i < 200; ++i) {
    keys.push_back("key:" + std::to_string(i));
    values[keys.back()] = "value " + std::to_string(i);
  }
  c.mset(values);
  const auto read = c.mget(keys);
  REQUIRE(read.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    CHECK(read[i] == values[keys[i]]);
  CHECK(c.mget({"key:7", "nobody", "key:7"}) ==
        std::vector<std::optional<std::string>>{"value 7", nullopt, "value 7"});
  CHECK(c.exists(keys) == 200);
  CHECK(c.exists({"key:1", "nobody", "key:1"}) == 2);
  CHECK(c.touch({"key:1", "key:2", "nobody"}) == 2);
  CHECK(c.del({"key:1", "key:2", "nobody"}) == 2);
  CHECK(c.unlink(keys) == 198);
  CHECK(c.del("key:1") == 0);
  CHECK(c.msetnx({{"{m}a", "1"}, {"{m}b", "2"}}));
  CHECK_FALSE(c.msetnx({{"{m}b", "1"}, {"{m}c", "2"}}));
  CHECK(c.exists("{m}c") == 0);
}

void keys(const Client& c) {
  CHECK(c.ttl("nobody") == nullopt);
  CHECK(c.expire_time("nobody") == nullopt);
  CHECK_FALSE(c.expire("nobody", 1s));
  c.set("{t}k", "v");
  CHECK(c.expire_time("{t}k") == slotwise::never_expires);
  CHECK_FALSE(c.persist("{t}k"));
  CHECK(c.expire("{t}k", 100s));
  CHECK(c.ttl("{t}k").value() > 60s);
  CHECK(c.ttl("{t}k").value() <= 100s);
  CHECK_FALSE(c.expire("{t}k", 1h, slotwise::ExpireIf::without_expiry));
  CHECK(c.expire("{t}k", 1h, slotwise::ExpireIf::later));
  const auto when = std::chrono::floor<std::chrono::milliseconds>(Clock::now() + 2h);
  CHECK(c.expire_at("{t}k", when));
  CHECK(c.expire_time("{t}k") == Clock::time_point(when));
  CHECK(c.persist("{t}k"));
  CHECK(c.expire("{t}k", std::chrono::nanoseconds(1)));  // one millisecond, not now
  kit::wait_until([&] { return c.type("{t}k") == "none"; }, 5s, "the key to be gone");

  c.set("{t}k", "v");
  CHECK(c.type("{t}k") == "string");
  c.rename("{t}k", "{t}l");
  CHECK(failure([&] { c.rename("{t}k", "{t}l"); }).outcome() == Outcome::rejected);
  CHECK(c.renamenx("{t}l", "{t}k"));
  CHECK(c.copy("{t}k", "{t}l"));
  CHECK_FALSE(c.copy("{t}k", "{t}l"));
  CHECK(c.copy("{t}k", "{t}l", true));
  const auto bytes = c.dump("{t}k");
  REQUIRE(bytes);
  CHECK(c.dump("nobody") == nullopt);
  c.restore("{t}r", *bytes);
  CHECK(c.get("{t}r") == "v");
  CHECK(failure([&] { c.restore("{t}r", *bytes); }).server_text().starts_with("BUSYKEY"));
  c.restore("{t}r", *bytes, 1h, true);
  CHECK(c.ttl("{t}r").value() > 59min);
  CHECK(c.object_encoding("{t}k") == "embstr");
  CHECK(c.object_idletime("{t}k").value() < 60s);
  CHECK(c.memory_usage("{t}k").value() > 10);
  CHECK(c.memory_usage("nobody") == nullopt);
  CHECK(c.randomkey().has_value());
}

void hashes(const Client& c) {
  CHECK(c.hset("h", "f", "v") == 1);
  CHECK(c.hset("h", {{"f", "w"}, {"g", "x"}}) == 1);
  CHECK_FALSE(c.hsetnx("h", "f", "n"));
  CHECK(c.hget("h", "f") == "w");
  CHECK(c.hget("h", "none") == nullopt);
  CHECK(c.hmget("h", {"g", "none"}) == std::vector<std::optional<std::string>>{"x", nullopt});
  CHECK(c.hgetall("h") == std::unordered_map<std::string, std::string>{{"f", "w"}, {"g", "x"}});
  CHECK(c.hgetall<std::vector<std::pair<std::string, std::string>>>("h").front().first == "f");
  CHECK(c.hgetall("nobody").empty());
  CHECK(c.hexists("h", "f"));
  CHECK(c.hincrby("h", "n", 5) == 5);
  CHECK(c.hincrbyfloat("h", "n", -0.25) == 4.75);
  CHECK(c.hkeys("h") == texts{"f", "g", "n"});
  CHECK(c.hvals("h") == texts{"w", "x", "4.75"});
  CHECK(c.hlen("h") == 3);
  CHECK(c.hstrlen("h", "n") == 4);
  CHECK(c.hdel("h", {"g", "n", "none"}) == 2);
  CHECK(c.hrandfield("h") == "f");
  CHECK(c.hrandfield("nobody") == nullopt);
  CHECK(c.hrandfield("h", -3) == texts{"f", "f", "f"});
  CHECK(c.hrandfield_with_values("h", 5) ==
        std::vector<std::pair<std::string, std::string>>{{"f", "w"}});
  CHECK(c.hrandfield_with_values("nobody", 5).empty());
}

void lists(const Client& c) {
  using slotwise::Side;
  CHECK(c.rpush("{l}a", {"1", "2", "3"}) == 3);
  CHECK(c.lpush("{l}a", {"0", "-1"}) == 5);
  CHECK(c.lpushx("nobody", "x") == 0);
  CHECK(c.rpushx("{l}a", "4") == 6);
  CHECK(c.lrange("{l}a", 0, -1) == texts{"-1", "0", "1", "2", "3", "4"});
  CHECK(c.lpop("{l}a") == "-1");
  CHECK(c.rpop("{l}a", 2) == texts{"4", "3"});
  CHECK(c.lpop("nobody") == nullopt);
  CHECK(c.lpop("nobody", 2).empty());
  CHECK(c.lindex("{l}a", -1) == "2");
  CHECK(c.lindex("{l}a", 9) == nullopt);
  c.lset("{l}a", 0, "zero");
  CHECK(c.lpos("{l}a", "2") == 2);
  CHECK(c.lpos("{l}a", "9") == nullopt);
  CHECK(c.linsert("{l}a", slotwise::Insert::before, "1", "half") == 4);
  CHECK(c.linsert("{l}a", slotwise::Insert::after, "9", "x") == -1);
  CHECK(c.lrem("{l}a", 0, "half") == 1);
  c.ltrim("{l}a", 0, 1);
  CHECK(c.llen("{l}a") == 2);
  CHECK(c.lmove("{l}a", "{l}b", Side::left, Side::right) == "zero");
  CHECK(c.lmove("nobody", "nobody", Side::left, Side::right) == nullopt);

  using KeyAndValue = std::pair<std::string, std::string>;
  CHECK(c.blpop({"{l}none", "{l}b"}, 1s) == KeyAndValue("{l}b", "zero"));
  CHECK(c.brpop("{l}a", 1s) == KeyAndValue("{l}a", "1"));
  const auto start = std::chrono::steady_clock::now();
  CHECK(c.blpop("{l}none", 50ms) == nullopt);
  CHECK(std::chrono::steady_clock::now() - start >= 50ms);
  CHECK(c.blmove("{l}none", "{l}b", Side::left, Side::right, 1ms) == nullopt);

  auto waiting = c.async().blpop("{l}none", 5s);
  c.rpush("{l}none", "came");
  CHECK(waiting.get() == KeyAndValue("{l}none", "came"));
}

void sets(const Client& c) {
  CHECK(c.sadd("{s}a", {"1", "2", "3"}) == 3);
  CHECK(c.sadd("{s}b", texts{"2", "3", "4"}) == 3);
  CHECK(c.smembers("{s}a") == StringSet{"1", "2", "3"});
  CHECK(c.smembers<texts>("nobody").empty());
  CHECK(c.sismember("{s}a", "1"));
  CHECK(c.smismember("{s}a", {"1", "9"}) == std::vector<bool>{true, false});
  CHECK(c.scard("{s}a") == 3);
  CHECK(c.sinter({"{s}a", "{s}b"}) == StringSet{"2", "3"});
  CHECK(c.sunion({"{s}a", "{s}b"}) == StringSet{"1", "2", "3", "4"});
  CHECK(c.sdiff({"{s}a", "{s}b"}) == StringSet{"1"});
  CHECK(c.sintercard({"{s}a", "{s}b"}) == 2);
  CHECK(c.sintercard({"{s}a", "{s}b"}, 1) == 1);
  CHECK(c.sinterstore("{s}to", {"{s}a", "{s}b"}) == 2);
  CHECK(c.sunionstore("{s}to", {"{s}a", "{s}b"}) == 4);
  CHECK(c.sdiffstore("{s}to", {"{s}a", "{s}b"}) == 1);
  CHECK(c.smove("{s}a", "{s}to", "2"));
  CHECK_FALSE(c.smove("{s}a", "{s}to", "9"));
  CHECK(c.srem("{s}a", {"1", "9"}) == 1);
  CHECK(c.srandmember("{s}a") == "3");
  CHECK(c.srandmember("{s}a", -2) == texts{"3", "3"});
  CHECK(c.srandmember("nobody") == nullopt);
  CHECK(c.spop("{s}a") == "3");
  CHECK(c.spop("{s}a") == nullopt);
  CHECK(c.spop("{s}b", 9).size() == 3);
}

void sorted_sets(const Client& c) {
  using slotwise::Order;
  using slotwise::ScoreBound;
  CHECK(c.zadd("{z}a", "m", 1.5) == 1);
  CHECK(c.zadd("{z}a", {{"m", 2}, {"n", 3.25}, {"o", inf}}) == 2);
  CHECK(c.zadd("{z}a", "m", 1, {.score_if = slotwise::ScoreIf::greater, .count_changed = true}) ==
        0);
  CHECK(c.zadd("{z}a", "m", 1, {.count_changed = true}) == 1);
  CHECK(c.zscore("{z}a", "n") == 3.25);
  CHECK(c.zscore("{z}a", "o") == inf);
  CHECK(c.zscore("{z}a", "none") == nullopt);
  CHECK(c.zmscore("{z}a", {"m", "none"}) == std::vector<std::optional<double>>{1.0, nullopt});
  CHECK(c.zincrby("{z}a", 0.1, "m") == 1.1);
  CHECK(c.zcard("{z}a") == 3);
  CHECK(c.zcount("{z}a", ScoreBound::exclusive(1.1), inf) == 2);
  CHECK(c.zrange("{z}a", 0, -1) == texts{"m", "n", "o"});
  CHECK(c.zrange("{z}a", 0, 0, Order::descending) == texts{"o"});
  CHECK(c.zrange_with_scores("{z}a", 0, -1) == scored{{"m", 1.1}, {"n", 3.25}, {"o", inf}});
  CHECK(c.zrange_with_scores("nobody", 0, -1).empty());
  CHECK(c.zrange_by_score("{z}a", 1, 5, {.order = Order::descending}) == texts{"n", "m"});
  CHECK(c.zrange_by_score("{z}a", -inf, inf, {.skip = 1, .limit = 1}) == texts{"n"});
  CHECK(c.zrange_by_score_with_scores("{z}a", 0, ScoreBound::exclusive(3.25)) ==
        scored{{"m", 1.1}});
  CHECK(c.zrank("{z}a", "n") == 1);
  CHECK(c.zrevrank("{z}a", "m") == 2);
  CHECK(c.zrank("{z}a", "none") == nullopt);

  CHECK(c.zadd("{z}b", std::map<std::string, int>{{"m", 10}, {"p", 20}}) == 2);
  CHECK(c.zunionstore("{z}to", {"{z}a", "{z}b"}, {.weights = {0, 2}}) == 4);
  CHECK(c.zscore("{z}to", "p") == 40);
  CHECK(c.zinterstore("{z}to", {"{z}a", "{z}b"},
                      {.aggregate = slotwise::ZStoreOptions::Aggregate::max}) == 1);
  CHECK(c.zscore("{z}to", "m") == 10);

  CHECK(c.zpopmin("{z}a") == std::pair<std::string, double>("m", 1.1));
  CHECK(c.zpopmax("{z}a", 5) == scored{{"o", inf}, {"n", 3.25}});
  CHECK(c.zpopmin("{z}a") == nullopt);
  CHECK(c.zpopmax("{z}a", 5).empty());
  using Popped = std::tuple<std::string, std::string, double>;
  CHECK(c.bzpopmin({"{z}a", "{z}b"}, 1s) == Popped("{z}b", "m", 10));
  CHECK(c.bzpopmax("{z}b", 1s) == Popped("{z}b", "p", 20));
  CHECK(c.bzpopmax("{z}b", 10ms) == nullopt);

  c.zadd("{z}r", {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}});
  CHECK(c.zremrangebyrank("{z}r", 0, 0) == 1);
  CHECK(c.zremrangebyscore("{z}r", ScoreBound::exclusive(2), 3) == 1);
  CHECK(c.zrem("{z}r", {"b", "d", "none"}) == 2);
}

void streams(const Client& c) {
  const std::string first = c.xadd("{x}a", {{"f", "1"}, {"g", "2"}});
  CHECK(c.xadd("{x}a", {{"f", "3"}}, {.id = "99999999999999-5"}) == "99999999999999-5");
  CHECK(c.xlen("{x}a") == 2);
  const std::vector<slotwise::StreamEntry> all{{first, {{"f", "1"}, {"g", "2"}}},
                                               {"99999999999999-5", {{"f", "3"}}}};
  CHECK(c.xrange("{x}a") == all);
  CHECK(c.xrange("{x}a", "-", "+", 1).size() == 1);
  CHECK(c.xrevrange("{x}a").front() == all.back());
  CHECK(c.xrange("nobody").empty());
  const auto read = c.xread({{"{x}a", "0"}, {"{x}b", "0"}});
  REQUIRE(read.size() == 1);
  CHECK(read[0].first == "{x}a");
  CHECK(read[0].second == all);
  CHECK(c.xread({{"{x}b", "0"}}).empty());
  CHECK(c.xread({{"{x}a", "$"}}, {.wait = 10ms}).empty());
  CHECK(c.xdel("{x}a", {first, "1-1"}) == 1);
  CHECK(c.xtrim("{x}a", 0, true) == 1);
  c.xadd("{x}a", {{"f", "4"}}, {.max_length = 1, .exact = true});
  CHECK(c.xlen("{x}a") == 1);
}

void bits_and_publishing(const Client& c) {
  CHECK_FALSE(c.setbit("bits", 7, true));
  CHECK(c.setbit("bits", 7, true));
  CHECK(c.getbit("bits", 7));
  CHECK_FALSE(c.getbit("bits", 1000));
  CHECK(c.bitcount("bits") == 1);
  CHECK(c.bitcount("bits", 1, -1) == 0);
  CHECK(c.pfadd("{p}a", {"x", "y"}));
  CHECK_FALSE(c.pfadd("{p}a", "x"));
  CHECK(c.pfadd("{p}b", "z"));
  CHECK(c.pfcount({"{p}a", "{p}b"}) == 3);
  c.pfmerge("{p}a", "{p}b");
  CHECK(c.pfcount("{p}a") == 3);
  CHECK(c.publish("channel", "message") == 0);
  CHECK(c.spublish("channel", "message") == 0);
}

void scripts(const Client& c) {
  CHECK(c.eval<std::int64_t>("return 40 + 2") == 42);
  CHECK(c.eval<texts>("return {KEYS[1], KEYS[2], ARGV[1]}", {"{e}a", "{e}b"}, "x") ==
        texts{"{e}a", "{e}b", "x"});
  CHECK(c.eval<bool>("return true"));
  CHECK_FALSE(c.eval<bool>("return false"));
  CHECK(c.eval<std::optional<std::string>>("return nil") == nullopt);
  CHECK(failure([&] { c.eval("return {err = 'MY word'}"); }).server_text() == "MY word");
  CHECK(c.eval_ro<std::string>("return redis.call('GET', KEYS[1]) or 'none'", "nobody") == "none");
  const std::string sha = c.script_load("return ARGV[1]");
  CHECK(c.evalsha<std::string>(sha, "any key", "x") == "x");
  CHECK(c.script_exists({sha, std::string(40, '0')}) == std::vector<bool>{true, false});

  // A digest that no node has seen yet, in all three faces.
  const slotwise::Script script("return redis.call('INCRBY', KEYS[1], ARGV[1]) -- " +
                                std::to_string(Clock::now().time_since_epoch().count()));
  for (int i = 0; i < 12; ++i) {
    const std::string key = "script:" + std::to_string(i);
    CHECK(c.eval<std::int64_t>(script, key, "2") == 2);
  }
  c.command<void>("SCRIPT", "FLUSH");
  auto task = c.async().eval<std::int64_t>(script, "script:0", "2");
  CHECK(task.get() == 4);
  c.command<void>("SCRIPT", "FLUSH");
  auto pipeline = c.pipeline();
  std::vector<slotwise::PipelineRef<std::int64_t>> places;
  for (int i = 0; i < 12; ++i) {
    places.push_back(pipeline.eval<std::int64_t>(script, "script:" + std::to_string(i), {"5"}));
  }
  auto results = pipeline.exec();
  for (int i = 0; i < 12; ++i) {
    CHECK(results[places[static_cast<std::size_t>(i)]].value() == (i == 0 ? 9 : 7));
  }
}

void server(const Client& c) {
  c.ping();
  CHECK(c.dbsize() > 0);
  CHECK(c.time() > Clock::now() - 1min);
  CHECK(c.time() < Clock::now() + 1min);
  c.flushdb();
  CHECK(c.dbsize() == 0);
  c.set("k", "v");
  c.flushall();
  CHECK(c.exists("k") == 0);
}

void other_faces(const Client& c) {
  auto a = c.async();
  CHECK(a.set("k", "v", 1h).get());
  CHECK(a.get("k").get() == "v");
  CHECK(a.get("nobody").get() == nullopt);
  CHECK(a.incr("k").wait().error().code() == ErrorCode::server);
  a.mset({{"a", "1"}, {"b", "2"}, {"c", "3"}}).get();
  CHECK(a.mget({"a", "x", "c"}).get() ==
        std::vector<std::optional<std::string>>{"1", nullopt, "3"});

  auto p = c.pipeline();
  auto set = p.set("p", "1");
  auto count = p.incrby("p", 4);
  auto wrong = p.lpush("p", "x");
  auto hash = p.hset("hash", {{"f", "1"}, {"g", "2"}});
  auto fields = p.hgetall<std::map<std::string, int>>("hash");
  auto values = p.mget({"p", "a", "nobody"});
  auto gone = p.del({"a", "b", "c"});
  auto nothing = p.get("a");
  auto results = p.exec();
  CHECK(results[set].value());
  CHECK(results[count].value() == 5);
  CHECK(results[wrong].error().server_text().starts_with("WRONGTYPE"));
  CHECK(results[hash].value() == 2);
  CHECK(results[fields].value() == std::map<std::string, int>{{"f", 1}, {"g", 2}});
  CHECK(results[values].value() == std::vector<std::optional<std::string>>{"5", "1", nullopt});
  CHECK(results[gone].value() == 3);
  CHECK(results[nothing].value() == nullopt);
}

void all_commands(const std::string& uri) {
  for (const char* protocol : {"2", "3"}) {
    INFO("protocol " << protocol);
    slotwise::Config config = slotwise::Config::parse(uri);
    config.protocol = protocol[0] - '0';
    const Client client = Client::connect(std::move(config));
    strings(client);
    many_slots(client);
    keys(client);
    hashes(client);
    lists(client);
    sets(client);
    sorted_sets(client);
    streams(client);
    bits_and_publishing(client);
    scripts(client);
    other_faces(client);
    server(client);  // the last: deletes everything
  }
}

}  // namespace

TEST_CASE("typed commands: a single server, in RESP2 and RESP3") {
  kit::Server server;
  const kit::Address address = server.address();
  all_commands("valkey://" + address.host + ":" + std::to_string(address.port));
}

TEST_CASE("typed commands: a cluster, in RESP2 and RESP3") {
  kit::Cluster cluster;
  all_commands(cluster.uri());
  CHECK(cluster.error_count("MOVED") == 0);
}

TEST_CASE("typed commands: keys of several slots are refused where they cannot be divided") {
  kit::Cluster cluster;
  const Client client = Client::connect(cluster.uri());
  cluster.reset_counts();
  for (const Error& error : {failure([&] {
                               client.msetnx({{"a", "1"}, {"b", "2"}});
                             }),
                             failure([&] {
                               client.sinter({"a", "b"});
                             }),
                             failure([&] { client.rename("a", "b"); }), failure([&] {
                               client.eval("return 1", {"a", "b"});
                             })}) {
    CHECK(error.code() == ErrorCode::cross_slot);
    CHECK(error.outcome() == Outcome::not_sent);
  }
  CHECK(cluster.error_count("CROSSSLOT") == 0);
}
