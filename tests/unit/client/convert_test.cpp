// convert<T>() for each T, from the bytes that a server sends: RESP2 and RESP3 beside each other.

#include <slotwise/convert.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <slotwise/commands/streams.hpp>
#include <slotwise/commands/time.hpp>

#include "resp/parser.hpp"

namespace {

using slotwise::convert;
using slotwise::Error;
using slotwise::ErrorCode;
using slotwise::Outcome;
using slotwise::Reply;
using slotwise::ReplyView;
using slotwise::Result;
using Pairs = std::vector<std::pair<std::string, double>>;
using Texts = std::vector<std::string>;
using Fields = std::map<std::string, std::string>;
template <class T>
using maybe = std::optional<T>;

/// "|" stands for the end of a line.
std::string lines(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '|') {
      text += "\r\n";
    } else {
      text += c;
    }
  }
  return text;
}

/// The reply that these bytes are.
Reply reply(std::string_view bytes) {
  const std::string text = lines(bytes);
  slotwise::resp::Parser parser;
  parser.feed(text);
  Reply out;
  INFO(text << parser.protocol_error());
  REQUIRE(parser.next(out) == slotwise::resp::Status::reply);
  REQUIRE(parser.buffered() == 0);
  return out;
}

/// Of the bytes as they lie in the buffer; what is no scalar is whole there, too.
template <class T>
Result<T> convert_view(std::string_view bytes) {
  const std::string text = lines(bytes);
  slotwise::resp::Parser parser;
  parser.feed(text);
  ReplyView view;
  if (parser.next_scalar(view)) return convert<T>(view);
  Reply whole = reply(bytes);
  ReplyView of_whole(whole);
  return convert<T>(of_whole);
}

template <class T>
T as(std::string_view bytes) {
  INFO(bytes);
  T value = convert<T>(reply(bytes)).value();
  if constexpr (std::equality_comparable<T>) {
    if (value == value) CHECK(convert_view<T>(bytes).value() == value);  // no NaN
  }
  return value;
}

template <class T>
Error failure(std::string_view bytes) {
  const Result<T> result = convert<T>(reply(bytes));
  INFO(bytes);
  REQUIRE_FALSE(result.has_value());
  const Result<T> of_view = convert_view<T>(bytes);
  REQUIRE_FALSE(of_view.has_value());
  CHECK(of_view.error().message() == result.error().message());
  return result.error();
}

/// That T cannot be had from this; gives the message.
template <class T>
std::string mismatch(std::string_view bytes) {
  const Error error = failure<T>(bytes);
  CHECK(error.code() == ErrorCode::type_mismatch);
  CHECK(error.outcome() == Outcome::executed);
  return std::string(error.message());
}

}  // namespace

TEST_CASE("convert: text") {
  CHECK(as<std::string>("$5|hello|") == "hello");
  CHECK(as<std::string>("+OK|") == "OK");
  CHECK(as<std::string>("=9|txt:hello|") == "hello");
  CHECK(as<std::string>("$0||").empty());
  CHECK(as<std::string>("(12345678901234567890123|") == "12345678901234567890123");
  // What RESP2 sends as text, RESP3 sends typed.
  CHECK(as<std::string>("$3|1.5|") == as<std::string>(",1.5|"));
  CHECK(as<std::string>("$6|100000|") == as<std::string>(",100000|"));
  CHECK(as<std::string>("$3|inf|") == as<std::string>(",inf|"));
  CHECK(as<std::string>("$5|1e+20|") == as<std::string>(",1e20|"));
  CHECK(as<std::string>(":1|") == as<std::string>("#t|"));
  CHECK(as<std::string>(":-7|") == "-7");
  mismatch<std::string>("*0|");
}

