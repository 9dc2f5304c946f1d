// The typed commands on a face that only writes down what would be sent: the words of each method,
// the type of its reply, and that the command table agrees with both.

#include <slotwise/commands.hpp>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "commands/blocking.hpp"
#include "commands/command_info.hpp"
#include "commands/route.hpp"

namespace {

using namespace std::chrono_literals;
using slotwise::Args;
using slotwise::ExpireIf;
using slotwise::Insert;
using slotwise::Order;
using slotwise::Reply;
using slotwise::ScoreBound;
using slotwise::ScoreIf;
using slotwise::Script;
using slotwise::SetIf;
using slotwise::Side;
namespace table = slotwise::commands;

/// One call as it came to the face.
struct Call {
  std::vector<std::string> words;
  const std::type_info* type = nullptr;
  enum class Kind { plain, spread, script } kind = Kind::plain;

  friend bool operator==(const Call& a, const Call& b) {
    return a.words == b.words && *a.type == *b.type && a.kind == b.kind;
  }
  friend std::ostream& operator<<(std::ostream& out, const Call& call) {
    for (const auto& word : call.words)
      out << '[' << word << "] ";
    return out << call.type->name() << " kind " << static_cast<int>(call.kind);
  }
};

/// What the command table must say of every call: known, accepted by the server, all keys in one
/// slot or divisible. So each row of the tests below is held against the table as well.
void check_table(const Call& call) {
  const std::vector<std::string_view> words(call.words.begin(), call.words.end());
  INFO(call);
  const table::CommandInfo* info = table::find(words);
  REQUIRE(info != nullptr);
  CHECK(info->arity_fits(words.size()));
  CHECK(table::refused_because(words).empty());
  const table::Routing routing = table::route(*info, words);
  CHECK_FALSE(routing.malformed);
  if (call.kind == Call::Kind::spread) {
    CHECK((routing.target == table::Target::one_slot ||
           routing.target == table::Target::multi_shard));
  } else {
    CHECK((
        routing.target == table::Target::one_slot || routing.target == table::Target::any_primary ||
        routing.target == table::Target::all_shards || routing.target == table::Target::all_nodes));
  }
}

class Recorder : public slotwise::Commands<Recorder> {
 private:
  friend class slotwise::Commands<Recorder>;

  template <class T>
  Call invoke(const slotwise::detail::Command&, const Args& args) const {
    return record<T>(args, Call::Kind::plain);
  }
  template <class T>
  Call invoke_spread(const slotwise::detail::Command&, const Args& args) const {
    return record<T>(args, Call::Kind::spread);
  }
  template <class T>
  Call invoke_script(const Script&, const Args& args) const {
    return record<T>(args, Call::Kind::script);
  }
  template <class T>
  static Call record(const Args& args, Call::Kind kind) {
    Call call{{args.words().begin(), args.words().end()}, &typeid(T), kind};
    check_table(call);
    return call;
  }
};

const Recorder face;

/// The call that a row expects: T, and the words cut at blanks.
template <class T>
Call is(std::string_view words, Call::Kind kind = Call::Kind::plain) {
  Call call{{}, &typeid(T), kind};
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word;)
    call.words.push_back(word);
  return call;
}
template <class T>
Call spread(std::string_view words) {
  return is<T>(words, Call::Kind::spread);
}

using i64 = std::int64_t;
using text = std::string;
using texts = std::vector<std::string>;
using StringSet = std::unordered_set<std::string>;
using scored = std::vector<std::pair<std::string, double>>;
template <class T>
using maybe = std::optional<T>;
using Clock = std::chrono::system_clock;

/// A range that may be walked again but makes its elements as they are asked for, as
/// std::views::transform does (clang 14 does not compile that of libstdc++ 12).
template <class Make>
struct Made {
  struct Iterator {
    using value_type = std::invoke_result_t<Make, int>;
    using difference_type = std::ptrdiff_t;
    int n = 0;
    value_type operator*() const { return Make()(n); }
    Iterator& operator++() {
      ++n;
      return *this;
    }
    Iterator operator++(int) { return {n++}; }
    bool operator==(const Iterator&) const = default;
  };
  static_assert(std::forward_iterator<Iterator>);
  Iterator begin() const { return {0}; }
  Iterator end() const { return {3}; }
};
constexpr auto make_key = [](int n) {
  return "{k}longer than what fits inside, " + std::to_string(n);
};
constexpr auto make_field = [](int n) { return std::pair("f" + std::to_string(n), make_key(n)); };
constexpr auto make_score = [](int n) { return std::pair(make_key(n), n); };
using MadeKeys = Made<decltype(make_key)>;

