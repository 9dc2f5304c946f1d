// Sorted sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <slotwise/args.hpp>
#include <slotwise/commands/strings.hpp>
#include <slotwise/commands/time.hpp>
#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>
#include <slotwise/export.hpp>

namespace slotwise {

/// When zadd() changes the score of a member that exists. New members are added in any case.
enum class ScoreIf : std::uint8_t {
  always,
  greater,  ///< GT
  less,     ///< LT
};

struct SLOTWISE_API ZAddOptions {
  SetIf condition = SetIf::always;     ///< only new members, or only those that exist
  ScoreIf score_if = ScoreIf::always;  ///< not together with SetIf::absent
  bool count_changed = false;  ///< CH: the reply counts changed scores too, not only new members

  void append_to(Args& args) const;
};

/// One end of a range of scores. A double is an inclusive end; infinities are no limit.
class SLOTWISE_API ScoreBound {
 public:
  ScoreBound(double score) noexcept : score_(score) {}  // NOLINT(google-explicit-constructor)
  /// The range comes as near to `score` as it can but leaves it out.
  static ScoreBound exclusive(double score) noexcept {
    ScoreBound bound(score);
    bound.exclusive_ = true;
    return bound;
  }

  void append_to(Args& args) const;

 private:
  double score_;
  bool exclusive_ = false;
};

enum class Order : std::uint8_t { ascending, descending };

struct SLOTWISE_API ScoreRangeOptions {
  Order order = Order::ascending;
  std::int64_t skip = 0;                   ///< leaves out that many from the start
  std::optional<std::int64_t> limit = {};  ///< gives at most that many

  void append_to(Args& args) const;
};

/// How zunionstore() and zinterstore() make one score of several.
struct SLOTWISE_API ZStoreOptions {
  enum class Aggregate : std::uint8_t { sum, min, max };

  std::vector<double> weights = {};  ///< empty, or a factor for each key
  Aggregate aggregate = Aggregate::sum;

  void append_to(Args& args) const;
};

namespace detail {
/// ZRANGE's two ends in the order that it wants them.
struct SLOTWISE_API ScoreRange {
  const ScoreBound& min;
  const ScoreBound& max;
  const ScoreRangeOptions& options;
  void append_to(Args& args) const;
};
struct Descending {
  Order order;
  void append_to(Args& args) const {
    if (order == Order::descending) args.add("REV");
  }
};
}  // namespace detail

/// Positions count from 0 at the lowest score; negative ones from the end. All keys of one call lie
/// in one slot.
template <class Face>
class SortedSetCommands {
 public:
  using Scored = std::vector<std::pair<std::string, double>>;

  /// Adds a member or changes its score; gives 1 if it is new, else 0 (see ZAddOptions). (ZADD)
  auto zadd(std::string_view key, std::string_view member, double score,
            const ZAddOptions& options = {}) const {
    return detail::call<std::int64_t, "ZADD">(*this, key, options, score, member);
  }
  /// Adds members or changes their scores, `zadd(key, {{"a", 1}, {"b", 2.5}})` or from a map; gives
  /// how many are new (see ZAddOptions). (ZADD)
  auto zadd(std::string_view key, ScoredMembers members, const ZAddOptions& options = {}) const {
    return detail::call<std::int64_t, "ZADD">(*this, key, options, members);
  }
  /// Removes members, and gives how many there were. (ZREM)
  auto zrem(std::string_view key, Words members) const {
    return detail::call<std::int64_t, "ZREM">(*this, key, members);
  }
  /// The score of a member. Nil: no such key or member. (ZSCORE)
  auto zscore(std::string_view key, std::string_view member) const {
    return detail::call<std::optional<double>, "ZSCORE">(*this, key, member);
  }
  /// The scores of members, in their order; nil for one that is not there. (ZMSCORE)
  auto zmscore(std::string_view key, Words members) const {
    return detail::call<std::vector<std::optional<double>>, "ZMSCORE">(*this, key, members);
  }
  /// Adds `amount` to the score of a member, and gives its new score; a new member starts at 0.
  /// (ZINCRBY)
  auto zincrby(std::string_view key, double amount, std::string_view member) const {
    return detail::call<double, "ZINCRBY">(*this, key, amount, member);
  }
  /// Number of members; 0: no such key. (ZCARD)
  auto zcard(std::string_view key) const { return detail::call<std::int64_t, "ZCARD">(*this, key); }
  /// Number of members with a score in the range. (ZCOUNT)
  auto zcount(std::string_view key, ScoreBound min, ScoreBound max) const {
    return detail::call<std::int64_t, "ZCOUNT">(*this, key, min, max);
  }

