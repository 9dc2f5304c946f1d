// What one sentinel says, as real ones write it and as they might.
#include "topology/sentinel_reply.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "view_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using testing::error;
using testing::list;
using testing::text;
using Kind = SentinelReport::Kind;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// An instance as SENTINEL writes it: a flat array (RESP2) or a map (RESP3).
Reply instance(const Fields& fields, Reply::Type type = Reply::Type::map) {
  std::vector<Reply> flat;
  for (const auto& [name, value] : fields) {
    flat.push_back(text(name));
    flat.push_back(text(value));
  }
  return Reply::make_aggregate(type, std::move(flat));
}

// Captured: Valkey 9.1 (shortened to what matters and what might be taken for it).
Fields master_fields() {
  return {{"name", "mymaster"},
          {"ip", "127.0.1.1"},
          {"port", "21001"},
          {"runid", "1111111111111111111111111111111111111111"},
          {"flags", "master"},
          {"link-pending-commands", "0"},
          {"last-ping-sent", "0"},
          {"role-reported", "master"},
          {"config-epoch", "7"},
          {"num-slaves", "2"},
          {"num-other-sentinels", "2"},
          {"quorum", "2"},
          {"failover-timeout", "180000"},
          {"parallel-syncs", "1"}};
}
Fields sentinel_fields(const std::string& id, const std::string& ip, const std::string& port) {
  return {{"name", id},
          {"ip", ip},
          {"port", port},
          {"runid", id},
          {"flags", "sentinel"},
          {"voted-leader", "?"},
          {"voted-leader-epoch", "0"}};
}
Fields replica_fields(const std::string& port, const std::string& flags,
                      const std::string& link = "ok") {
  return {{"name", "127.0.1.1:" + port},
          {"ip", "127.0.1.1"},
          {"port", port},
          {"runid", std::string(40, 'c')},
          {"flags", flags},
          {"role-reported", "slave"},
          {"master-link-status", link},
          {"master-host", "127.0.1.1"},
          {"master-port", "21001"},
          {"slave-priority", "100"},
          {"replica-announced", "1"}};
}

Reply address(const std::string& host = "127.0.1.1", const std::string& port = "21001") {
  return list({text(host), text(port)});
}
SentinelReport read_at(const Reply& where, const Reply& master, const Reply& sentinels = {},
                       const Reply& replicas = {}) {
  const Reply id = text(std::string(40, 'a'));
  return read_sentinel({id, where, master, sentinels, replicas});
}
SentinelReport read(const Reply& master, const Reply& sentinels = {}, const Reply& replicas = {}) {
  return read_at(master.is_error() ? Reply() : address(), master, sentinels, replicas);
}
SentinelReport read(const Fields& master) {
  return read(instance(master));
}
Fields without(Fields fields, const std::string& name) {
  std::erase_if(fields, [&](const auto& f) { return f.first == name; });
  return fields;
}
Fields with(Fields fields, const std::string& name, const std::string& value) {
  for (auto& f : fields) {
    if (f.first == name) f.second = value;
  }
  return fields;
}

}  // namespace

TEST_CASE("a sentinel's answers, in both protocols and in any order of the fields") {
  const Fields reversed_master = [] {
    Fields f = master_fields();
    std::reverse(f.begin(), f.end());
    return f;
  }();
  for (const Reply::Type type : {Reply::Type::map, Reply::Type::array}) {
    for (const Fields& master : {master_fields(), reversed_master}) {
      const SentinelReport r =
          read(instance(master, type),
               list({instance(sentinel_fields(std::string(40, 'b'), "127.0.1.2", "22002"), type),
                     instance(sentinel_fields(std::string(40, 'd'), "127.0.1.3", "22003"), type)}),
               list({instance(replica_fields("21002", "slave"), type)}));
      REQUIRE(r.kind == Kind::named);
      CHECK(r.id == std::string(40, 'a'));
      CHECK(r.primary == Endpoint{"127.0.1.1", 21001});
      CHECK(r.config_epoch == 7);
      CHECK(r.sentinels == 3);
      REQUIRE(r.others.size() == 2);
      CHECK(r.others[0].endpoint == Endpoint{"127.0.1.2", 22002});
      CHECK(r.others[0].id == std::string(40, 'b'));
      REQUIRE(r.replicas.size() == 1);
      CHECK(r.replicas[0].endpoint == Endpoint{"127.0.1.1", 21002});
      CHECK(r.replicas[0].usable);
    }
  }
}

