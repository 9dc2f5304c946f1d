#include "hotkey/names.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

#include <slotwise/slot.hpp>

#include "hotkey/tags.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;

TEST_CASE("hotkey: every slot has a tag of three letters that leads there") {
  std::set<std::string> seen;
  for (int i = 0; i < slot_count; ++i) {
    const auto s = static_cast<std::uint16_t>(i);
    const std::string tag(tag_of(s));
    REQUIRE(tag.size() == 3);
    REQUIRE(tag.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
            std::string::npos);
    REQUIRE(slot("{" + tag + "}x") == s);
    seen.insert(tag);
  }
  CHECK(seen.size() == slot_count);
}

TEST_CASE("hotkey: tags do not change, since keys in clusters are named by them") {
  CHECK(tag_of(0) == "oQQ");
  CHECK(tag_of(1) == "ltS");
  CHECK(tag_of(7000) == "lpm");
  CHECK(tag_of(16383) == "prH");
}

TEST_CASE("hotkey: names lie in their slots, whatever braces the key has") {
  using namespace std::string_literals;
  const std::string keys[] = {"",
                              "k",
                              "{k}",
                              "{",
                              "}",
                              "{}",
                              "{}{a}",
                              "}{",
                              "a{b}c{d}",
                              "{{a}}",
                              "\0\xff{\n}"s,
                              "{abc}slotwise:copy:k",
                              std::string(70'000, '{')};
  std::set<std::string> all;
  for (const std::string& key : keys) {
    CHECK(slot(manifest_name(key)) == slot(key));
    all.insert(manifest_name(key));
    for (const std::uint16_t s : {std::uint16_t{0}, std::uint16_t{8191}, std::uint16_t{16383}}) {
      CHECK(slot(copy_name(key, s)) == s);
      CHECK(slot(mark_name(key, s)) == s);
      CHECK(copy_name(key, s).ends_with("slotwise:copy:" + key));
      all.insert(copy_name(key, s));
      all.insert(mark_name(key, s));
    }
  }
  CHECK(all.size() == std::size(keys) * 7);
}