TEST_CASE("convert: integers") {
  CHECK(as<std::int64_t>(":42|") == 42);
  CHECK(as<std::int64_t>("$2|42|") == 42);
  CHECK(as<std::int64_t>(",42|") == 42);
  CHECK(as<std::int64_t>("#t|") == 1);
  CHECK(as<std::int64_t>("(42|") == 42);
  CHECK(as<long long>(":-9223372036854775808|") == std::numeric_limits<long long>::min());
  CHECK(as<unsigned char>(":255|") == 255);
  CHECK(as<std::uint64_t>(":0|") == 0);

  mismatch<unsigned char>(":256|");
  mismatch<unsigned>(":-1|");
  mismatch<std::int64_t>("$19|9223372036854775808|");
  mismatch<std::int64_t>(",9.3e18|");
  mismatch<std::int64_t>(",1.5|");
  mismatch<std::int64_t>(",nan|");
  mismatch<std::int64_t>("$3|4x2|");
  mismatch<std::int64_t>("$3| 42|");
  mismatch<std::int64_t>("$0||");
  mismatch<std::int64_t>("*1|:1|");
}

TEST_CASE("convert: doubles") {
  for (const std::string_view bytes : {"$4|2.25|", ",2.25|"})
    CHECK(as<double>(bytes) == 2.25);
  for (const std::string_view bytes : {"$3|inf|", ",inf|"})
    CHECK(std::isinf(as<double>(bytes)));
  for (const std::string_view bytes : {"$4|-inf|", ",-inf|"})
    CHECK(as<double>(bytes) < 0);
  for (const std::string_view bytes : {"$3|nan|", ",nan|"})
    CHECK(std::isnan(as<double>(bytes)));
  CHECK(as<double>(":3|") == 3.0);
  CHECK(as<float>("$3|0.5|") == 0.5F);
  mismatch<double>("$3|1,5|");
  mismatch<double>("$0||");
  mismatch<double>("#t|");
}

TEST_CASE("convert: bool") {
  for (const std::string_view yes : {":1|", "#t|", "+OK|", ":2|"})
    CHECK(as<bool>(yes));
  for (const std::string_view no : {":0|", "#f|", "$-1|", "*-1|", "_|"})
    CHECK_FALSE(as<bool>(no));
  mismatch<bool>("$4|true|");
  mismatch<bool>("+QUEUED|");
  mismatch<bool>("*1|:1|");
}

TEST_CASE("convert: void takes everything but an error") {
  CHECK(convert<void>(reply("+OK|")).has_value());
  CHECK(convert<void>(reply("_|")).has_value());
  CHECK(convert<void>(reply("*1|-ERR x|")).has_value());
  CHECK(failure<void>("-ERR no|").code() == ErrorCode::server);
}

TEST_CASE("convert: optional") {
  for (const std::string_view nil : {"$-1|", "*-1|", "_|"}) {
    CHECK(as<maybe<std::string>>(nil) == std::nullopt);
    CHECK(as<maybe<Texts>>(nil) == std::nullopt);
    CHECK(as<maybe<double>>(nil) == std::nullopt);
  }
  CHECK(as<maybe<std::string>>("$0||") == "");
  CHECK(as<maybe<bool>>(":0|") == false);
  CHECK(mismatch<std::string>("_|") ==
        "asked for text, but the reply is nil: ask for std::optional");
  // ZPOPMIN of no key: an empty array.
  CHECK(as<maybe<std::pair<std::string, double>>>("*0|") == std::nullopt);
  CHECK(as<maybe<Texts>>("*0|") == Texts());
}

TEST_CASE("convert: pair and tuple") {
  using Pair = std::pair<std::string, double>;
  for (const std::string_view bytes : {"*2|$1|m|$3|1.5|", "*2|$1|m|,1.5|"}) {
    CHECK(as<Pair>(bytes) == Pair("m", 1.5));
    CHECK(as<maybe<Pair>>(bytes) == Pair("m", 1.5));
  }
  using Three = std::tuple<std::string, std::string, double>;
  for (const std::string_view bytes : {"*3|$1|k|$1|m|$3|1.5|", "*3|$1|k|$1|m|,1.5|"}) {
    CHECK(as<maybe<Three>>(bytes) == Three("k", "m", 1.5));
  }
  CHECK(as<maybe<Three>>("_|") == std::nullopt);
  CHECK(as<std::tuple<>>("*0|") == std::tuple<>());
  mismatch<Pair>("*3|$1|a|$1|1|$1|1|");
  mismatch<Pair>("*2|$1|m|$1|x|");
  mismatch<Three>("*2|$1|a|$1|b|");
  mismatch<Three>("*3|$1|k|$1|m|$1|x|");
  mismatch<Three>("$1|a|");
}