TEST_CASE("addresses may be names and IPv6, numbers may be numbers") {
  const auto where = [](const std::string& host) {
    return read_at(address(host), instance(master_fields())).primary;
  };
  CHECK(where("n1.lab.test") == Endpoint{"n1.lab.test", 21001});
  CHECK(where("fd00::1") == Endpoint{"fd00::1", 21001});
  std::vector<Reply> flat{text("config-epoch"), Reply::make_integer(12),
                          text("num-other-sentinels"), Reply::make_integer(4)};
  const SentinelReport r = read(Reply::make_aggregate(Reply::Type::map, std::move(flat)));
  REQUIRE(r.kind == Kind::named);
  CHECK(r.config_epoch == 12);
  CHECK(r.sentinels == 5);
}

TEST_CASE("the address is that of the promoted replica while MASTER still has the old one") {
  const SentinelReport r = read_at(address("127.0.1.9", "21009"), instance(master_fields()));
  CHECK(r.primary == Endpoint{"127.0.1.9", 21009});
  CHECK(r.config_epoch == 7);
}

TEST_CASE("B33: replicas that are down, cut off or out of sync are not for reading") {
  struct Case {
    const char* flags;
    const char* link;
    bool usable;
  };
  const Case cases[] = {{"slave", "ok", true},
                        {"slave,s_down", "ok", false},
                        {"s_down,slave", "ok", false},
                        {"slave,s_down,disconnected", "err", false},
                        {"slave,disconnected", "ok", false},
                        {"slave,o_down", "ok", false},
                        {"slave", "err", false},
                        {"slave,not_s_down_at_all", "ok", true},
                        {"slave,promoted", "ok", true}};
  for (const Case& c : cases) {
    CAPTURE(c.flags, c.link);
    const SentinelReport r = read(instance(master_fields()), list({}),
                                  list({instance(replica_fields("21002", c.flags, c.link))}));
    REQUIRE(r.replicas.size() == 1);
    CHECK(r.replicas[0].usable == c.usable);
  }
}

TEST_CASE("what is missing is missing, or makes the answer unusable") {
  CHECK(read(without(master_fields(), "num-other-sentinels")).sentinels == 1);
  CHECK(read(without(master_fields(), "runid")).kind == Kind::named);
  SentinelReport bad = read(without(master_fields(), "config-epoch"));
  REQUIRE(bad.kind == Kind::failed);
  REQUIRE(bad.error);
  CHECK(bad.error->code() == ErrorCode::protocol);
  CHECK(bad.error->message().find("config-epoch") != std::string_view::npos);
  std::vector<Reply> wrong_addresses;
  wrong_addresses.push_back(list({}));
  wrong_addresses.push_back(list({text("127.0.0.1")}));
  wrong_addresses.push_back(list({text("127.0.0.1"), text("6379"), text("1")}));
  wrong_addresses.push_back(text("127.0.0.1:6379"));
  wrong_addresses.push_back(Reply::make_integer(6379));
  for (const Reply& wrong : wrong_addresses) {
    bad = read_at(wrong, instance(master_fields()));
    REQUIRE(bad.kind == Kind::failed);
    CHECK(bad.error->code() == ErrorCode::protocol);
  }
  // A sentinel or replica of which the address is not known is passed over.
  const SentinelReport r =
      read(instance(master_fields()),
           list({instance(without(sentinel_fields("b", "127.0.1.2", "22002"), "port")),
                 instance(sentinel_fields("d", "127.0.1.3", "22003"))}),
           list({instance(without(replica_fields("21002", "slave"), "ip")),
                 instance(replica_fields("21003", "slave"))}));
  CHECK(r.others.size() == 1);
  CHECK(r.replicas.size() == 1);
}