/// A range that gives every element in the same place, once.
struct ReadOnce {
  std::istringstream in{"{k}a {k}b {k}c"};
  auto begin() { return std::istream_iterator<std::string>(in); }
  auto end() { return std::istream_iterator<std::string>(); }
};

// Misuse that must not compile.
template <class K, class V>
concept can_set = requires(const Recorder& f, K key, V value) {
  f.set(key, value);
};
template <class K>
concept can_get = requires(const Recorder& f, K key) {
  f.get(key);
};
template <class K>
concept can_delete = requires(const Recorder& f, K keys) {
  f.del(keys);
};
template <class T>
concept can_expire = requires(const Recorder& f, T time) {
  f.expire("k", time);
};
template <class T>
concept can_expire_at = requires(const Recorder& f, T time) {
  f.expire_at("k", time);
};
template <class R>
concept can_hset = requires(const Recorder& f, R fields) {
  f.hset("k", fields);
};
template <class R>
concept can_zadd = requires(const Recorder& f, R members) {
  f.zadd("k", members);
};

static_assert(can_get<const char*> && can_get<std::string> && can_get<std::string_view>);
static_assert(!can_get<int> && !can_get<double> && !can_get<char> && !can_get<bool>);
static_assert(can_set<std::string, std::string> && !can_set<std::string, int>);
static_assert(can_delete<std::string> && can_delete<texts> && can_delete<std::set<std::string>>);
static_assert(!can_delete<int> && !can_delete<std::vector<int>> && !can_delete<std::nullptr_t>);
static_assert(can_expire<std::chrono::microseconds> && can_expire<std::chrono::duration<double>>);
static_assert(!can_expire<int> && !can_expire<Clock::time_point>);
static_assert(can_expire_at<Clock::time_point> && can_expire_at<std::chrono::sys_days>);
static_assert(!can_expire_at<std::chrono::steady_clock::time_point> && !can_expire_at<i64>);
static_assert(can_hset<std::map<std::string, std::string>> && !can_hset<std::map<int, int>>);
static_assert(!can_hset<texts>);
static_assert(can_zadd<std::map<std::string, double>> && can_zadd<std::map<std::string, int>>);
static_assert(!can_zadd<std::map<double, std::string>>);

}  // namespace

TEST_CASE("typed commands: strings") {
  CHECK(face.get("k") == is<maybe<text>>("GET k"));
  CHECK(face.set("k", "v") == is<bool>("SET k v"));
  CHECK(face.set("k", "v", 10s) == is<bool>("SET k v PX 10000"));
  CHECK(face.set("k", "v", {.ttl = 10s}) == is<bool>("SET k v PX 10000"));
  CHECK(face.set("k", "v", {.expire_at = Clock::time_point(5s)}) == is<bool>("SET k v PXAT 5000"));
  CHECK(face.set("k", "v", {.keep_ttl = true, .condition = SetIf::present}) ==
        is<bool>("SET k v XX KEEPTTL"));
  CHECK(face.set("k", "v", {.ttl = 1ms, .condition = SetIf::absent}) ==
        is<bool>("SET k v NX PX 1"));
  CHECK(face.set("k", "v", {.if_equal = "old"}) == is<bool>("SET k v IFEQ old"));
  CHECK(face.set_get("k", "v") == is<maybe<text>>("SET k v GET"));
  CHECK(face.set_get("k", "v", {.ttl = 1min}) == is<maybe<text>>("SET k v PX 60000 GET"));
  CHECK(face.setnx("k", "v") == is<bool>("SETNX k v"));
  CHECK(face.getdel("k") == is<maybe<text>>("GETDEL k"));
  CHECK(face.getex("k", 2s) == is<maybe<text>>("GETEX k PX 2000"));
  CHECK(face.getex_at("k", Clock::time_point(2s)) == is<maybe<text>>("GETEX k PXAT 2000"));
  CHECK(face.getex_persist("k") == is<maybe<text>>("GETEX k PERSIST"));
  CHECK(face.append("k", "v") == is<i64>("APPEND k v"));
  CHECK(face.strlen("k") == is<i64>("STRLEN k"));
  CHECK(face.getrange("k", 0, -1) == is<text>("GETRANGE k 0 -1"));
  CHECK(face.setrange("k", 5, "v") == is<i64>("SETRANGE k 5 v"));
  CHECK(face.mget({"a", "b"}) == spread<std::vector<maybe<text>>>("MGET a b"));
  CHECK(face.mset({{"a", "1"}, {"b", "2"}}) == spread<void>("MSET a 1 b 2"));
  CHECK(face.msetnx({{"{k}a", "1"}, {"{k}b", "2"}}) == is<bool>("MSETNX {k}a 1 {k}b 2"));
  CHECK(face.incr("k") == is<i64>("INCR k"));
  CHECK(face.incrby("k", -5) == is<i64>("INCRBY k -5"));
  CHECK(face.decr("k") == is<i64>("DECR k"));
  CHECK(face.decrby("k", 5) == is<i64>("DECRBY k 5"));
  CHECK(face.incrbyfloat("k", 0.1) == is<double>("INCRBYFLOAT k 0.1"));
}

