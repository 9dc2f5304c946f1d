#include "routing/words.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "resp/encoder.hpp"

using namespace slotwise;

TEST_CASE("words survive encoding, bytes and emptiness included") {
  const std::vector<std::string_view> words = {"SET", std::string_view("a\0\r\n$3", 6), "", "x"};
  std::string bytes;
  resp::append_command(bytes, words);
  CHECK(routing::words_of(bytes) == words);
}

TEST_CASE("EVALSHA becomes EVAL with the body") {
  const std::vector<std::string_view> words = {"EVALSHA", "abcd", "1", "k", "arg"};
  std::string bytes;
  resp::append_command(bytes, words);
  const std::string eval = routing::evalsha_as_eval(bytes, "return 1");
  CHECK(routing::words_of(eval) ==
        std::vector<std::string_view>{"EVAL", "return 1", "1", "k", "arg"});
}
