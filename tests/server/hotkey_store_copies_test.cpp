// The scripts of a copy's slot and of a counter's parts, each call's every answer, against a real
// cluster.
#include "server/hotkey_store_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using namespace slotwise::test::scripts;
using namespace std::string_literals;

TEST_CASE("hotkey: a copy takes what is newer") {
  const Scene s;
  const Store& store = s.store;
  const std::string name = copy_name("k", at);
  const std::string mark = mark_name("k", at);
  const std::int64_t hour = wall_ms() + 3'600'000;
  const auto put = [&](std::uint64_t version, std::optional<std::string_view> value,
                       std::int64_t expires = 0) {
    return store.put("k", at, version, expires, value).wait().value();
  };
  const auto look = [&] { return store.look_copy("k", at, true).wait().value(); };

  SECTION("and says what it has") {
    CHECK(look().status == Holds::lost);
    CHECK(put(10, "ten").status == Holds::written);
    CHECK(s.client.get(name) == "10:ten");
    const Copy older = put(9, "nine");
    CHECK(older.status == Holds::newer);
    CHECK(older.version == 10);
    CHECK(put(10, "ten").status == Holds::written);
    Copy copy = look();
    CHECK(copy.status == Holds::value);
    CHECK(copy.version == 10);
    CHECK(copy.value == "ten");
    CHECK(copy.expires == 0);
    CHECK_FALSE(store.look_copy("k", at, false).wait().value().value);
    CHECK(put(11, "eleven", hour).status == Holds::written);
    CHECK(s.expires_at(name) == hour);
    CHECK(look().expires == hour);
    CHECK(put(12, "twelve").status == Holds::written);
    CHECK(s.expires_at(name) == -1);
    const Stored stored = store.get("k", at).wait().value();
    CHECK(stored.version == 12);
    CHECK(stored.value == "twelve");
  }
  SECTION("a deleted value does not come back") {
    put(10, "ten");
    CHECK(put(12, {}).status == Holds::written);
    CHECK(s.client.exists({name}) == 0);
    CHECK(put(11, "late").status == Holds::newer);
    CHECK(put(12, {}).status == Holds::written);
    CHECK(s.client.exists({name}) == 0);
    CHECK(look().status == Holds::deleted);
    CHECK(look().version == 12);
    CHECK(store.get("k", at).wait().error().code() == ErrorCode::not_split);
    CHECK(s.client.command<std::int64_t>("PTTL", mark) == -1);
    CHECK(put(13, "new").status == Holds::written);
    CHECK(look().value == "new");
  }
  SECTION("nor does one that has expired") {
    put(10, "ten", wall_ms() + 1);
    kit::wait_until([&] { return s.client.exists({name}) == 0; }, 5s, "the copy to expire");
    CHECK(look().status == Holds::expired);
    CHECK(put(9, "late").status == Holds::newer);
    CHECK(put(11, "over", wall_ms() - 1000).status == Holds::written);
    CHECK(s.client.exists({name}) == 0);
    CHECK(look().status == Holds::expired);
    CHECK(look().version == 11);
  }
  SECTION("a lost value is put back by the version that it had") {
    put(10, "ten", hour);
    s.client.del({name});
    CHECK(look().status == Holds::lost);
    CHECK(look().version == 10);
    CHECK(put(9, "nine").status == Holds::newer);
    CHECK(s.client.exists({name}) == 0);
    CHECK(put(10, "ten", hour).status == Holds::written);
    CHECK(look().value == "ten");
    CHECK(s.expires_at(name) == hour);
  }
  SECTION("a copy that lost its mark still has its version") {
    put(10, "ten", hour);
    s.client.del({mark});
    CHECK(put(9, "nine").status == Holds::newer);
    CHECK(look().value == "ten");
    CHECK(look().expires == hour);
    CHECK(put(10, "ten", hour).status == Holds::written);
    CHECK(s.client.get(mark) == "10:" + std::to_string(hour) + ":0");
  }
  SECTION("bytes of all kinds") {
    std::string all;
    for (int c = 0; c < 256; ++c)
      all += static_cast<char>(c);
    const std::string large(10'000'000, '\0');
    std::uint64_t version = 1;
    for (const std::string& value : {""s, ":"s, "1:"s, all, large}) {
      CHECK(put(++version, value).status == Holds::written);
      CHECK(store.get("k", at).wait().value().value == value);
      CHECK(look().value == value);
      CHECK(look().version == version);
    }
    for (const std::string& key : {""s, "{"s, "{x}"s, "\0}{"s}) {
      CHECK(store.put(key, at, 1, 0, "v").wait().value().status == Holds::written);
      CHECK(store.get(key, at).wait().value().value == "v");
    }
  }
  SECTION("what is no copy is an error, and is written over") {
    for (const char* bad : {"", "x", "10", ":x", "0:x", "1x:y", "-1:x", "99999999999999999999:x",
                            "9000000000000001:x"}) {
      INFO(bad);
      s.client.set(name, bad);
      const auto got = store.get("k", at).wait();
      REQUIRE_FALSE(got);
      CHECK(got.error().code() == ErrorCode::damaged);
      CHECK(got.error().message().find(name) != std::string_view::npos);
      CHECK(look().status == Holds::lost);
    }
    CHECK(put(5, "five").status == Holds::written);
    CHECK(look().value == "five");
    s.client.set(name, "junk");
    CHECK(put(4, "four").status == Holds::newer);
    CHECK(put(5, "five").status == Holds::written);
    CHECK(look().value == "five");
    s.client.del({name});
    s.client.command("RPUSH", name, "x");
    CHECK(look().status == Holds::lost);
    CHECK(put(5, "five").status == Holds::written);
    CHECK(look().value == "five");
  }
  SECTION("a damaged mark is an error, and nothing is done") {
    put(10, "ten");
    for (const char* bad :
         {"", "x", "10", "10:0", "10:0:0:0", "010:0:0", "10:-2:0", "10:0:x", "gone",
          "gone:", "left:3", "folded:1", "folded:x:1", "part:-1", "9007199254740993:0:0"}) {
      INFO(bad);
      s.client.set(mark, bad);
      for (const auto& result :
           {store.put("k", at, 99, 0, "v").wait(), store.look_copy("k", at, true).wait(),
            store.open("k", at, Kind::value, 1).wait(), store.remove("k", at, 99).wait(),
            store.add("k", at, 1).wait(), store.fold("k", at, 99).wait(),
            store.look_part("k", at).wait()}) {
        REQUIRE_FALSE(result);
        CHECK(result.error().code() == ErrorCode::damaged);
        CHECK(result.error().message().find("mark") != std::string_view::npos);
        CHECK(result.error().message().find(name) != std::string_view::npos);
      }
      CHECK(s.client.get(mark) == bad);
      CHECK(s.client.get(name) == "10:ten");
    }
    s.client.del({mark});
    s.client.command("RPUSH", mark, "x");
    CHECK(store.put("k", at, 99, 0, "v").wait().error().code() == ErrorCode::damaged);
    CHECK(s.client.get(name) == "10:ten");
  }
}