TEST_CASE("typed commands: keys") {
  CHECK(face.del("k") == spread<i64>("DEL k"));
  CHECK(face.del({"a", "b"}) == spread<i64>("DEL a b"));
  CHECK(face.unlink({"a", "b"}) == spread<i64>("UNLINK a b"));
  CHECK(face.exists({"a", "b", "a"}) == spread<i64>("EXISTS a b a"));
  CHECK(face.touch({"a", "b"}) == spread<i64>("TOUCH a b"));
  CHECK(face.expire("k", 1h) == is<bool>("PEXPIRE k 3600000"));
  CHECK(face.expire("k", -1s) == is<bool>("PEXPIRE k -1000"));
  CHECK(face.expire("k", 1s, ExpireIf::without_expiry) == is<bool>("PEXPIRE k 1000 NX"));
  CHECK(face.expire("k", 1s, ExpireIf::with_expiry) == is<bool>("PEXPIRE k 1000 XX"));
  CHECK(face.expire("k", 1s, ExpireIf::later) == is<bool>("PEXPIRE k 1000 GT"));
  CHECK(face.expire_at("k", Clock::time_point(7s), ExpireIf::earlier) ==
        is<bool>("PEXPIREAT k 7000 LT"));
  CHECK(face.ttl("k") == is<maybe<std::chrono::milliseconds>>("PTTL k"));
  CHECK(face.expire_time("k") == is<maybe<Clock::time_point>>("PEXPIRETIME k"));
  CHECK(face.persist("k") == is<bool>("PERSIST k"));
  CHECK(face.type("k") == is<text>("TYPE k"));
  CHECK(face.rename("{k}a", "{k}b") == is<void>("RENAME {k}a {k}b"));
  CHECK(face.renamenx("{k}a", "{k}b") == is<bool>("RENAMENX {k}a {k}b"));
  CHECK(face.copy("{k}a", "{k}b") == is<bool>("COPY {k}a {k}b"));
  CHECK(face.copy("{k}a", "{k}b", true) == is<bool>("COPY {k}a {k}b REPLACE"));
  CHECK(face.dump("k") == is<maybe<text>>("DUMP k"));
  CHECK(face.restore("k", "bytes") == is<void>("RESTORE k 0 bytes"));
  CHECK(face.restore("k", "bytes", 1s, true) == is<void>("RESTORE k 1000 bytes REPLACE"));
  CHECK(face.randomkey() == is<maybe<text>>("RANDOMKEY"));
  CHECK(face.object_encoding("k") == is<maybe<text>>("OBJECT ENCODING k"));
  CHECK(face.object_idletime("k") == is<maybe<std::chrono::seconds>>("OBJECT IDLETIME k"));
  CHECK(face.memory_usage("k") == is<maybe<i64>>("MEMORY USAGE k"));
}

