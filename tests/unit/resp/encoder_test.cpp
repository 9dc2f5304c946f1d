#include "resp/encoder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "parse.hpp"

namespace slotwise::resp::test {
namespace {

std::string encode(const std::vector<std::string_view>& words) {
  std::string out;
  append_command(out, words);
  CHECK(out.size() == encoded_size(words));
  CHECK(out.size() <= encoded_bound(words));
  return out;
}

}  // namespace

TEST_CASE("a command is an array of bulk strings") {
  CHECK(encode({"PING"}) == "*1\r\n$4\r\nPING\r\n");
  CHECK(encode({"GET", "k"}) == "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  CHECK(encode({"SET", "", ""}) == "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n");
  CHECK(encode({std::string_view("\0\r\n\xff", 4)}) ==
        std::string("*1\r\n$4\r\n\0\r\n\xff\r\n", 14));
  CHECK(encode({std::string_view()}) == "*1\r\n$0\r\n\r\n");
}

TEST_CASE("commands are appended") {
  std::string out = "x";
  append_command(out, std::array<std::string_view, 1>{"A"});
  append_command(out, std::array<std::string_view, 2>{"B", "c"});
  CHECK(out == "x*1\r\n$1\r\nA\r\n*2\r\n$1\r\nB\r\n$1\r\nc\r\n");
}

TEST_CASE("a prepared head gives the same bytes, and nothing is written beyond the room") {
  const std::vector<std::vector<std::string_view>> commands = {
      {"PING"},
      {"GET", "key"},
      {"GET", std::string_view("0123456789", 10)},
      {"OBJECT", "ENCODING", "key"},
      {"ZREVRANGEBYSCORE", "key", "1", "2"},
      {"XAUTOCLAIM", "", ""},
      {"A-NAME-THAT-IS-LONGER-THAN-A-HEAD-MAY-BE", "key"}};
  for (const auto& words : commands) {
    const bool two = words[0] == "OBJECT";
    const Head head = make_head(two ? "OBJECT ENCODING" : words[0]);
    CHECK((head.words == 0) == (words[0].size() > 30));
    const std::string expected = encode(words);
    bool fitted = false;
    for (std::size_t room = 0; room < 400; ++room) {
      std::string place(room + 16, '#');
      const std::size_t size = write_if_fits(place.data(), room, head, words);
      CHECK(place.substr(room) == std::string(16, '#'));
      if (size != 0) CHECK(place.substr(0, size) == expected);
      CHECK((size != 0 || !fitted));  // once it fits, it fits
      fitted = size != 0;
    }
    CHECK(fitted);
  }
}

TEST_CASE("with a prepared head long words and many of them are right too") {
  for (const std::size_t size : {9, 10, 99, 100, 500, 900, 999, 1000, 20'000}) {
    const std::string word(size, 'w');
    const std::vector<std::string_view> words = {"SET", "k", word};
    CHECK(CommandBytes(make_head("SET"), words).view() == encode(words));
    std::string place(4000, '#');
    const std::size_t written = write_if_fits(place.data(), place.size(), make_head("SET"), words);
    if (written != 0) CHECK(place.substr(0, written) == encode(words));
  }
  for (const std::size_t count : {9, 10, 50, 99, 100, 101, 1000}) {
    std::vector<std::string_view> words(count, "w");
    words[0] = "DEL";
    std::string place(4000, '#');
    const std::size_t written = write_if_fits(place.data(), place.size(), make_head("DEL"), words);
    if (written != 0) CHECK(place.substr(0, written) == encode(words));
    CHECK(CommandBytes(make_head("DEL"), words).view() == encode(words));
  }
}

TEST_CASE("lengths around every power of ten read back") {
  for (const std::size_t size :
       {1,  2,   3,   4,   5,    7,    8,      9,      10,      11,      15,        16,        17,
        99, 100, 101, 999, 1000, 9999, 10'000, 99'999, 100'000, 999'999, 1'000'000, 10'000'000}) {
    std::string word(size, 'w');
    for (std::size_t i = 0; i != word.size(); ++i)
      word[i] = static_cast<char>('a' + i % 26);
    const Outcome outcome = run(encode({word, "x"}));
    REQUIRE(outcome.replies.size() == 1);
    CHECK(outcome.replies[0] == array({str(word), str("x")}));
  }
  for (const std::size_t count : {9, 10, 11, 99, 100, 101, 1000, 100'000}) {
    const Outcome outcome = run(encode(std::vector<std::string_view>(count, "w")));
    REQUIRE(outcome.replies.size() == 1);
    CHECK(outcome.replies[0].elements().size() == count);
  }
}

}  // namespace slotwise::resp::test
