#include "net/resolver.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kit/dns_responder.hpp"
#include "support.hpp"

using namespace net_test;
using Catch::Matchers::ContainsSubstring;
using slotwise::kit::DnsCode;
using slotwise::kit::DnsResponder;
using slotwise::net::errc;
using slotwise::net::Query;
using slotwise::net::resolve_result;
using slotwise::net::ResolveHandler;
using slotwise::net::Resolver;

namespace {

struct Asker final : ResolveHandler {
  explicit Asker(net::Loop& l) : loop(l) {}
  void on_resolved(resolve_result result) override {
    ++calls;
    for (const auto& a : result.addresses)
      ips.push_back(a.ip());
    if (result.last) {
      done = true;
      err = result.err;
    }
    if (action) action();
  }
  // "127.0.0.1 127.0.0.2", or the error.
  std::string ask(Resolver& resolver, const std::string& host,
                  std::chrono::milliseconds limit = 5s) {
    ips.clear();
    calls = 0;
    done = false;
    err = {};
    resolver.resolve(query, host, 7000, loop.refresh_now() + limit);
    CHECK(calls == 0);
    CHECK(run_until(
        loop, [&] { return done; }, limit + 2s));
    std::string text = err.text;
    for (const auto& ip : ips)
      text += (text.empty() ? "" : " ") + ip;
    return text;
  }
  net::Loop& loop;
  std::vector<std::string> ips;
  int calls = 0;
  bool done = false;
  net::error err;
  std::function<void()> action;
  Query query{*this};
};

struct World {
  net::Loop loop;
  DnsResponder dns;
  Resolver resolver{loop,
                    {.dns_servers = dns.address().to_string(), .try_timeout = 300ms, .tries = 2}};
  Asker asker{loop};
};

}  // namespace

TEST_CASE("resolver: literals need no DNS, and are not answered inside the call") {
  World w;
  CHECK(w.asker.ask(w.resolver, "127.0.0.9") == "127.0.0.9");
  CHECK(w.asker.ask(w.resolver, "::1") == "::1");
  CHECK(w.asker.ask(w.resolver, "[::1]") == "::1");
  CHECK(w.asker.ask(w.resolver, "fe80::1%lo") == "fe80::1%1");
  CHECK_THAT(w.asker.ask(w.resolver, ""), ContainsSubstring("empty"));
}

TEST_CASE("resolver: the hosts file is asked first, for both families, and ends the question") {
  World w;
  w.dns.set("localhost", {.ips = {"127.9.9.9"}});
  const std::string text = w.asker.ask(w.resolver, "localhost");
  CHECK_THAT(text, ContainsSubstring("127.0.0.1"));
  CHECK(w.dns.questions("localhost") == 0);
}

TEST_CASE("resolver: all addresses of both families, interleaved, with the port") {
  World w;
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2", "127.0.0.3", "127.0.0.4"}},
            {.ips = {"::1", "fd00::2"}});
  CHECK(w.asker.ask(w.resolver, "node.lab.test") == "::1 127.0.0.2 fd00::2 127.0.0.3 127.0.0.4");
  w.dns.set("four.lab.test", {.ips = {"127.0.0.2"}});
  CHECK(w.asker.ask(w.resolver, "four.lab.test") == "127.0.0.2");
  w.dns.set("six.lab.test", {}, {.ips = {"::1"}});
  CHECK(w.asker.ask(w.resolver, "six.lab.test") == "::1");
}

TEST_CASE("resolver: every question is asked anew, whatever the TTL said") {
  World w;
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2"}});
  CHECK(w.asker.ask(w.resolver, "node.lab.test") == "127.0.0.2");
  w.dns.set("node.lab.test", {.ips = {"127.0.0.3"}});
  CHECK(w.asker.ask(w.resolver, "node.lab.test") == "127.0.0.3");
  CHECK(w.asker.ask(w.resolver, "node.lab.test") == "127.0.0.3");
  CHECK(w.dns.questions("node.lab.test") == 6);
}