TEST_CASE("typed commands: hashes") {
  using Map = std::unordered_map<text, text>;
  CHECK(face.hset("k", "f", "v") == is<i64>("HSET k f v"));
  CHECK(face.hset("k", {{"f", "v"}, {"g", "w"}}) == is<i64>("HSET k f v g w"));
  CHECK(face.hset("k", {{"f", "v"}}) == is<i64>("HSET k f v"));
  CHECK(face.hsetnx("k", "f", "v") == is<bool>("HSETNX k f v"));
  CHECK(face.hget("k", "f") == is<maybe<text>>("HGET k f"));
  CHECK(face.hmget("k", {"f", "g"}) == is<std::vector<maybe<text>>>("HMGET k f g"));
  CHECK(face.hgetall("k") == is<Map>("HGETALL k"));
  CHECK(face.hgetall<std::map<text, int>>("k") == is<std::map<text, int>>("HGETALL k"));
  CHECK(face.hdel("k", {"f", "g"}) == is<i64>("HDEL k f g"));
  CHECK(face.hexists("k", "f") == is<bool>("HEXISTS k f"));
  CHECK(face.hincrby("k", "f", 2) == is<i64>("HINCRBY k f 2"));
  CHECK(face.hincrbyfloat("k", "f", 2.5) == is<double>("HINCRBYFLOAT k f 2.5"));
  CHECK(face.hkeys("k") == is<texts>("HKEYS k"));
  CHECK(face.hvals("k") == is<texts>("HVALS k"));
  CHECK(face.hlen("k") == is<i64>("HLEN k"));
  CHECK(face.hstrlen("k", "f") == is<i64>("HSTRLEN k f"));
  CHECK(face.hrandfield("k") == is<maybe<text>>("HRANDFIELD k"));
  CHECK(face.hrandfield("k", -3) == is<texts>("HRANDFIELD k -3"));
  CHECK(face.hrandfield_with_values("k", 3) ==
        is<std::vector<std::pair<text, text>>>("HRANDFIELD k 3 WITHVALUES"));
}

TEST_CASE("typed commands: lists") {
  using KeyAndValue = maybe<std::pair<text, text>>;
  CHECK(face.lpush("k", {"a", "b"}) == is<i64>("LPUSH k a b"));
  CHECK(face.rpush("k", "a") == is<i64>("RPUSH k a"));
  CHECK(face.lpushx("k", "a") == is<i64>("LPUSHX k a"));
  CHECK(face.rpushx("k", {"a", "b"}) == is<i64>("RPUSHX k a b"));
  CHECK(face.lpop("k") == is<maybe<text>>("LPOP k"));
  CHECK(face.lpop("k", 2) == is<texts>("LPOP k 2"));
  CHECK(face.rpop("k") == is<maybe<text>>("RPOP k"));
  CHECK(face.rpop("k", 2) == is<texts>("RPOP k 2"));
  CHECK(face.llen("k") == is<i64>("LLEN k"));
  CHECK(face.lrange("k", 0, -1) == is<texts>("LRANGE k 0 -1"));
  CHECK(face.lindex("k", -1) == is<maybe<text>>("LINDEX k -1"));
  CHECK(face.lset("k", 0, "v") == is<void>("LSET k 0 v"));
  CHECK(face.lrem("k", -2, "v") == is<i64>("LREM k -2 v"));
  CHECK(face.ltrim("k", 0, 9) == is<void>("LTRIM k 0 9"));
  CHECK(face.linsert("k", Insert::before, "p", "v") == is<i64>("LINSERT k BEFORE p v"));
  CHECK(face.linsert("k", Insert::after, "p", "v") == is<i64>("LINSERT k AFTER p v"));
  CHECK(face.lpos("k", "v") == is<maybe<i64>>("LPOS k v"));
  CHECK(face.lmove("{k}a", "{k}b", Side::left, Side::right) ==
        is<maybe<text>>("LMOVE {k}a {k}b LEFT RIGHT"));
  CHECK(face.blpop("k", 1s) == is<KeyAndValue>("BLPOP k 1"));
  CHECK(face.brpop({"{k}a", "{k}b"}, 1500ms) == is<KeyAndValue>("BRPOP {k}a {k}b 1.500"));
  CHECK(face.blmove("{k}a", "{k}b", Side::right, Side::left, 20ms) ==
        is<maybe<text>>("BLMOVE {k}a {k}b RIGHT LEFT 0.020"));
}

