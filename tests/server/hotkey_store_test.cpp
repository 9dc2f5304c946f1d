// The scripts of the hot keys, each call's every answer, against a real cluster.
#include "hotkey/store.hpp"

#include "hotkey/names.hpp"
#include "kit/cluster.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;
using namespace std::string_literals;

namespace {

using Says = Home::Status;
using Holds = Copy::Status;
using State = CopyPlace::State;

struct Scene {
  kit::Cluster cluster{{.primaries = 3}};
  Client client = Client::connect(cluster.uri());
  Store store{client};

  Home create(std::string_view key, Kind kind = Kind::value) const {
    Home home = store.create(key, kind, 1, 0).wait().value();
    REQUIRE(home.status == Says::ok);
    return home;
  }
  /// 0: none.
  std::int64_t expires_at(std::string_view key) const {
    return client.command<std::int64_t>("PEXPIRETIME", key);
  }
  std::optional<std::string> hash(std::string_view key, std::string_view field) const {
    return client.hget(manifest_name(key), field);
  }
};

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

constexpr std::uint16_t at = 9000;

}  // namespace

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
