// A manifest that somebody changed by hand: every call says so, and none touches anything.
#include "server/hotkey_damage.hpp"

#include "hotkey/names.hpp"
#include "hotkey/store.hpp"
#include "kit/cluster.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::hotkey;
using namespace slotwise::test;

namespace {

struct NamedCall {
  const char* name;
  std::function<std::optional<Error>(const Store&)> run;
};

template <class T>
std::optional<Error> error_in(Result<T>&& result) {
  if (result) return std::nullopt;
  return std::move(result).error();
}

/// With a known number that fits, so that nobody needs the fields for an answer.
std::vector<NamedCall> all_calls(std::string_view key) {
  const Store::Change change{
      .expected = 12, .token = "t", .hold = 1s, .copies = std::vector<CopyPlace>{}};
  return {
      {"set", [=](const Store& s) { return error_in(s.set(key, 12, "new", {}).wait()); }},
      {"del", [=](const Store& s) { return error_in(s.del(key, 12).wait()); }},
      {"expire", [=](const Store& s) { return error_in(s.expire(key, 12, 1s).wait()); }},
      {"look", [=](const Store& s) { return error_in(s.look(key, 12, false).wait()); }},
      {"restore",
       [=](const Store& s) {
         return error_in(s.restore(key, 8'000'000'000'000'000, 0, "new").wait());
       }},
      {"create", [=](const Store& s) { return error_in(s.create(key, Kind::value, 1, 0).wait()); }},
      {"change", [=](const Store& s) { return error_in(s.change(key, change).wait()); }},
      {"add_folded", [=](const Store& s) { return error_in(s.add_folded(key, change, 1).wait()); }},
      {"finish_join", [=](const Store& s) { return error_in(s.finish_join(key, change).wait()); }},
      {"add_home", [=](const Store& s) { return error_in(s.add_home(key, 12, 1).wait()); }},
  };
}

}  // namespace

TEST_CASE(
    "hotkey: a manifest that was damaged by hand is an error that names it; nothing changes") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Store store(client);
  const std::string key = "cart{7}";
  const std::string manifest = manifest_name(key);
  const auto dump = [&](std::string_view name) {
    return client.command<std::optional<std::string>>("DUMP", name);
  };
  const auto all_fail = [&](std::string_view word) {
    const auto before = dump(manifest);
    for (const NamedCall& call : all_calls(key)) {
      INFO(call.name);
      const auto error = call.run(store);
      REQUIRE(error);
      INFO(error->what());
      CHECK(error->code() == ErrorCode::damaged);
      CHECK(error->did_not_run());
      CHECK(error->message().find(key) != std::string_view::npos);
      CHECK(error->message().find(word) != std::string_view::npos);
    }
    CHECK(dump(manifest) == before);
    CHECK(client.get(key) == "old");
    CHECK(client.command<std::int64_t>("PTTL", key) == -1);
  };
  client.set(key, "old");

  SECTION("another type") {
    client.set(manifest, "x");
    all_fail("string");
    client.del({manifest});
    client.command("RPUSH", manifest, "x");
    all_fail("list");
  }
  SECTION("fields") {
    for (const Damage& damage : damages()) {
      client.del({manifest});
      client.hset(manifest, good_manifest());
      INFO(damage.field << " = '" << damage.value << "'" << (damage.removed ? " removed" : ""));
      if (damage.removed) {
        client.hdel(manifest, damage.field);
      } else {
        client.hset(manifest, {{damage.field, damage.value}});
      }
      all_fail("field " + damage.field + " ");
    }
  }
  SECTION("a good one is good") {
    client.hset(manifest, good_manifest());
    CHECK_FALSE(error_in(store.look(key, 0, true).wait()));
    CHECK_FALSE(error_in(store.set(key, 12, "new", {}).wait()));
  }
  SECTION("an original of another type") {
    client.hset(manifest, good_manifest());
    client.del({key});
    client.command("RPUSH", key, "x");
    const auto error = error_in(store.look(key, 12, true).wait());
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::damaged);
    CHECK(error->message().find("original") != std::string_view::npos);
    CHECK(client.command<std::int64_t>("LLEN", key) == 1);
  }
}