TEST_CASE("typed commands: sets") {
  CHECK(face.sadd("k", {"a", "b"}) == is<i64>("SADD k a b"));
  CHECK(face.srem("k", "a") == is<i64>("SREM k a"));
  CHECK(face.smembers("k") == is<StringSet>("SMEMBERS k"));
  CHECK(face.smembers<texts>("k") == is<texts>("SMEMBERS k"));
  CHECK(face.sismember("k", "a") == is<bool>("SISMEMBER k a"));
  CHECK(face.smismember("k", {"a", "b"}) == is<std::vector<bool>>("SMISMEMBER k a b"));
  CHECK(face.scard("k") == is<i64>("SCARD k"));
  CHECK(face.spop("k") == is<maybe<text>>("SPOP k"));
  CHECK(face.spop("k", 2) == is<texts>("SPOP k 2"));
  CHECK(face.srandmember("k") == is<maybe<text>>("SRANDMEMBER k"));
  CHECK(face.srandmember("k", -2) == is<texts>("SRANDMEMBER k -2"));
  CHECK(face.smove("{k}a", "{k}b", "m") == is<bool>("SMOVE {k}a {k}b m"));
  CHECK(face.sinter({"{k}a", "{k}b"}) == is<StringSet>("SINTER {k}a {k}b"));
  CHECK(face.sunion({"{k}a", "{k}b"}) == is<StringSet>("SUNION {k}a {k}b"));
  CHECK(face.sdiff<std::set<text>>({"{k}a", "{k}b"}) == is<std::set<text>>("SDIFF {k}a {k}b"));
  CHECK(face.sintercard({"{k}a", "{k}b"}, 5) == is<i64>("SINTERCARD 2 {k}a {k}b LIMIT 5"));
  CHECK(face.sinterstore("{k}to", {"{k}a", "{k}b"}) == is<i64>("SINTERSTORE {k}to {k}a {k}b"));
  CHECK(face.sunionstore("{k}to", {"{k}a", "{k}b"}) == is<i64>("SUNIONSTORE {k}to {k}a {k}b"));
  CHECK(face.sdiffstore("{k}to", "{k}a") == is<i64>("SDIFFSTORE {k}to {k}a"));
}

TEST_CASE("typed commands: sorted sets") {
  using One = maybe<std::pair<text, double>>;
  using KeyToo = maybe<std::tuple<text, text, double>>;
  CHECK(face.zadd("k", "m", 1.5) == is<i64>("ZADD k 1.5 m"));
  CHECK(face.zadd("k", {{"a", 1}, {"b", 2.5}}) == is<i64>("ZADD k 1 a 2.5 b"));
  CHECK(face.zadd(
            "k", "m", 1,
            {.condition = SetIf::present, .score_if = ScoreIf::greater, .count_changed = true}) ==
        is<i64>("ZADD k XX GT CH 1 m"));
  CHECK(face.zadd("k", "m", 1, {.score_if = ScoreIf::less}) == is<i64>("ZADD k LT 1 m"));
  CHECK(face.zadd("k", {{"a", 1}}, {.condition = SetIf::absent}) == is<i64>("ZADD k NX 1 a"));
  CHECK(face.zrem("k", {"a", "b"}) == is<i64>("ZREM k a b"));
  CHECK(face.zscore("k", "m") == is<maybe<double>>("ZSCORE k m"));
  CHECK(face.zmscore("k", {"a", "b"}) == is<std::vector<maybe<double>>>("ZMSCORE k a b"));
  CHECK(face.zincrby("k", -0.5, "m") == is<double>("ZINCRBY k -0.5 m"));
  CHECK(face.zcard("k") == is<i64>("ZCARD k"));
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(face.zcount("k", -inf, ScoreBound::exclusive(5)) == is<i64>("ZCOUNT k -inf (5"));
  CHECK(face.zrange("k", 0, -1) == is<texts>("ZRANGE k 0 -1"));
  CHECK(face.zrange("k", 0, -1, Order::descending) == is<texts>("ZRANGE k 0 -1 REV"));
  CHECK(face.zrange_with_scores("k", 0, 9) == is<scored>("ZRANGE k 0 9 WITHSCORES"));
  CHECK(face.zrange_with_scores("k", 0, 9, Order::descending) ==
        is<scored>("ZRANGE k 0 9 REV WITHSCORES"));
  CHECK(face.zrange_by_score("k", 1, inf) == is<texts>("ZRANGE k 1 inf BYSCORE"));
  CHECK(face.zrange_by_score("k", 1, 2, {.order = Order::descending, .skip = 3, .limit = 4}) ==
        is<texts>("ZRANGE k 2 1 BYSCORE REV LIMIT 3 4"));
  CHECK(face.zrange_by_score("k", 1, 2, {.skip = 3}) ==
        is<texts>("ZRANGE k 1 2 BYSCORE LIMIT 3 -1"));
  CHECK(face.zrange_by_score_with_scores("k", ScoreBound::exclusive(1.5), 2, {.limit = 4}) ==
        is<scored>("ZRANGE k (1.5 2 BYSCORE LIMIT 0 4 WITHSCORES"));
  CHECK(face.zrank("k", "m") == is<maybe<i64>>("ZRANK k m"));
  CHECK(face.zrevrank("k", "m") == is<maybe<i64>>("ZREVRANK k m"));
  CHECK(face.zpopmin("k") == is<One>("ZPOPMIN k"));
  CHECK(face.zpopmin("k", 2) == is<scored>("ZPOPMIN k 2"));
  CHECK(face.zpopmax("k") == is<One>("ZPOPMAX k"));
  CHECK(face.zpopmax("k", 2) == is<scored>("ZPOPMAX k 2"));
  CHECK(face.bzpopmin("k", 0s) == is<KeyToo>("BZPOPMIN k 0"));
  CHECK(face.bzpopmax({"{k}a", "{k}b"}, 1ms) == is<KeyToo>("BZPOPMAX {k}a {k}b 0.001"));
  CHECK(face.zremrangebyrank("k", 0, 1) == is<i64>("ZREMRANGEBYRANK k 0 1"));
  CHECK(face.zremrangebyscore("k", 0, ScoreBound::exclusive(1)) ==
        is<i64>("ZREMRANGEBYSCORE k 0 (1"));
  CHECK(face.zunionstore("{k}to", {"{k}a", "{k}b"}) == is<i64>("ZUNIONSTORE {k}to 2 {k}a {k}b"));
  using Aggregate = slotwise::ZStoreOptions::Aggregate;
  CHECK(face.zunionstore("{k}to", {"{k}a", "{k}b"},
                         {.weights = {1, 0.5}, .aggregate = Aggregate::max}) ==
        is<i64>("ZUNIONSTORE {k}to 2 {k}a {k}b WEIGHTS 1 0.5 AGGREGATE MAX"));
  CHECK(face.zinterstore("{k}to", "{k}a", {.aggregate = Aggregate::min}) ==
        is<i64>("ZINTERSTORE {k}to 1 {k}a AGGREGATE MIN"));
}