TEST_CASE("convert: sequences") {
  for (const std::string_view bytes : {"*2|$1|a|$1|b|", "~2|$1|a|$1|b|", "%1|$1|a|$1|b|"}) {
    CHECK(as<Texts>(bytes) == Texts{"a", "b"});
    CHECK(as<std::deque<std::string>>(bytes) == std::deque<std::string>{"a", "b"});
    CHECK(as<std::list<std::string>>(bytes) == std::list<std::string>{"a", "b"});
  }
  CHECK(as<Texts>("*0|").empty());
  CHECK(as<Texts>("*-1|").empty());  // LPOP of no key with a count
  CHECK(as<Texts>("_|").empty());
  CHECK(as<std::vector<bool>>("*2|:1|:0|") == std::vector<bool>{true, false});
  CHECK(as<std::vector<maybe<std::string>>>("*3|$1|a|$-1|$0||") ==
        std::vector<maybe<std::string>>{"a", std::nullopt, ""});
  for (const std::string_view bytes : {"*2|$3|1.5|$-1|", "*2|,1.5|_|"}) {
    CHECK(as<std::vector<maybe<double>>>(bytes) == std::vector<maybe<double>>{1.5, std::nullopt});
  }
  CHECK(as<std::vector<Texts>>("*2|*1|$1|a|*0|") == std::vector<Texts>{{"a"}, {}});
  mismatch<Texts>("$1|a|");
  mismatch<Texts>("*2|$1|a|*0|");
  mismatch<Texts>("*1|_|");
}

TEST_CASE("convert: lists of pairs, flat and nested") {
  const Pairs two{{"a", 1}, {"b", 2.5}};
  for (const std::string_view bytes : {
           "*4|$1|a|$1|1|$1|b|$3|2.5|",    // RESP2: ZRANGE WITHSCORES, ZPOPMIN k 2
           "*2|*2|$1|a|,1|*2|$1|b|,2.5|",  // RESP3: the same
           "%2|$1|a|,1|$1|b|,2.5|",        // RESP3: a map
       }) {
    CHECK(as<Pairs>(bytes) == two);
    CHECK(as<std::map<std::string, double>>(bytes) ==
          std::map<std::string, double>(two.begin(), two.end()));
  }
  CHECK(as<Pairs>("*2|$1|a|,1|") == Pairs{{"a", 1}});  // RESP3: ZPOPMIN k
  for (const std::string_view bytes : {"*0|", "*-1|", "_|", "%0|"})
    CHECK(as<Pairs>(bytes).empty());
  mismatch<Pairs>("*3|$1|a|$1|1|$1|b|");
  mismatch<Pairs>("*2|*2|$1|a|,1|*3|$1|b|,1|,2|");
  mismatch<Pairs>("*2|*2|$1|a|,1|$1|b|");
  mismatch<Pairs>("+OK|");
}

TEST_CASE("convert: maps") {
  for (const std::string_view bytes : {"*4|$1|f|$1|v|$1|g|$0||", "%2|$1|f|$1|v|$1|g|$0||"}) {
    CHECK(as<Fields>(bytes) == Fields{{"f", "v"}, {"g", ""}});
    CHECK(as<std::unordered_map<std::string, std::string>>(bytes).at("f") == "v");
    CHECK(as<std::multimap<std::string, std::string>>(bytes).size() == 2);
    CHECK(as<std::vector<std::pair<std::string, std::string>>>(bytes).front().second == "v");
  }
  CHECK(as<Fields>("*0|").empty());
  using Nested = std::map<std::string, std::map<std::string, int>>;
  for (const std::string_view bytes : {"*2|$1|a|*2|$1|x|:1|", "%1|$1|a|%1|$1|x|:1|"}) {
    CHECK(as<Nested>(bytes) == Nested{{"a", {{"x", 1}}}});
  }
  mismatch<Fields>("*1|$1|f|");
  mismatch<Fields>("%1|$1|f|_|");
}

