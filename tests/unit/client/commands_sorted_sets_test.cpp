// Sorted sets.
#include <limits>
#include <tuple>

#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

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
  using Aggregate = ZStoreOptions::Aggregate;
  CHECK(face.zunionstore("{k}to", {"{k}a", "{k}b"},
                         {.weights = {1, 0.5}, .aggregate = Aggregate::max}) ==
        is<i64>("ZUNIONSTORE {k}to 2 {k}a {k}b WEIGHTS 1 0.5 AGGREGATE MAX"));
  CHECK(face.zinterstore("{k}to", "{k}a", {.aggregate = Aggregate::min}) ==
        is<i64>("ZINTERSTORE {k}to 1 {k}a AGGREGATE MIN"));
}