TEST_CASE("typed commands: streams") {
  using Entries = std::vector<slotwise::StreamEntry>;
  using Streams = std::vector<std::pair<text, Entries>>;
  CHECK(face.xadd("k", {{"f", "v"}, {"g", "w"}}) == is<text>("XADD k * f v g w"));
  CHECK(face.xadd("k", {{"f", "v"}}, {.id = "5-1", .max_length = 100}) ==
        is<text>("XADD k MAXLEN ~ 100 5-1 f v"));
  CHECK(face.xadd("k", {{"f", "v"}}, {.max_length = 100, .exact = true}) ==
        is<text>("XADD k MAXLEN = 100 * f v"));
  CHECK(face.xlen("k") == is<i64>("XLEN k"));
  CHECK(face.xrange("k") == is<Entries>("XRANGE k - +"));
  CHECK(face.xrange("k", "1", "(2", 5) == is<Entries>("XRANGE k 1 (2 COUNT 5"));
  CHECK(face.xrevrange("k", "+", "-", 1) == is<Entries>("XREVRANGE k + - COUNT 1"));
  CHECK(face.xread({{"{k}a", "0"}, {"{k}b", "7-0"}}) ==
        is<Streams>("XREAD STREAMS {k}a {k}b 0 7-0"));
  CHECK(face.xread({{"k", "$"}}, {.count = 3, .wait = 250ms}) ==
        is<Streams>("XREAD COUNT 3 BLOCK 250 STREAMS k $"));
  CHECK(face.xdel("k", {"1-0", "2-0"}) == is<i64>("XDEL k 1-0 2-0"));
  CHECK(face.xtrim("k", 100) == is<i64>("XTRIM k MAXLEN ~ 100"));
  CHECK(face.xtrim("k", 100, true) == is<i64>("XTRIM k MAXLEN = 100"));
}