TEST_CASE("resolver: an empty answer and NXDOMAIN are clear errors and are not remembered") {
  World w;
  w.dns.set("empty.lab.test", {});
  CHECK_THAT(
      w.asker.ask(w.resolver, "empty.lab.test"),
      ContainsSubstring("no address for empty.lab.test") && ContainsSubstring("no A or AAAA"));
  CHECK(w.asker.err.code == errc::resolve);
  w.dns.set("empty.lab.test", {.ips = {"127.0.0.1"}});
  CHECK(w.asker.ask(w.resolver, "empty.lab.test") == "127.0.0.1");

  CHECK_THAT(w.asker.ask(w.resolver, "missing.lab.test"),
             ContainsSubstring("no address for missing.lab.test") && ContainsSubstring("NXDOMAIN"));
  w.dns.set("missing.lab.test", {.ips = {"127.0.0.1"}});
  CHECK(w.asker.ask(w.resolver, "missing.lab.test") == "127.0.0.1");
}

TEST_CASE("resolver: a failing, a refusing, an absent server, and a name that is none") {
  World w;
  w.dns.set("fail.lab.test", {.code = DnsCode::servfail}, {.code = DnsCode::servfail});
  CHECK_THAT(w.asker.ask(w.resolver, "fail.lab.test"), ContainsSubstring("SERVFAIL"));
  w.dns.set("refuse.lab.test", {.code = DnsCode::refused}, {.code = DnsCode::refused});
  CHECK_THAT(w.asker.ask(w.resolver, "refuse.lab.test"), ContainsSubstring("no address for"));
  w.dns.set("half.lab.test", {.code = DnsCode::servfail}, {.ips = {"::1"}});
  CHECK(w.asker.ask(w.resolver, "half.lab.test") == "::1");
  CHECK_THAT(w.asker.ask(w.resolver, "a..b"), ContainsSubstring("no address for a..b"));
  CHECK_THAT(w.asker.ask(w.resolver, std::string(300, 'x') + ".test"),
             ContainsSubstring("no address for"));
  std::string nobody;
  {
    const DnsResponder gone;
    nobody = gone.address().to_string();
  }
  Resolver lost(w.loop, {.dns_servers = nobody, .try_timeout = 200ms, .tries = 1});
  CHECK_THAT(w.asker.ask(lost, "node.lab.test"), ContainsSubstring("no address for node.lab.test"));
}

TEST_CASE("resolver: silence ends with the tries, or with the deadline when that is earlier") {
  World w;
  w.dns.set("mute.lab.test", {.silent = true}, {.silent = true});
  auto start = std::chrono::steady_clock::now();
  CHECK_THAT(w.asker.ask(w.resolver, "mute.lab.test"), ContainsSubstring("no answer"));
  CHECK(elapsed_ms(start) >= 300);
  CHECK(elapsed_ms(start) < 4000);
  const std::size_t inherited = inherited_by_exec();
  w.resolver.resolve(w.asker.query, "mute.lab.test", 1, w.loop.refresh_now() + 5s);
  CHECK(inherited_by_exec() == inherited);  // c-ares's sockets
  start = std::chrono::steady_clock::now();
  CHECK_THAT(w.asker.ask(w.resolver, "mute.lab.test", 100ms), ContainsSubstring("in time"));
  CHECK(w.asker.err.code == errc::timed_out);
  CHECK(elapsed_ms(start) >= 100);
  CHECK(elapsed_ms(start) < 290);
  CHECK(w.loop.count().iterations < 200);  // the wait was slept, not spun
}

TEST_CASE("resolver: a family that gets no answer does not hold back the other") {
  World w;
  w.dns.set("half.lab.test", {.ips = {"127.0.0.2"}}, {.silent = true});
  const auto start = std::chrono::steady_clock::now();
  w.asker.action = [&] {
    if (w.asker.calls != 1) return;
    CHECK(w.asker.ips == std::vector<std::string>{"127.0.0.2"});
    CHECK_FALSE(w.asker.done);
    CHECK(elapsed_ms(start) < 250);
  };
  CHECK(w.asker.ask(w.resolver, "half.lab.test") == "127.0.0.2");
  CHECK(w.asker.calls == 2);
}

