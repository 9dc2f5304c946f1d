#include "hotkey/manifest.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>
#include <vector>

#include "server/hotkey_damage.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using test::good_manifest;

namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

Reply reply_of(const Named& fields, Reply::Type type = Reply::Type::array) {
  std::vector<Reply> all;
  for (const auto& [name, value] : fields) {
    all.push_back(Reply::make_text(Reply::Type::string, name));
    all.push_back(Reply::make_text(Reply::Type::string, value));
  }
  return Reply::make_aggregate(type, std::move(all));
}

void put(Named& fields, const test::Damage& damage) {
  std::erase_if(fields, [&damage](const auto& each) { return each.first == damage.field; });
  if (!damage.removed) fields.emplace_back(damage.field, damage.value);
}

using State = CopyPlace::State;

}  // namespace

TEST_CASE("hotkey: a manifest says what was written") {
  for (const auto type : {Reply::Type::array, Reply::Type::map}) {
    const auto m = read_manifest("k", reply_of(good_manifest(), type));
    REQUIRE(m);
    CHECK(m->number == 12);
    CHECK(m->kind == Kind::value);
    CHECK(m->per_primary == 1);
    CHECK(m->copies == std::vector<CopyPlace>{{7000, State::ready}, {120, State::joining}});
    CHECK(m->version == 1796008442598000);
    CHECK(m->expires == 0);
    CHECK(m->changed_at == 1796008442598);
    CHECK_FALSE(m->joined);
  }
}

TEST_CASE("hotkey: all that a manifest can say is read") {
  Named fields = good_manifest();
  for (const test::Damage& other : std::vector<test::Damage>{{"kind", "counter"},
                                                             {"copies", "0l 16383r"},
                                                             {"per_primary", "0"},
                                                             {"number", "9007199254740991"},
                                                             {"version", "0"},
                                                             {"expires", "-1"},
                                                             {"restored", "9000000000000000"},
                                                             {"lock", std::string("\xff\0", 2)},
                                                             {"lock_until", "9007199254740991"},
                                                             {"joined", "1"}}) {
    put(fields, other);
  }
  const auto m = read_manifest("k", reply_of(fields));
  REQUIRE(m);
  CHECK(m->kind == Kind::counter);
  CHECK(m->copies == std::vector<CopyPlace>{{0, State::leaving}, {16383, State::ready}});
  CHECK(copies_text(m->copies) == "0l 16383r");
  CHECK(m->per_primary == 0);
  CHECK(m->number == 9007199254740991);
  CHECK(m->expires == -1);
  CHECK(m->joined);

  put(fields, {"copies", ""});
  CHECK(read_manifest("k", reply_of(fields)).value().copies.empty());
  CHECK(copies_text({}).empty());
}

TEST_CASE("hotkey: a malformed manifest is an error that names key and field") {
  for (const test::Damage& damage : test::damages()) {
    Named fields = good_manifest();
    put(fields, damage);
    const auto m = read_manifest("cart:7", reply_of(fields));
    INFO(damage.field << " = '" << damage.value << "'" << (damage.removed ? " removed" : ""));
    REQUIRE_FALSE(m);
    const std::string text(m.error().message());
    INFO(text);
    CHECK(m.error().code() == ErrorCode::damaged);
    CHECK(m.error().outcome() == Outcome::rejected);
    CHECK(text.find("\"cart:7\"") != std::string::npos);
    CHECK(text.find("field " + damage.field + " ") != std::string::npos);
  }
}

TEST_CASE("hotkey: what is no list of fields at all is no manifest") {
  CHECK_FALSE(read_manifest("k", Reply()));
  CHECK_FALSE(read_manifest("k", Reply::make_integer(1)));
  CHECK_FALSE(read_manifest("k", Reply::make_text(Reply::Type::string, "format")));
  CHECK_FALSE(read_manifest("k", reply_of({})));
  auto odd = reply_of(good_manifest()).take_elements();
  odd.pop_back();
  CHECK_FALSE(read_manifest("k", Reply::make_aggregate(Reply::Type::array, std::move(odd))));
  Named twice = good_manifest();
  twice.emplace_back("number", "13");
  CHECK_FALSE(read_manifest("k", reply_of(twice)));
  Named numbers = good_manifest();
  auto elements = reply_of(numbers).take_elements();
  elements[3] = Reply::make_integer(12);
  CHECK_FALSE(read_manifest("k", Reply::make_aggregate(Reply::Type::array, std::move(elements))));
}

TEST_CASE("hotkey: a message about a binary or a long key can be shown") {
  const std::string text(damaged(std::string("a\0\n\xff\"", 5), "x").message());
  CHECK(text == R"(the hot key "a\x00\n\xff\"" is damaged: x)");
  CHECK(damaged(std::string(100'000, 'k'), "x").message().size() < 200);
}