TEST_CASE("typed commands: bits, server, publishing") {
  CHECK(face.setbit("k", 7, true) == is<bool>("SETBIT k 7 1"));
  CHECK(face.setbit("k", 7, false) == is<bool>("SETBIT k 7 0"));
  CHECK(face.getbit("k", 7) == is<bool>("GETBIT k 7"));
  CHECK(face.bitcount("k") == is<i64>("BITCOUNT k"));
  CHECK(face.bitcount("k", 0, -2) == is<i64>("BITCOUNT k 0 -2"));
  CHECK(face.pfadd("k", {"a", "b"}) == is<bool>("PFADD k a b"));
  CHECK(face.pfcount({"{k}a", "{k}b"}) == is<i64>("PFCOUNT {k}a {k}b"));
  CHECK(face.pfmerge("{k}a", "{k}b") == is<void>("PFMERGE {k}a {k}b"));
  CHECK(face.ping() == is<void>("PING"));
  CHECK(face.dbsize() == is<i64>("DBSIZE"));
  CHECK(face.flushdb() == is<void>("FLUSHDB ASYNC"));
  CHECK(face.flushall() == is<void>("FLUSHALL ASYNC"));
  CHECK(face.time() == is<Clock::time_point>("TIME"));
  CHECK(face.publish("c", "m") == is<i64>("PUBLISH c m"));
  CHECK(face.spublish("c", "m") == is<i64>("SPUBLISH c m"));
}

