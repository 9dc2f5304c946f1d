// Several words, fields or members, from whatever range.
#include <array>
#include <chrono>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "unit/client/commands_kit.hpp"

using namespace slotwise;
using namespace slotwise::client::testing;
using namespace std::chrono_literals;

namespace {

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
template <class K>
concept can_delete = requires(const Recorder& f, K keys) {
  f.del(keys);
};
template <class R>
concept can_hset = requires(const Recorder& f, R fields) {
  f.hset("k", fields);
};
template <class R>
concept can_zadd = requires(const Recorder& f, R members) {
  f.zadd("k", members);
};

static_assert(can_delete<std::string> && can_delete<texts> && can_delete<std::set<std::string>>);
static_assert(!can_delete<int> && !can_delete<std::vector<int>> && !can_delete<std::nullptr_t>);
static_assert(can_hset<std::map<std::string, std::string>> && !can_hset<std::map<int, int>>);
static_assert(!can_hset<texts>);
static_assert(can_zadd<std::map<std::string, double>> && can_zadd<std::map<std::string, int>>);
static_assert(!can_zadd<std::map<double, std::string>>);

}  // namespace

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
