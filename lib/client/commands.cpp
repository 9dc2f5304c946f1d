// What the options of the typed commands append, and the replies that only one command has.
#include <slotwise/commands.hpp>

#include <charconv>
#include <chrono>
#include <string_view>

namespace slotwise {

using namespace std::string_view_literals;

void SetOptions::append_to(Args& args) const {
  if (condition == SetIf::absent) args.add("NX"sv);
  if (condition == SetIf::present) args.add("XX"sv);
  if (if_equal) args.add("IFEQ"sv).add(*if_equal);
  if (ttl) args.add("PX"sv).add(ttl->milliseconds());
  if (expire_at) args.add("PXAT"sv).add(expire_at->milliseconds());
  if (keep_ttl) args.add("KEEPTTL"sv);
}

void ZAddOptions::append_to(Args& args) const {
  if (condition == SetIf::absent) args.add("NX"sv);
  if (condition == SetIf::present) args.add("XX"sv);
  if (score_if == ScoreIf::greater) args.add("GT"sv);
  if (score_if == ScoreIf::less) args.add("LT"sv);
  if (count_changed) args.add("CH"sv);
}

void ScoreBound::append_to(Args& args) const {
  char text[40] = "(";
  const auto end = std::to_chars(text + 1, text + sizeof(text), score_).ptr;
  const char* begin = exclusive_ ? text : text + 1;
  args.add_copy({begin, static_cast<std::size_t>(end - begin)});
}

void ScoreRangeOptions::append_to(Args& args) const {
  if (order == Order::descending) args.add("REV"sv);
  if (skip != 0 || limit) args.add("LIMIT"sv).add(skip).add(limit.value_or(-1));
}

void ZStoreOptions::append_to(Args& args) const {
  if (!weights.empty()) {
    args.add("WEIGHTS"sv);
    for (const double weight : weights)
      args.add(weight);
  }
  if (aggregate == Aggregate::min) args.add("AGGREGATE"sv).add("MIN"sv);
  if (aggregate == Aggregate::max) args.add("AGGREGATE"sv).add("MAX"sv);
}

void XAddOptions::append_to(Args& args) const {
  if (max_length) detail::MaxLength{*max_length, exact}.append_to(args);
  args.add(id);
}

void XReadOptions::append_to(Args& args) const {
  detail::Count{count}.append_to(args);
  if (wait) args.add("BLOCK"sv).add(wait->milliseconds());
}

void Duration::append_seconds(Args& args) const {
  const std::int64_t rest = milliseconds_ % 1000;
  if (rest == 0) {
    args.add(milliseconds_ / 1000);
    return;
  }
  // Not as a double: 1e+06 and the like are for the server to understand, and not only for it.
  char text[32];
  char* p = text;
  if (milliseconds_ < 0) *p++ = '-';
  p = std::to_chars(p, text + 24,
                    milliseconds_ < 0 ? -(milliseconds_ / 1000) : milliseconds_ / 1000)
          .ptr;
  const auto fraction = static_cast<int>(rest < 0 ? -rest : rest);
  *p++ = '.';
  *p++ = static_cast<char>('0' + fraction / 100);
  *p++ = static_cast<char>('0' + fraction / 10 % 10);
  *p++ = static_cast<char>('0' + fraction % 10);
  args.add_copy({text, static_cast<std::size_t>(p - text)});
}

namespace detail {

void ExpireCondition::append_to(Args& args) const {
  switch (value) {
    case ExpireIf::always:
      break;
    case ExpireIf::without_expiry:
      args.add("NX"sv);
      break;
    case ExpireIf::with_expiry:
      args.add("XX"sv);
      break;
    case ExpireIf::later:
      args.add("GT"sv);
      break;
    case ExpireIf::earlier:
      args.add("LT"sv);
      break;
  }
}

void ScoreRange::append_to(Args& args) const {
  const bool down = options.order == Order::descending;
  (down ? max : min).append_to(args);
  (down ? min : max).append_to(args);
  args.add("BYSCORE"sv);
  options.append_to(args);
}

void MaxLength::append_to(Args& args) const {
  args.add("MAXLEN"sv).add(exact ? "="sv : "~"sv).add(length);
}

void Count::append_to(Args& args) const {
  if (count) args.add("COUNT"sv).add(*count);
}

namespace {

/// What PTTL and PEXPIRETIME say: -2 no such key, -1 no expiry, else milliseconds.
template <class T, class FromMilliseconds>
Result<std::optional<T>> expiry(const Reply& r, T never, FromMilliseconds make) {
  const auto value = to_integer(r);
  if (!value) return value.error();
  if (*value == -2) return std::optional<T>();
  if (*value == -1) return std::optional<T>(never);
  return std::optional<T>(make(std::chrono::milliseconds(*value)));
}

}  // namespace

using std::chrono::milliseconds;
using std::chrono::system_clock;

Result<std::optional<milliseconds>> Converter<std::optional<milliseconds>>::from(Reply&& r) {
  return expiry(r, no_expiry, [](milliseconds ms) { return ms; });
}

Result<std::optional<system_clock::time_point>>
Converter<std::optional<system_clock::time_point>>::from(Reply&& r) {
  return expiry(r, never_expires, [](milliseconds ms) {
    // The server's 64 bits of milliseconds reach further than this clock's.
    constexpr auto last = never_expires - system_clock::duration(1);
    return ms < std::chrono::floor<milliseconds>(last.time_since_epoch())
               ? system_clock::time_point(ms)
               : last;
  });
}

Result<std::chrono::seconds> Converter<std::chrono::seconds>::from(Reply&& r) {
  const auto value = to_integer(r);
  if (!value) return value.error();
  return std::chrono::seconds(*value);
}

Result<system_clock::time_point> Converter<system_clock::time_point>::from(Reply&& r) {
  auto parts = Converter<std::pair<std::int64_t, std::int64_t>>::from(std::move(r));
  if (!parts) return std::move(parts).error();
  return system_clock::time_point(std::chrono::seconds(parts->first) +
                                  std::chrono::microseconds(parts->second));
}

Result<StreamEntry> Converter<StreamEntry>::from(Reply&& r) {
  auto parts = Converter<std::pair<std::string, decltype(StreamEntry::fields)>>::from(std::move(r));
  if (!parts) return std::move(parts).error();
  return StreamEntry{std::move(parts->first), std::move(parts->second)};
}

}  // namespace detail

}  // namespace slotwise