TEST_CASE("typed commands: scripts") {
  CHECK(face.eval("body") == is<Reply>("EVAL body 0"));
  CHECK(face.eval<i64>("body", {"{k}a", "{k}b"}, {"x"}) == is<i64>("EVAL body 2 {k}a {k}b x"));
  CHECK(face.eval<void>("body", "k", "x") == is<void>("EVAL body 1 k x"));
  CHECK(face.eval_ro<texts>("body", "k") == is<texts>("EVAL_RO body 1 k"));
  CHECK(face.evalsha("sha", "k") == is<Reply>("EVALSHA sha 1 k"));
  CHECK(face.fcall<text>("f", "k", {"x", "y"}) == is<text>("FCALL f 1 k x y"));
  CHECK(face.fcall_ro("f") == is<Reply>("FCALL_RO f 0"));
  CHECK(face.script_load("body") == is<text>("SCRIPT LOAD body"));
  CHECK(face.script_exists({"a", "b"}) == is<std::vector<bool>>("SCRIPT EXISTS a b"));

  const Script script("return 1");
  CHECK(script.body() == "return 1");
  CHECK(script.sha1() == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  CHECK(Script("").sha1() == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(*script.shared_body() == script.body());
  CHECK(face.eval<i64>(script, "k", {"x"}) ==
        is<i64>("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 k x", Call::Kind::script));
}

TEST_CASE("typed commands: blocking ones are known as such, with their time") {
  using slotwise::commands::BlockTime;
  using slotwise::commands::server_block_time;
  const auto time_of = [](const Call& call) {
    const std::vector<std::string_view> words(call.words.begin(), call.words.end());
    const table::CommandInfo& info = *table::find(words);
    CHECK(table::blocks(info, words));
    return server_block_time(info, words);
  };
  const auto limited = [](std::chrono::milliseconds t) {
    return BlockTime{BlockTime::Kind::limited, t};
  };
  CHECK(time_of(face.blpop("k", 1s)) == limited(1s));
  CHECK(time_of(face.brpop("k", 1ms)) == limited(1ms));
  CHECK(time_of(face.blmove("k", "k", Side::left, Side::left, 90061007ms)) == limited(90061007ms));
  CHECK(time_of(face.bzpopmin("k", 24h * 1000)) == limited(24h * 1000));
  CHECK(time_of(face.bzpopmax("k", 2.5s)) == limited(2500ms));
  CHECK(time_of(face.xread({{"k", "$"}}, {.wait = 20ms})) == limited(20ms));
  CHECK(time_of(face.blpop("k", 0s)).kind == BlockTime::Kind::forever);
  CHECK(time_of(face.blpop("k", std::chrono::nanoseconds(1))) == limited(1ms));
}

TEST_CASE("typed commands: times are rounded up and never overflow") {
  using slotwise::Duration;
  using slotwise::UnixTime;
  using std::chrono::duration;
  using std::chrono::nanoseconds;
  CHECK(Duration(1ns).milliseconds() == 1);
  CHECK(Duration(1000001ns).milliseconds() == 2);
  CHECK(Duration(999us).milliseconds() == 1);
  CHECK(Duration(0s).milliseconds() == 0);
  CHECK(Duration(-1500us).milliseconds() == -1);
  CHECK(Duration(duration<double>(0.0001)).milliseconds() == 1);
  CHECK(Duration(duration<double>(1e300)).milliseconds() == INT64_MAX);
  CHECK(Duration(duration<double>(-1e300)).milliseconds() == INT64_MIN);
  CHECK(Duration(duration<float>(0.25F)).milliseconds() == 250);
  CHECK(Duration(std::chrono::hours::max()).milliseconds() == INT64_MAX);
  CHECK(Duration(std::chrono::milliseconds::max()).milliseconds() == INT64_MAX);
  CHECK(Duration(nanoseconds::max()).milliseconds() == 9223372036855);
  CHECK(Duration(std::chrono::days(1)).milliseconds() == 86400000);
  CHECK(UnixTime(Clock::time_point(1ns)).milliseconds() == 1);
  CHECK(UnixTime(std::chrono::sys_days(std::chrono::days(1))).milliseconds() == 86400000);

  const auto seconds = [](Duration d) {
    Args args;
    d.append_seconds(args);
    return std::string(args.words()[0]);
  };
  CHECK(seconds(1s) == "1");
  CHECK(seconds(1ms) == "0.001");
  CHECK(seconds(61050ms) == "61.050");
  CHECK(seconds(1000000s) == "1000000");
  CHECK(seconds(-1500ms) == "-1.500");
  CHECK(seconds(std::chrono::milliseconds::max()) == "9223372036854775.807");
  CHECK(seconds(std::chrono::milliseconds::min()) == "-9223372036854775.808");
}

TEST_CASE("typed commands: several words come from any range") {
  const Call expected = spread<i64>("DEL a b");
  const texts vector{"a", "b"};
  const char* const array[] = {"a", "b"};
  const std::string_view views[] = {"a", "b"};
  CHECK(face.del(vector) == expected);
  CHECK(face.del(texts{"a", "b"}) == expected);
  CHECK(face.del(std::set<std::string>{"b", "a"}) == expected);
  CHECK(face.del(std::list<std::string_view>{"a", "b"}) == expected);
  CHECK(face.del(std::array<const char*, 2>{"a", "b"}) == expected);
  CHECK(face.del(array) == expected);
  CHECK(face.del(std::span(views)) == expected);
  CHECK(face.del({std::string("a"), "b"}) == expected);
  CHECK(face.del(std::string("a")) == spread<i64>("DEL a"));
  CHECK(face.del(vector[0]) == spread<i64>("DEL a"));

  // Temporaries, and what can be walked only once: copied.
  const Call made = face.del(MadeKeys());
  CHECK(made.words.size() == 4);
  CHECK(made.words[1] == make_key(0));
  CHECK(made.words[3] == make_key(2));
  CHECK(face.del(ReadOnce()) == spread<i64>("DEL {k}a {k}b {k}c"));
  // The number of keys stands before them.
  CHECK(face.eval("body", ReadOnce()) == is<Reply>("EVAL body 3 {k}a {k}b {k}c"));
  CHECK(face.eval("body", MadeKeys()).words[2] == "3");

  texts many;
  for (int i = 0; i < 1000; ++i)
    many.push_back("key" + std::to_string(i));
  const Call call = face.del(many);
  CHECK(call.words.size() == 1001);
  CHECK(call.words.back() == "key999");
}

TEST_CASE("typed commands: pairs come from any range of pairs") {
  const Call fields = is<i64>("HSET k a 1 b 2");
  const std::map<std::string, std::string> map{{"a", "1"}, {"b", "2"}};
  const std::vector<std::pair<std::string_view, const char*>> vector{{"a", "1"}, {"b", "2"}};
  CHECK(face.hset("k", map) == fields);
  CHECK(face.hset("k", vector) == fields);
  CHECK(face.hset("k", std::map<std::string, std::string>(map)) == fields);
  CHECK(face.hset("k", Made<decltype(make_field)>()).words.back() == make_key(2));

  const Call scores = is<i64>("ZADD k 1 a 2 b");
  CHECK(face.zadd("k", std::map<std::string, double>{{"a", 1}, {"b", 2}}) == scores);
  CHECK(face.zadd("k", std::vector<std::pair<std::string, int>>{{"a", 1}, {"b", 2}}) == scores);
  CHECK(face.zadd("k", Made<decltype(make_score)>()).words.back() == make_key(2));
  const scored from_zrange{{"a", 1}, {"b", 2}};
  CHECK(face.zadd("k", from_zrange) == scores);
}

TEST_CASE("typed commands: bytes are bytes") {
  using namespace std::string_view_literals;
  const auto key = "a\0b\r\n"sv;
  CHECK(face.set(key, ""sv).words == texts{"SET", std::string(key), ""});
  CHECK(face.del({key, "\xff"sv}).words == texts{"DEL", std::string(key), "\xff"});
}