TEST_CASE("resolver: a cancelled or destroyed question is never answered") {
  World w;
  w.dns.set("slow.lab.test", {.ips = {"127.0.0.2"}, .delay = 50ms});
  w.resolver.resolve(w.asker.query, "slow.lab.test", 1, w.loop.refresh_now() + 5s);
  CHECK(w.asker.query.running());
  w.asker.query.cancel();
  CHECK_FALSE(w.asker.query.running());
  w.resolver.resolve(w.asker.query, "127.0.0.1", 1, w.loop.refresh_now() + 5s);
  w.asker.query.cancel();
  {
    Asker brief(w.loop);
    w.resolver.resolve(brief.query, "slow.lab.test", 1, w.loop.refresh_now() + 5s);
    w.resolver.resolve(brief.query, "slow.lab.test", 1, w.loop.refresh_now() + 5s);
  }
  run_until(
      w.loop, [] { return false; }, 400ms);
  CHECK(w.asker.calls == 0);
  CHECK(w.asker.ask(w.resolver, "slow.lab.test") == "127.0.0.2");
}

TEST_CASE("resolver: a handler may ask again, and may destroy the resolver") {
  World w;
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2"}});
  auto resolver = std::make_unique<Resolver>(
      w.loop, net::resolver_settings{.dns_servers = w.dns.address().to_string()});
  Asker other(w.loop);
  int rounds = 0;
  Asker again(w.loop);
  again.action = [&] {
    if (++rounds < 3) {
      resolver->resolve(again.query, "node.lab.test", 1, w.loop.refresh_now() + 5s);
    } else {
      resolver.reset();
    }
  };
  w.dns.set("mute.lab.test", {.silent = true}, {.silent = true});
  resolver->resolve(other.query, "mute.lab.test", 1, w.loop.refresh_now() + 5s);
  resolver->resolve(again.query, "node.lab.test", 1, w.loop.refresh_now() + 5s);
  CHECK(run_until(w.loop, [&] { return resolver == nullptr; }));
  CHECK_FALSE(other.query.running());
  CHECK(other.calls == 0);
}

TEST_CASE("resolver: a list of servers is checked; all forms of an address are taken") {
  net::Loop loop;
  for (const char* bad : {"dns.test", "127.0.0.1:0", "127.0.0.1:x", "127.0.0.1:99999", ",",
                          "127.0.0.1:53:53", "[::1", "1.2.3"}) {
    const Resolver resolver(loop, {.dns_servers = bad});
    INFO(bad);
    CHECK(resolver.settings_error().code == errc::settings);
    CHECK_THAT(resolver.settings_error().text, ContainsSubstring("dns_servers"));
  }
  for (const char* good : {"", "127.0.0.1", "127.0.0.1:5353, ::1", "[::1]:53,[::1]", "::1"}) {
    const Resolver resolver(loop, {.dns_servers = good});
    INFO(good);
    CHECK_FALSE(resolver.settings_error());
  }
  Resolver broken(loop, {.dns_servers = "nonsense"});
  Asker asker(loop);
  CHECK_THAT(asker.ask(broken, "node.lab.test"), ContainsSubstring("nonsense"));
  CHECK(asker.ask(broken, "127.0.0.1") == "127.0.0.1");
}

TEST_CASE("resolver: two hundred questions at once leave no descriptor behind") {
  World w;
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2"}});
  CHECK(w.asker.ask(w.resolver, "node.lab.test") == "127.0.0.2");
  const std::size_t before = open_descriptors();
  std::vector<std::unique_ptr<Asker>> many;
  for (int i = 0; i < 200; ++i) {
    many.push_back(std::make_unique<Asker>(w.loop));
    w.resolver.resolve(many.back()->query, "node.lab.test", 1, w.loop.refresh_now() + 5s);
  }
  CHECK(run_until(w.loop, [&] {
    return std::all_of(many.begin(), many.end(), [](const auto& a) { return a->done; });
  }));
  for (const auto& asker : many)
    CHECK(asker->ips == std::vector<std::string>{"127.0.0.2"});
  CHECK(open_descriptors() <= before + 1);
}