TEST_CASE("convert: sets") {
  for (const std::string_view bytes : {"*2|$1|b|$1|a|", "~2|$1|b|$1|a|"}) {
    CHECK(as<std::set<std::string>>(bytes) == std::set<std::string>{"a", "b"});
    CHECK(as<std::unordered_set<std::string>>(bytes).count("a") == 1);
  }
  CHECK(as<std::set<int>>("*3|:1|:1|$1|2|") == std::set<int>{1, 2});
  mismatch<std::set<std::string>>("$1|a|");
  mismatch<std::set<std::string>>("~1|~0|");
}

TEST_CASE("convert: stream entries") {
  using slotwise::StreamEntry;
  using Entries = std::vector<StreamEntry>;
  const Entries entries{{"1-1", {{"f", "v"}}}, {"2-0", {{"f", "v"}, {"f", "w"}}}};
  constexpr std::string_view bytes = "*2|*2|$3|1-1|*2|$1|f|$1|v|*2|$3|2-0|*4|$1|f|$1|v|$1|f|$1|w|";
  CHECK(as<Entries>(bytes) == entries);
  using Streams = std::vector<std::pair<std::string, Entries>>;
  const Streams streams{{"s", entries}};
  CHECK(as<Streams>("*1|*2|$1|s|" + std::string(bytes)) == streams);
  CHECK(as<Streams>("%1|$1|s|" + std::string(bytes)) == streams);
  CHECK(as<Streams>("*-1|").empty());
  CHECK(as<Streams>("_|").empty());
  CHECK(as<Entries>("*1|*2|$3|1-1|*-1|") == Entries{{"1-1", {}}});
  mismatch<Entries>("*1|$3|1-1|");
}

TEST_CASE("convert: times") {
  using std::chrono::milliseconds;
  using std::chrono::system_clock;
  CHECK(as<maybe<milliseconds>>(":1500|") == milliseconds(1500));
  CHECK(as<maybe<milliseconds>>(":0|") == milliseconds(0));
  CHECK(as<maybe<milliseconds>>(":-1|") == slotwise::no_expiry);
  CHECK(as<maybe<milliseconds>>(":-2|") == std::nullopt);
  using Moment = system_clock::time_point;
  CHECK(as<maybe<Moment>>(":1500|") == Moment(milliseconds(1500)));
  CHECK(as<maybe<Moment>>(":-1|") == slotwise::never_expires);
  CHECK(as<maybe<Moment>>(":-2|") == std::nullopt);
  CHECK(as<maybe<Moment>>(":9223372036854775807|") < slotwise::never_expires);
  CHECK(as<maybe<Moment>>(":9223372036854775807|") > Moment(std::chrono::hours(24 * 365 * 290)));
  CHECK(as<Moment>("*2|$10|1700000000|$6|000007|") ==
        Moment(std::chrono::seconds(1700000000) + std::chrono::microseconds(7)));
  CHECK(as<maybe<std::chrono::seconds>>(":7|") == std::chrono::seconds(7));
  CHECK(as<maybe<std::chrono::seconds>>("_|") == std::nullopt);
  mismatch<maybe<milliseconds>>("+OK|");
  mismatch<Moment>("*1|$1|1|");
}

TEST_CASE("convert: Reply comes as it is") {
  CHECK(as<Reply>("%1|$1|a|#t|") == reply("%1|$1|a|#t|"));
  CHECK(as<Reply>("-ERR x|").is_error());
  const auto parts = as<std::vector<Reply>>("*2|:1|-ERR inside|");
  CHECK(parts[1].is_error());
}