  /// The members at the positions `first` to `last` inclusive; with Order::descending position 0 is
  /// the highest score. (ZRANGE)
  auto zrange(std::string_view key, std::int64_t first, std::int64_t last,
              Order order = Order::ascending) const {
    return detail::call<std::vector<std::string>, "ZRANGE">(*this, key, first, last,
                                                            detail::Descending{order});
  }
  /// The same with their scores. (ZRANGE WITHSCORES)
  auto zrange_with_scores(std::string_view key, std::int64_t first, std::int64_t last,
                          Order order = Order::ascending) const {
    return detail::call<Scored, "ZRANGE">(*this, key, first, last, detail::Descending{order},
                                          "WITHSCORES");
  }
  /// The members with a score in the range; `min` is the lower end whatever the order. (ZRANGE
  /// BYSCORE)
  auto zrange_by_score(std::string_view key, ScoreBound min, ScoreBound max,
                       const ScoreRangeOptions& options = {}) const {
    return detail::call<std::vector<std::string>, "ZRANGE">(*this, key,
                                                            detail::ScoreRange{min, max, options});
  }
  /// The same with their scores. (ZRANGE BYSCORE WITHSCORES)
  auto zrange_by_score_with_scores(std::string_view key, ScoreBound min, ScoreBound max,
                                   const ScoreRangeOptions& options = {}) const {
    return detail::call<Scored, "ZRANGE">(*this, key, detail::ScoreRange{min, max, options},
                                          "WITHSCORES");
  }
  /// Position of a member, from the lowest score. Nil: no such key or member. (ZRANK)
  auto zrank(std::string_view key, std::string_view member) const {
    return detail::call<std::optional<std::int64_t>, "ZRANK">(*this, key, member);
  }
  /// Position of a member, from the highest score. Nil: no such key or member. (ZREVRANK)
  auto zrevrank(std::string_view key, std::string_view member) const {
    return detail::call<std::optional<std::int64_t>, "ZREVRANK">(*this, key, member);
  }

  /// Takes the member with the lowest score, and gives both. Nil: no such key. (ZPOPMIN)
  auto zpopmin(std::string_view key) const {
    return detail::call<std::optional<std::pair<std::string, double>>, "ZPOPMIN">(*this, key);
  }
  /// Takes up to `count` members with the lowest scores, lowest first. (ZPOPMIN)
  auto zpopmin(std::string_view key, std::int64_t count) const {
    return detail::call<Scored, "ZPOPMIN">(*this, key, count);
  }
  /// Takes the member with the highest score, and gives both. Nil: no such key. (ZPOPMAX)
  auto zpopmax(std::string_view key) const {
    return detail::call<std::optional<std::pair<std::string, double>>, "ZPOPMAX">(*this, key);
  }
  /// Takes up to `count` members with the highest scores, highest first. (ZPOPMAX)
  auto zpopmax(std::string_view key, std::int64_t count) const {
    return detail::call<Scored, "ZPOPMAX">(*this, key, count);
  }
  /// Takes the member with the lowest score of the first of these sets that has one, and gives key,
  /// member, score; waits up to `wait` for one (zero: for ever). Nil: none came. Blocking, see
  /// ListCommands. (BZPOPMIN)
  auto bzpopmin(Words keys, Duration wait) const {
    return detail::call<std::optional<std::tuple<std::string, std::string, double>>, "BZPOPMIN">(
        *this, keys, detail::Seconds{wait});
  }
  /// The same with the highest score. Blocking. (BZPOPMAX)
  auto bzpopmax(Words keys, Duration wait) const {
    return detail::call<std::optional<std::tuple<std::string, std::string, double>>, "BZPOPMAX">(
        *this, keys, detail::Seconds{wait});
  }

  /// Removes the members at the positions `first` to `last` inclusive, and gives how many.
  /// (ZREMRANGEBYRANK)
  auto zremrangebyrank(std::string_view key, std::int64_t first, std::int64_t last) const {
    return detail::call<std::int64_t, "ZREMRANGEBYRANK">(*this, key, first, last);
  }
  /// Removes the members with a score in the range, and gives how many. (ZREMRANGEBYSCORE)
  auto zremrangebyscore(std::string_view key, ScoreBound min, ScoreBound max) const {
    return detail::call<std::int64_t, "ZREMRANGEBYSCORE">(*this, key, min, max);
  }
  /// Writes what any of these sets has to `to`, and gives how many members that has. (ZUNIONSTORE)
  auto zunionstore(std::string_view to, Words keys, const ZStoreOptions& options = {}) const {
    return detail::call<std::int64_t, "ZUNIONSTORE">(*this, to, keys.size(), keys, options);
  }
  /// Writes what all of these sets have to `to`, and gives how many members that has. (ZINTERSTORE)
  auto zinterstore(std::string_view to, Words keys, const ZStoreOptions& options = {}) const {
    return detail::call<std::int64_t, "ZINTERSTORE">(*this, to, keys.size(), keys, options);
  }
};

}  // namespace slotwise