TEST_CASE("numbers that make no sense") {
  for (const char* port : {"0", "65536", "-1", "x", "", "6379 ", "99999999999999999999"})
    CHECK(read_at(address("127.0.1.1", port), instance(master_fields())).kind == Kind::failed);
  for (const char* ip : {"", "a b", "host\r\n"}) {
    CAPTURE(ip);
    CHECK(read_at(address(ip), instance(master_fields())).kind == Kind::failed);
  }
  for (const char* epoch : {"-1", "1.5", "", "x", "99999999999999999999999"})
    CHECK(read(with(master_fields(), "config-epoch", epoch)).kind == Kind::failed);
  for (const char* others : {"2147483647", "-5", "-2147483648", "x", "99999999999"}) {
    CAPTURE(others);
    const SentinelReport r = read(with(master_fields(), "num-other-sentinels", others));
    CHECK(r.kind == Kind::named);
    CHECK(r.sentinels >= 1);
  }
}

TEST_CASE("B33: a name that the sentinel does not know") {
  const Reply no_name = error("ERR No such master with that name");
  CHECK(read(no_name, no_name, no_name).kind == Kind::unknown_name);
  CHECK(read(Reply()).kind == Kind::unknown_name);
  CHECK(read_at(Reply(), instance(master_fields())).kind == Kind::unknown_name);
  CHECK(read(no_name).id == std::string(40, 'a'));
}

TEST_CASE("a sentinel that refuses says what it refuses, and that it is the sentinel") {
  for (const char* said : {"NOAUTH Authentication required.",
                           "NOPERM User default has no permissions to run the 'sentinel' command",
                           "WRONGPASS invalid username-password pair or user is disabled."}) {
    const SentinelReport r = read(error(said));
    REQUIRE(r.kind == Kind::failed);
    CHECK(r.error->code() == ErrorCode::auth_failed);
    CHECK(r.error->message().find("sentinel") != std::string_view::npos);
    CHECK(r.error->server_text() == said);
  }
  const SentinelReport no_sentinel =
      read(error("ERR unknown command 'SENTINEL', with args beginning with: 'MASTER' 'mymaster' "));
  CHECK(no_sentinel.error->code() == ErrorCode::invalid_argument);
  CHECK(no_sentinel.error->message().find("no sentinel") != std::string_view::npos);
  const SentinelReport other = read(error("IDONTKNOW I have not enough information"));
  CHECK(other.error->code() == ErrorCode::server);
}

TEST_CASE("a sentinel that does not know MYID, or its neighbours, is heard all the same") {
  const Reply no_id = error("ERR Unknown sentinel subcommand 'MYID'");
  const Reply master = instance(master_fields());
  const Reply no = error("ERR No such master with that name");
  const Reply where = address();
  SentinelReport r = read_sentinel({no_id, where, master, no, no});
  REQUIRE(r.kind == Kind::named);
  CHECK(r.id.empty());
  CHECK(r.others.empty());
  const Reply nil;
  CHECK(read_sentinel({nil, where, master, nil, nil}).id.empty());
  const Reply odd = text("?");
  CHECK(read_sentinel({nil, where, master, odd, odd}).kind == Kind::named);
}

TEST_CASE("garbage is an error, never a crash") {
  CHECK(read(text("mymaster")).kind == Kind::failed);
  CHECK(read(Reply::make_integer(1)).kind == Kind::failed);
  CHECK(read(list({})).kind == Kind::failed);
  CHECK(read(list({text("ip")})).kind == Kind::failed);  // an odd number
  CHECK(read(list({list({}), list({})})).kind == Kind::failed);
  // go-redis #1091: a list of addresses where an instance is expected
  CHECK(read(list({text("127.0.0.1"), text("6379")})).kind == Kind::failed);
  CHECK(read_at(instance(master_fields()), address()).kind == Kind::failed);

  for (unsigned seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    const char* const words[] = {"ip",      "port", "flags",     "config-epoch",
                                 "runid",   "::1",  "6379",      "slave",
                                 "s_down,", ",",    "err",       "9999999999999",
                                 "-1",      "",     "127.0.0.1", "num-other-sentinels"};
    const std::function<Reply(int)> any = [&](int depth) -> Reply {
      switch (random() % (depth > 0 ? 8 : 5)) {
        case 0:
          return Reply();
        case 1:
          return Reply::make_integer(static_cast<std::int64_t>(random()) - 5);
        case 2:
          return error(words[random() % std::size(words)]);
        case 5:
        case 6:
        case 7: {
          std::vector<Reply> parts;
          for (auto n = random() % 12; n > 0; --n)
            parts.push_back(any(depth - 1));
          return Reply::make_aggregate(random() % 2 == 0 ? Reply::Type::array : Reply::Type::map,
                                       std::move(parts));
        }
        default:
          return text(words[random() % std::size(words)]);
      }
    };
    const Reply my_id = any(0);
    const Reply where = random() % 2 == 0 ? address() : any(1);
    const Reply master = any(2);
    const Reply sentinels = any(2);
    const Reply replicas = any(2);
    const SentinelReport r = read_sentinel({my_id, where, master, sentinels, replicas});
    CHECK((r.kind != Kind::failed || r.error.has_value()));
  }
}

