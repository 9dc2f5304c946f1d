// The scripts of the home slot, each call's every answer, against a real cluster.
#include "server/hotkey_store_scene.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using namespace slotwise::test::scripts;
using namespace std::string_literals;

TEST_CASE("hotkey: versions, values and expiry at the home slot") {
  const Scene s;
  const Store& store = s.store;

  SECTION("without a manifest nothing is done") {
    CHECK(store.set("k", 0, "v", {}).wait().value().status == Says::absent);
    CHECK(store.del("k", 0).wait().value().status == Says::absent);
    CHECK(store.expire("k", 0, 1s).wait().value().status == Says::absent);
    CHECK(store.restore("k", 5, 0, "v").wait().value().status == Says::absent);
    const Home home = store.look("k", 0, true).wait().value();
    CHECK(home.status == Says::absent);
    CHECK_FALSE(home.manifest);
    CHECK(std::abs(home.now - wall_ms()) < 60'000);
    CHECK(s.client.exists({"k"}) == 0);
    CHECK(s.client.exists({manifest_name("k")}) == 0);
  }

  SECTION("a set, and what is told of it") {
    const Home made = s.create("k");
    REQUIRE(made.manifest);
    CHECK(made.manifest->number > 0);
    CHECK(made.expires == -1);
    CHECK_FALSE(made.lost);
    const Home one = store.set("k", 0, "one", {}).wait().value();
    CHECK(one.status == Says::ok);
    CHECK(one.version > made.version);
    CHECK(one.expires == 0);
    REQUIRE(one.manifest);
    CHECK(one.manifest->version == one.version);
    const std::uint64_t known = one.manifest->number;
    const Home two = store.set("k", known, "two", {}).wait().value();
    CHECK(two.version > one.version);
    CHECK_FALSE(two.manifest);
    CHECK(s.client.get("k") == "two");
    const Home seen = store.look("k", known, true).wait().value();
    CHECK(seen.status == Says::ok);
    CHECK(seen.version == two.version);
    CHECK(seen.value == "two");
    CHECK(seen.existed);
    CHECK_FALSE(seen.manifest);
    CHECK_FALSE(store.look("k", known, false).wait().value().value);
    CHECK(store.look("k", known + 1, false).wait().value().manifest);
    CHECK(seen.restored == 0);
  }

  SECTION("a version grows although the clock was ahead once") {
    s.create("k");
    s.client.hset(manifest_name("k"), {{"version", "8000000000000000"}});
    CHECK(store.set("k", 0, "v", {}).wait().value().version == 8000000000000001);
    CHECK(store.del("k", 0).wait().value().version == 8000000000000002);
  }

  SECTION("expiry is a moment, the same one everywhere") {
    s.create("k");
    const Home home = store.set("k", 0, "v", 5s).wait().value();
    CHECK(home.expires == home.now + 5000);
    CHECK(s.expires_at("k") == home.expires);
    CHECK(s.hash("k", "expires") == std::to_string(home.expires));
    const Home longer = store.expire("k", 0, 1h).wait().value();
    CHECK(longer.status == Says::ok);
    CHECK(longer.version > home.version);
    CHECK(longer.expires == longer.now + 3'600'000);
    CHECK(s.expires_at("k") == longer.expires);
    const Home always = store.expire("k", 0, {}).wait().value();
    CHECK(always.expires == 0);
    CHECK(always.version > longer.version);
    CHECK(s.expires_at("k") == -1);
    const Home soon = store.set("k", 0, "v", 1ms).wait().value();
    kit::wait_until([&] { return s.client.exists({"k"}) == 0; }, 5s, "the value to expire");
    const Home after = store.look("k", 0, true).wait().value();
    CHECK(after.expires == soon.expires);
    CHECK_FALSE(after.lost);
    CHECK_FALSE(after.value);
    CHECK(store.expire("k", 0, 1s).wait().value().status == Says::no_value);
    const Home gone = store.del("k", 0).wait().value();
    CHECK_FALSE(gone.existed);
    // The longest that can be asked for.
    CHECK(store.set("k", 0, "v", std::chrono::milliseconds::max()).wait().value().expires ==
          9007199254740991);
    CHECK(s.client.get("k") == "v");
  }

  SECTION("del says whether there was a value") {
    s.create("k");
    CHECK_FALSE(store.del("k", 0).wait().value().existed);
    store.set("k", 0, "v", {}).wait().value();
    const Home home = store.del("k", 0).wait().value();
    CHECK(home.existed);
    CHECK(home.expires == -1);
    CHECK_FALSE(store.look("k", 0, true).wait().value().lost);
    const Home again = store.del("k", 0).wait().value();
    CHECK_FALSE(again.existed);
    CHECK(again.version > home.version);
    CHECK(store.expire("k", 0, {}).wait().value().status == Says::no_value);
  }

  SECTION("a value that was lost is told from one that is rightly not there") {
    s.create("k");
    const Home home = store.set("k", 0, "v", 1h).wait().value();
    s.client.del({"k"});
    Home look = store.look("k", 0, true).wait().value();
    CHECK(look.lost);
    CHECK_FALSE(look.value);
    look = store.expire("k", 0, 1s).wait().value();
    CHECK(look.status == Says::no_value);
    CHECK(look.lost);
    CHECK(store.restore("k", home.version - 1, 0, "old").wait().value().status == Says::behind);
    CHECK(store.restore("k", home.version, -1, {}).wait().value().status == Says::behind);
    look = store.restore("k", home.version, home.expires, "v").wait().value();
    CHECK(look.status == Says::ok);
    CHECK(look.restored == 0);
    CHECK(s.client.get("k") == "v");
    CHECK(s.expires_at("k") == home.expires);
    s.client.del({"k"});
    CHECK(store.del("k", 0).wait().value().existed);
  }

  SECTION("bytes of all kinds") {
    const std::string keys[] = {"", "{", "{}", "a{b}c", "\0\xff{\r\n}"s, "}{x}"};
    std::string all;
    for (int c = 0; c < 256; ++c)
      all += static_cast<char>(c);
    for (const std::string& key : keys) {
      s.create(key);
      for (const std::string& value : {""s, all}) {
        store.set(key, 0, value, {}).wait().value();
        CHECK(store.look(key, 0, true).wait().value().value == value);
      }
    }
    const std::string large(10'000'000, 'x');
    s.create("large");
    store.set("large", 0, large, {}).wait().value();
    CHECK(store.look("large", 0, true).wait().value().value == large);
  }
}

TEST_CASE("hotkey: what the home slot has forgotten is restored") {
  const Scene s;
  s.create("k");
  const Home home = s.store.set("k", 0, "v", {}).wait().value();
  const auto later = home.version + 1'000'000'000;
  SECTION("a newer value, with its expiry") {
    const auto expires = home.now + 3'600'000;
    const Home back = s.store.restore("k", later, expires, "newer").wait().value();
    CHECK(back.status == Says::ok);
    CHECK(back.version == later);
    CHECK(back.restored == later);
    CHECK(s.client.get("k") == "newer");
    CHECK(s.expires_at("k") == expires);
    // A second time, and what is older: nothing.
    CHECK(s.store.restore("k", later, expires, "other").wait().value().status == Says::behind);
    CHECK(s.store.restore("k", home.version, 0, "v").wait().value().status == Says::behind);
    CHECK(s.client.get("k") == "newer");
    const Home set = s.store.set("k", 0, "next", {}).wait().value();
    CHECK(set.version == later + 1);
    CHECK(set.restored == later);
    CHECK(s.expires_at("k") == -1);
  }
  SECTION("a deletion") {
    CHECK(s.store.restore("k", later, -1, {}).wait().value().status == Says::ok);
    CHECK(s.client.exists({"k"}) == 0);
    const Home look = s.store.look("k", 0, true).wait().value();
    CHECK(look.expires == -1);
    CHECK_FALSE(look.lost);
  }
  SECTION("one that has expired meanwhile") {
    const Home back = s.store.restore("k", later, home.now - 1, "newer").wait().value();
    CHECK(back.status == Says::ok);
    CHECK_FALSE(back.lost);
    CHECK(s.client.exists({"k"}) == 0);
  }
  SECTION("an empty value is one") {
    CHECK(s.store.restore("k", later, 0, "").wait().value().status == Says::ok);
    CHECK(s.client.get("k") == "");
  }
}

TEST_CASE("hotkey: a manifest is made once, of strings only") {
  const Scene s;
  const Store& store = s.store;
  SECTION("of what is there") {
    s.client.set("k", "v");
    const Home home = s.create("k");
    CHECK(home.expires == 0);
    CHECK_FALSE(home.lost);
    CHECK(home.manifest->copies.empty());
    CHECK(home.manifest->kind == Kind::value);
    const Home again = store.create("k", Kind::value, 3, 0).wait().value();
    CHECK(again.status == Says::changed);
    REQUIRE(again.manifest);
    CHECK(again.manifest->number == home.manifest->number);
    CHECK(again.manifest->per_primary == 1);
    s.client.set("t", "v", 1h);
    CHECK(s.create("t").expires == s.expires_at("t"));
  }
  SECTION("above a number") {
    const Home home = store.create("k", Kind::value, 2, 9'000'000'000'000'000).wait().value();
    CHECK(home.manifest->number == 9'000'000'000'000'001);
    CHECK(home.manifest->per_primary == 2);
  }
  SECTION("anew, with the copies that are there") {
    const std::vector<CopyPlace> copies{{5, State::ready}, {7, State::leaving}};
    const Home lost = store.create("k", Kind::value, 1, 0, copies).wait().value();
    CHECK(lost.manifest->copies == copies);
    CHECK(lost.version == 0);
    CHECK(lost.expires == 0);
    CHECK(lost.lost);
    CHECK(store.restore("k", 1, 0, "v").wait().value().status == Says::ok);
    s.client.set("j", "v");
    const Home there = store.create("j", Kind::value, 1, 0, copies).wait().value();
    CHECK(there.version > 0);
    CHECK_FALSE(there.lost);
    const Home counter = store.create("c", Kind::counter, 1, 0, copies).wait().value();
    CHECK(counter.lost);
    CHECK(s.client.exists({"c"}) == 0);
  }
  SECTION("not of a list, and not of text as a counter") {
    s.client.command("RPUSH", "list", "x");
    Error e = store.create("list", Kind::value, 1, 0).wait().error();
    CHECK(e.code() == ErrorCode::server);
    CHECK(e.did_not_run());
    CHECK(e.server_text().starts_with("WRONGTYPE"));
    s.client.set("text", "12x");
    e = store.create("text", Kind::counter, 1, 0).wait().error();
    CHECK(e.code() == ErrorCode::server);
    CHECK(e.server_text().find("not an integer") != std::string_view::npos);
    s.client.set("soon", "12", 1h);
    e = store.create("soon", Kind::counter, 1, 0).wait().error();
    CHECK(e.code() == ErrorCode::refused);
    for (const char* key : {"list", "text", "soon"})
      CHECK(s.client.exists({manifest_name(key)}) == 0);
    CHECK(s.expires_at("soon") > 0);
  }
  SECTION("a counter without a value begins at 0, and is not used as a value") {
    s.create("c", Kind::counter);
    CHECK(s.client.get("c") == "0");
    for (const auto& e :
         {store.set("c", 0, "v", {}).wait().error(), store.del("c", 0).wait().error(),
          store.expire("c", 0, 1s).wait().error(), store.restore("c", 1, 0, "v").wait().error()}) {
      CHECK(e.code() == ErrorCode::not_split);
      CHECK(e.did_not_run());
      CHECK(e.message().find("counter") != std::string_view::npos);
    }
    CHECK(s.client.get("c") == "0");
    s.create("v");
    CHECK(store.add_home("v", 0, 1).wait().error().code() == ErrorCode::not_split);
    CHECK(s.client.exists({"v"}) == 0);
  }
}

TEST_CASE("hotkey: one changes a manifest at a time, and only the one that he knows") {
  const Scene s;
  const Store& store = s.store;
  const std::uint64_t first = s.create("k").manifest->number;
  const std::vector<CopyPlace> places{{5, State::joining}};
  const auto change = [&](std::uint64_t expected, std::string token, std::chrono::milliseconds hold,
                          std::optional<std::vector<CopyPlace>> copies = {}) {
    return store
        .change("k",
                {.expected = expected, .token = std::move(token), .hold = hold, .copies = copies})
        .wait()
        .value();
  };
  SECTION("lock and number") {
    CHECK(change(first, "a", 1h).status == Says::ok);
    CHECK(s.hash("k", "number") == std::to_string(first));
    CHECK(change(first, "b", 1h, places).status == Says::locked);
    CHECK(change(first, "b", 0ms).status == Says::locked);
    CHECK(s.hash("k", "copies") == "");
    const Home grown = change(first, "a", 1h, places);
    CHECK(grown.status == Says::ok);
    REQUIRE(grown.manifest);
    CHECK(grown.manifest->number > first);
    CHECK(grown.manifest->copies == places);
    CHECK(grown.manifest->changed_at == grown.now);
    // The same again, as after a lost answer: nothing.
    const Home late = change(first, "a", 1h, std::vector<CopyPlace>{});
    CHECK(late.status == Says::changed);
    REQUIRE(late.manifest);
    CHECK(late.manifest->number == grown.manifest->number);
    CHECK(late.manifest->copies == places);
    // Let go: anybody may.
    const std::uint64_t second = grown.manifest->number;
    CHECK(change(second, "a", 0ms).status == Says::ok);
    CHECK(s.hash("k", "lock") == "");
    CHECK(change(second, "b", 1h).status == Says::ok);
    CHECK(change(second, "a", 1h).status == Says::locked);
  }
  SECTION("a lock ends by itself") {
    CHECK(change(first, "a", 1ms).status == Says::ok);
    kit::wait_until([&] { return change(first, "b", 1h).status == Says::ok; }, 5s, "the lock");
    CHECK(change(first, "a", 1h, places).status == Says::locked);
  }
  SECTION("another number per primary is a change") {
    const Home home =
        store.change("k", {.expected = first, .token = "a", .per_primary = 4}).wait().value();
    CHECK(home.manifest->per_primary == 4);
    CHECK(home.manifest->number > first);
    CHECK(home.manifest->copies.empty());
  }
  SECTION("adopting the original as it is") {
    const Home before = store.look("k", 0, true).wait().value();
    CHECK(before.expires == -1);
    s.client.set("k", "plain", 1h);
    const Home home =
        store.change("k", {.expected = first, .token = "a", .copies = places, .adopt = true})
            .wait()
            .value();
    CHECK(home.version > before.version);
    CHECK(home.expires == s.expires_at("k"));
    CHECK_FALSE(home.lost);
    s.client.del({"k"});
    const Home none =
        store.change("k", {.expected = home.manifest->number, .token = "a", .adopt = true})
            .wait()
            .value();
    CHECK(none.version > home.version);
    CHECK(none.expires == -1);
    CHECK_FALSE(none.lost);
    s.client.command("RPUSH", "k", "x");
    const auto wrong =
        store.change("k", {.expected = home.manifest->number, .token = "a", .adopt = true}).wait();
    CHECK(wrong.error().server_text().starts_with("WRONGTYPE"));
  }
  SECTION("numbers are not used again after a change that was forgotten") {
    const auto now = static_cast<std::uint64_t>(store.look("k", 0, false).wait().value().now);
    s.client.hset(manifest_name("k"), {{"number", "3"}});
    CHECK(change(3, "a", 0ms, places).manifest->number >= now);
  }
  SECTION("a join is over for good, but can be followed by a split") {
    const Home with = change(first, "a", 1h, places);
    const std::uint64_t second = with.manifest->number;
    CHECK(store.finish_join("k", {.expected = second, .token = "a"}).wait().value().status ==
          Says::changed);
    const std::uint64_t third = change(second, "a", 1h, std::vector<CopyPlace>{}).manifest->number;
    CHECK(store.finish_join("k", {.expected = third, .token = "b"}).wait().value().status ==
          Says::locked);
    CHECK(store.finish_join("k", {.expected = second, .token = "a"}).wait().value().status ==
          Says::changed);
    const Home over = store.finish_join("k", {.expected = third, .token = "a"}).wait().value();
    CHECK(over.status == Says::ok);
    CHECK(over.manifest->joined);
    CHECK(s.client.command<std::int64_t>("PTTL", manifest_name("k")) > 50'000);
    CHECK(store.finish_join("k", {.expected = third, .token = "a"}).wait().value().status ==
          Says::joined);
    CHECK(change(over.manifest->number, "a", 1h, places).status == Says::joined);
    CHECK(store.restore("k", 8'000'000'000'000'000, 0, "x").wait().value().status == Says::joined);
    CHECK(store.set("k", 0, "plain", 1h).wait().value().status == Says::joined);
    CHECK(s.client.get("k") == "plain");
    CHECK(s.expires_at("k") > 0);
    CHECK(store.expire("k", 0, {}).wait().value().status == Says::joined);
    CHECK(s.expires_at("k") == -1);
    CHECK(store.look("k", 0, true).wait().value().status == Says::joined);
    Home home = store.del("k", 0).wait().value();
    CHECK(home.status == Says::joined);
    CHECK(home.existed);
    CHECK(s.client.exists({"k"}) == 0);
    home = store.del("k", 0).wait().value();
    CHECK_FALSE(home.existed);
    CHECK_FALSE(store.expire("k", 0, 1s).wait().value().existed);
    const Home again = s.create("k");
    CHECK(again.manifest->number > over.manifest->number);
    CHECK_FALSE(again.manifest->joined);
    CHECK(again.version > over.version);
    CHECK(s.client.command<std::int64_t>("PTTL", manifest_name("k")) == -1);
  }
}
