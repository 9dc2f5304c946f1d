#include "cli/core/line_words.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;
using slotwise::cli::LineWords;

namespace {

std::vector<std::string> words(std::string_view line) {
  LineWords split;
  const auto wrong = split.split(line);
  REQUIRE_FALSE(wrong);
  return {split.words().begin(), split.words().end()};
}

std::string wrong(std::string_view line) {
  LineWords split;
  const auto text = split.split(line);
  REQUIRE(text);
  CHECK(split.empty());
  return *text;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("bare words are separated by blanks") {
  CHECK(words("SET k v") == Strings{"SET", "k", "v"});
  CHECK(words("  SET\t k   v \r") == Strings{"SET", "k", "v"});
  CHECK(words(R"(GET a\b)") == Strings{"GET", R"(a\b)"});
}

TEST_CASE("empty lines and comments have no words") {
  CHECK(words("").empty());
  CHECK(words(" \t\r").empty());
  CHECK(words("# SET k v").empty());
  CHECK(words("  # SET k \"open").empty());
  CHECK(words("GET #k") == Strings{"GET", "#k"});
}

TEST_CASE("escapes in double quotes stand for bytes") {
  CHECK(words(R"(SET k "a\n\r\t\a\b\\\"z")") == Strings{"SET", "k", "a\n\r\t\a\b\\\"z"});
  CHECK(words(R"("a\x00b")") == Strings{"a\0b"s});
  CHECK(words(R"("\xff\xFE\x7f")") == Strings{"\xff\xfe\x7f"});
  CHECK(words(R"("it's")") == Strings{"it's"});
}

TEST_CASE("single quotes keep every byte") {
  CHECK(words(R"('a\n"b')") == Strings{R"(a\n"b)"});
  CHECK(words("''") == Strings{""});
  CHECK(words("\"\" x") == Strings{"", "x"});
}

TEST_CASE("parts that touch make one word") {
  CHECK(words(R"(a"b c"'d e'f)") == Strings{"ab cd ef"});
  CHECK(words(R"("a""b")") == Strings{"ab"});
}

TEST_CASE("bytes of every kind pass through") {
  std::string all;
  for (int i = 0; i < 256; ++i) {
    if (i != '\n' && i != '\'') all += static_cast<char>(i);
  }
  CHECK(words("'" + all + "'") == Strings{all});
  CHECK(words("a\0b c"s) == Strings{"a\0b"s, "c"});
}

TEST_CASE("what cannot be read is named with its place") {
  CHECK(wrong("SET k \"open") == "column 7: the double quote opened here is never closed");
  CHECK(wrong("SET 'open") == "column 5: the single quote opened here is never closed");
  CHECK(wrong(R"("ends with \)").find("never closed") != std::string::npos);
  CHECK(wrong(R"("\x0")").find("two hex digits") != std::string::npos);
  CHECK(wrong(R"("\xg0")").find("column 2") != std::string::npos);
  CHECK(wrong(R"("\d")").find("unknown escape") != std::string::npos);
}

TEST_CASE("words stay valid while the object is used again") {
  LineWords split;
  std::string open = "\"open";
  open.append(1000, 'x').append("\"");
  REQUIRE_FALSE(split.split(open));
  CHECK(split.words().size() == 1);
  REQUIRE_FALSE(split.split("a b c"));
  CHECK(split.words().size() == 3);
  CHECK(split.words()[2] == "c");
}