TEST_CASE("convert: errors") {
  const Error top = failure<std::string>("-WRONGTYPE Operation against a key|");
  CHECK(top.code() == ErrorCode::server);
  CHECK(top.outcome() == Outcome::rejected);
  CHECK(top.server_text() == "WRONGTYPE Operation against a key");
  // In an element too, unless it is asked for as Reply.
  CHECK(failure<Texts>("*2|$1|a|-ERR inside|").server_text() == "ERR inside");
  CHECK(failure<Fields>("%1|$1|a|-ERR inside|").server_text() == "ERR inside");
  CHECK(failure<maybe<std::string>>("-ERR x|").code() == ErrorCode::server);

  for (const std::string_view bytes :
       {"-NOAUTH Authentication required.|", "-WRONGPASS x|", "-NOPERM x|", "-NOPERM|"}) {
    CHECK(failure<void>(bytes).code() == ErrorCode::auth_failed);
  }
  CHECK(failure<void>("-NOPERMIT x|").code() == ErrorCode::server);

  // A message holds no values, the server's own text may.
  const Error unknown =
      failure<void>("-ERR unknown command 'x', with args beginning with: 'secret' |");
  CHECK(unknown.message() == "ERR unknown command 'x'");
  CHECK(unknown.server_text().find("secret") != std::string_view::npos);
  CHECK(mismatch<int>("$6|secret|").find("secret") == std::string::npos);

  const Error given(ErrorCode::timeout, Outcome::unknown, "late");
  CHECK(convert<int>(Result<Reply>(given)).error().code() == ErrorCode::timeout);
  CHECK(convert<int>(Result<Reply>(Reply::make_integer(7))).value() == 7);
}

namespace {

/// Any reply of at most this depth.
Reply any_reply(std::mt19937& random, int depth) {
  using Type = Reply::Type;
  static constexpr std::string_view texts[] = {"", "OK", "-2", "7", "1.5", "inf", "1e999", "text"};
  const auto below = [&random](std::size_t end) { return random() % end; };
  switch (below(depth > 0 ? 8 : 5)) {
    case 0:
      return {};
    case 1:
      return Reply::make_integer(static_cast<std::int64_t>(random()) - (1LL << 31));
    case 2:
      return below(2) == 0 ? Reply::make_boolean(true) : Reply::make_real(1e300);
    case 3:
      return Reply::make_text(below(9) == 0 ? Type::error : Type::status, "OK");
    case 4:
      return Reply::make_text(Type::string, std::string(texts[below(std::size(texts))]));
    default:
      break;
  }
  std::vector<Reply> elements(below(5));
  for (Reply& element : elements)
    element = any_reply(random, depth - 1);
  static constexpr Type types[] = {Type::array, Type::array, Type::set};
  const Type type = elements.size() % 2 == 0 && below(3) == 0 ? Type::map : types[below(3)];
  return Reply::make_aggregate(type, std::move(elements));
}

template <class... T>
void convert_to_each(const Reply& reply) {
  const auto check = [](const auto& result) {
    if (result || result.error().code() == ErrorCode::server) return;
    if (result.error().code() != ErrorCode::type_mismatch) FAIL(result.error().what());
  };
  (check(convert<T>(Reply(reply))), ...);
}

}  // namespace

TEST_CASE("convert: whatever a server sends gives a value or a mismatch") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    convert_to_each<std::string, std::int64_t, unsigned char, double, bool, maybe<std::string>,
                    Texts, Pairs, Fields, std::set<int>, std::vector<maybe<double>>,
                    maybe<std::pair<std::string, double>>, std::tuple<std::string, int, double>,
                    std::vector<slotwise::StreamEntry>, std::map<std::string, std::vector<int>>,
                    maybe<std::chrono::milliseconds>, maybe<std::chrono::system_clock::time_point>>(
        any_reply(random, 3));
  }
}