TEST_CASE("events are about one primary, whose name is compared exactly") {
  using E = SentinelEvent;
  const auto event = [](const char* channel, const char* said) {
    return read_sentinel_event(channel, said, "mymaster");
  };
  CHECK(event("+switch-master", "mymaster 127.0.0.1 6379 127.0.0.1 6380") == E::switched);
  CHECK(event("+switch-master", "mymaster2 127.0.0.1 6379 127.0.0.1 6380") == E::other);
  CHECK(event("+switch-master", "mymaste 127.0.0.1 6379 127.0.0.1 6380") == E::other);
  CHECK(event("+switch-master", "MyMaster 127.0.0.1 6379 127.0.0.1 6380") == E::other);
  CHECK(event("+switch-master", "master mymaster 127.0.0.1 6379") == E::other);

  CHECK(event("+sdown", "master mymaster 127.0.0.1 6379") == E::hint);
  CHECK(event("-sdown", "master mymaster 127.0.0.1 6379") == E::hint);
  CHECK(event("+odown", "master mymaster 127.0.0.1 6379 #quorum 2/2") == E::hint);
  CHECK(event("+odown", "master mymaster2 127.0.0.1 6379 #quorum 2/2") == E::other);
  CHECK(event("+sdown", "slave 127.0.0.1:6381 127.0.0.1 6381 @ mymaster 127.0.0.1 6379") ==
        E::hint);
  CHECK(event("+sdown", "slave 127.0.0.1:6381 127.0.0.1 6381 @ mymaster2 127.0.0.1 6379") ==
        E::other);
  CHECK(event("+slave", "slave [::1]:6381 ::1 6381 @ mymaster ::1 6379") == E::hint);
  CHECK(event("+sdown",
              "sentinel 0123456789012345678901234567890123456789 127.0.0.1 26380 @ mymaster "
              "127.0.0.1 6379") == E::hint);
  // A replica that is called like the primary is not the primary.
  CHECK(event("+sdown", "slave mymaster 127.0.0.1 6381 @ other 127.0.0.1 6379") == E::other);
  CHECK(event("+reboot", "master other 127.0.0.1 6379") == E::other);

  // A failover that somebody ordered tells beforehand, and when it is given up.
  CHECK(event("+failover-state-send-slaveof-noone",
              "slave 127.0.0.1:6381 127.0.0.1 6381 @ mymaster 127.0.0.1 6379") == E::handing_over);
  CHECK(event("+failover-state-send-slaveof-noone",
              "slave 127.0.0.1:6381 127.0.0.1 6381 @ mymaster2 127.0.0.1 6379") == E::other);
  CHECK(event("-failover-abort-slave-timeout", "master mymaster 127.0.0.1 6379") == E::aborted);
  CHECK(event("-failover-abort-no-good-slave", "master mymaster2 127.0.0.1 6379") == E::other);

  for (const char* garbage : {"", " ", "master", "master ", "slave", "slave x y @", "@ mymaster",
                              "slave x y @ ", "   @ mymaster", "mymaster"}) {
    for (const char* channel : {"+sdown", "+odown", "", "x"})
      (void)event(channel, garbage);
  }
  CHECK(event("+switch-master", "") == E::other);
  CHECK(event("+sdown", "") == E::other);
}