TEST_CASE("hotkey: a copy is opened and removed by whoever knows the newest manifest") {
  const Scene s;
  const Store& store = s.store;
  const auto put = [&](std::uint64_t version, std::string_view value) {
    return store.put("k", at, version, 0, value).wait().value().status;
  };
  const auto open = [&](std::uint64_t number) {
    return store.open("k", at, Kind::value, number).wait().value().status;
  };
  const auto remove = [&](std::uint64_t number) {
    return store.remove("k", at, number).wait().value().status;
  };
  const auto look = [&] { return store.look_copy("k", at, true).wait().value(); };

  CHECK(open(4) == Holds::written);
  CHECK(look().status == Holds::lost);
  CHECK(look().version == 0);
  CHECK(look().number == 4);
  CHECK(put(10, "ten") == Holds::written);
  CHECK(look().number == 4);
  // Opened again, or by a keeper that was too slow: it stays as it is.
  CHECK(open(4) == Holds::written);
  CHECK(open(3) == Holds::written);
  CHECK(open(5) == Holds::written);
  CHECK(look().value == "ten");
  CHECK(look().number == 5);
  // A removal that comes late does not hit the copy that was opened since.
  CHECK(remove(4) == Holds::newer);
  CHECK(remove(5) == Holds::newer);
  CHECK(look().value == "ten");
  CHECK(remove(6) == Holds::gone);
  CHECK(s.client.exists({copy_name("k", at)}) == 0);
  const auto ttl = s.client.command<std::int64_t>("PTTL", mark_name("k", at));
  CHECK(ttl > 50'000);
  CHECK(ttl <= 60'000);
  CHECK(look().status == Holds::gone);
  CHECK(put(11, "late") == Holds::gone);
  CHECK(s.client.exists({copy_name("k", at)}) == 0);
  CHECK(remove(6) == Holds::gone);
  CHECK(open(5) == Holds::gone);
  CHECK(open(6) == Holds::written);
  CHECK(s.client.command<std::int64_t>("PTTL", mark_name("k", at)) == -1);
  CHECK(put(11, "eleven") == Holds::written);
  CHECK(look().value == "eleven");
  // One that lost its mark can still be removed.
  s.client.del({mark_name("k", at)});
  CHECK(remove(1) == Holds::gone);
  CHECK(s.client.exists({copy_name("k", at)}) == 0);
}

TEST_CASE("hotkey: parts of a counter") {
  const Scene s;
  const Store& store = s.store;
  const std::string name = copy_name("c", at);
  const auto part = [&] { return store.look_part("c", at).wait().value(); };
  const auto add = [&](std::int64_t by) { return store.add("c", at, by).wait().value(); };
  const auto open = [&](std::uint64_t number) {
    return store.open("c", at, Kind::counter, number).wait().value();
  };
  const auto fold = [&](std::uint64_t number) {
    return store.fold("c", at, number).wait().value();
  };
  const auto remove = [&](std::uint64_t number) {
    return store.remove("c", at, number).wait().value().status;
  };

  SECTION("nothing is added to one that is not there") {
    CHECK(add(1).status == Holds::lost);
    CHECK(part().status == Holds::lost);
    CHECK(fold(9).status == Holds::lost);
    CHECK(s.client.exists({name}) == 0);
  }
  SECTION("from open to fold") {
    CHECK(open(4).status == Holds::part);
    CHECK(part().part == 0);
    CHECK(add(5).part == 5);
    CHECK(add(-7).part == -2);
    CHECK(add(9'007'199'254'740'993).part == 9'007'199'254'740'991);
    CHECK(open(4).part == 9'007'199'254'740'991);
    CHECK(open(3).number == 4);
    CHECK(part().number == 4);
    // Neither a slow keeper nor a removal takes what is not folded.
    CHECK(fold(4).status == Holds::part);
    CHECK(remove(9) == Holds::part);
    CHECK(part().part == 9'007'199'254'740'991);
    const Copy folded = fold(6);
    CHECK(folded.status == Holds::folded);
    CHECK(folded.part == 9'007'199'254'740'991);
    CHECK(s.client.exists({name}) == 0);
    CHECK(add(1).status == Holds::folded);
    CHECK(s.client.exists({name}) == 0);
    // The same again, by this keeper or the next: the same number.
    CHECK(fold(6).part == 9'007'199'254'740'991);
    CHECK(fold(7).part == 9'007'199'254'740'991);
    CHECK(part().status == Holds::folded);
    CHECK(part().part == 9'007'199'254'740'991);
    // Not yet added to the original, so it is not forgotten.
    CHECK(open(5).status == Holds::folded);
    CHECK(open(6).status == Holds::folded);
    CHECK(remove(6) == Holds::folded);
    CHECK(s.client.command<std::int64_t>("PTTL", mark_name("c", at)) == -1);
    CHECK(remove(7) == Holds::folded);
    CHECK(s.client.command<std::int64_t>("PTTL", mark_name("c", at)) > 50'000);
    CHECK(open(7).part == 0);
    CHECK(s.client.command<std::int64_t>("PTTL", mark_name("c", at)) == -1);
    CHECK(part().status == Holds::part);
    CHECK(add(1).part == 1);
    // All that comes late now.
    CHECK(open(6).part == 1);
    CHECK(fold(6).status == Holds::part);
    CHECK(fold(7).status == Holds::part);
    CHECK(remove(7) == Holds::part);
    CHECK(part().part == 1);
  }
  SECTION("a part that lost its mark is still one") {
    open(4);
    add(3);
    s.client.del({mark_name("c", at)});
    CHECK(part().part == 3);
    CHECK(add(1).part == 4);
    CHECK(remove(9) == Holds::part);
    CHECK(open(5).part == 4);
    s.client.del({mark_name("c", at)});
    CHECK(fold(5).part == 4);
  }
  SECTION("limits and damage") {
    open(4);
    add((std::numeric_limits<std::int64_t>::max)());
    auto e = store.add("c", at, 1).wait().error();
    CHECK(e.code() == ErrorCode::server);
    CHECK(e.did_not_run());
    CHECK(part().part == (std::numeric_limits<std::int64_t>::max)());
    CHECK(fold(5).part == (std::numeric_limits<std::int64_t>::max)());
    open(6);
    for (const char* bad : {"", "x", "1.5", "9223372036854775808"}) {
      s.client.set(name, bad);
      CHECK(store.look_part("c", at).wait().error().code() == ErrorCode::damaged);
      CHECK(store.add("c", at, 1).wait().error().did_not_run());
      CHECK_FALSE(store.fold("c", at, 9).wait());
      CHECK(s.client.get(name) == bad);
    }
    s.client.del({name});
    CHECK(part().status == Holds::lost);
    CHECK(add(1).status == Holds::lost);
    CHECK(fold(9).status == Holds::lost);
    s.client.command("RPUSH", name, "x");
    CHECK(store.look_part("c", at).wait().error().code() == ErrorCode::damaged);
    CHECK_FALSE(store.add("c", at, 1).wait());
  }
  SECTION("values and parts are not mixed") {
    open(4);
    CHECK(store.put("c", at, 9, 0, "v").wait().error().code() == ErrorCode::not_split);
    CHECK(store.look_copy("c", at, true).wait().error().code() == ErrorCode::not_split);
    CHECK(store.open("c", at, Kind::value, 9).wait().error().code() == ErrorCode::not_split);
    CHECK(part().part == 0);
    store.put("v", at, 9, 0, "v").wait().value();
    CHECK(store.add("v", at, 1).wait().error().code() == ErrorCode::not_split);
    CHECK(store.look_part("v", at).wait().error().code() == ErrorCode::not_split);
    CHECK(store.fold("v", at, 9).wait().error().code() == ErrorCode::not_split);
    CHECK(store.open("v", at, Kind::counter, 9).wait().error().code() == ErrorCode::not_split);
    CHECK(store.get("v", at).wait().value().value == "v");
  }
}

TEST_CASE("hotkey: what was folded is added to the original once") {
  const Scene s;
  const Store& store = s.store;
  s.client.set("c", "100");
  const std::uint64_t first = s.create("c", Kind::counter).manifest->number;
  const std::vector<CopyPlace> places{{at, State::leaving}};
  const std::uint64_t second =
      store.change("c", {.expected = first, .token = "a", .hold = 1h, .copies = places})
          .wait()
          .value()
          .manifest->number;
  const Store::Change drop{
      .expected = second, .token = "a", .hold = 1h, .copies = std::vector<CopyPlace>{}};
  SECTION("by the manifest's number") {
    Store::Change other = drop;
    other.token = "b";
    CHECK(store.add_folded("c", other, 7).wait().value().status == Says::locked);
    CHECK(s.client.get("c") == "100");
    const Home home = store.add_folded("c", drop, 7).wait().value();
    CHECK(home.status == Says::ok);
    CHECK(home.manifest->copies.empty());
    CHECK(s.client.get("c") == "107");
    CHECK(store.add_folded("c", drop, 7).wait().value().status == Says::changed);
    CHECK(s.client.get("c") == "107");
    const Home seen = store.look("c", home.manifest->number, true).wait().value();
    CHECK(seen.value == "107");
    CHECK_FALSE(seen.lost);
  }
  SECTION("large numbers, exactly") {
    CHECK(store.add_folded("c", drop, -9'007'199'254'740'993).wait().value().status == Says::ok);
    CHECK(s.client.get("c") == "-9007199254740893");
  }
  SECTION("not beyond what a number holds") {
    const auto most = (std::numeric_limits<std::int64_t>::max)();
    const Error e = store.add_folded("c", drop, most).wait().error();
    CHECK(e.code() == ErrorCode::server);
    CHECK(e.did_not_run());
    CHECK(s.client.get("c") == "100");
    CHECK(s.hash("c", "number") == std::to_string(second));
  }
  SECTION("not to an original that is lost") {
    s.client.del({"c"});
    const Home home = store.add_folded("c", drop, 7).wait().value();
    CHECK(home.status == Says::no_value);
    CHECK(home.lost);
    CHECK(s.client.exists({"c"}) == 0);
    CHECK(s.hash("c", "number") == std::to_string(second));
    CHECK(store.add_home("c", 0, 7).wait().value().status == Says::no_value);
    CHECK(s.client.exists({"c"}) == 0);
  }
  SECTION("and the original takes what no part takes") {
    const Home home = store.add_home("c", second, 5).wait().value();
    CHECK(home.status == Says::ok);
    CHECK(home.value == "105");
    CHECK_FALSE(home.manifest);
    CHECK(store.add_home("none", 0, 5).wait().value().status == Says::absent);
    CHECK(s.client.exists({"none"}) == 0);
    const std::uint64_t third = store.add_folded("c", drop, 0).wait().value().manifest->number;
    store.finish_join("c", {.expected = third, .token = "a"}).wait().value();
    CHECK(store.add_home("c", third, 5).wait().value().status == Says::joined);
    CHECK(s.client.get("c") == "110");
  }
}
