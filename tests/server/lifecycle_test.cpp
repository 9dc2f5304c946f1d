// Every call ends exactly once: at the deadline, when the queue is full, at destruction, from
// within callbacks and coroutines.
#include <atomic>
#include <coroutine>
#include <thread>

#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("destruction completes every pending call with cancelled, quickly") {
  Pair n;
  n.a.always({"GET"}, ScriptedReply::silent());
  n.a.always({"INCR"}, resp::error("CLUSTERDOWN The cluster is down"));  // they wait for a retry
  std::atomic<int> cancelled{0};
  std::atomic<int> others{0};
  std::vector<Task<std::optional<std::string>>> tasks;
  const auto count = [&](const auto& result) {
    ++(!result && result.error().code() == ErrorCode::cancelled ? cancelled : others);
  };
  Clock::time_point start;
  {
    const Client client = n.client();
    for (int i = 0; i < 500; ++i) {
      client.async().get("foo").then([&](Result<std::optional<std::string>> r) { count(r); });
      client.async().incr("foo").then([&](Result<std::int64_t> r) { count(r); });
      tasks.push_back(client.async().get("foo"));
    }
    kit::wait_until([&] { return n.a.count("GET") > 0 && n.a.count("INCR") > 0; }, 2s, "calls");
    start = Clock::now();
  }
  CHECK(ms_since(start) < 1000);
  CHECK(cancelled == 1000);
  CHECK(others == 0);
  for (auto& task : tasks) {
    const auto result = task.wait();
    REQUIRE_FALSE(result);
    CHECK(result.error().code() == ErrorCode::cancelled);
  }
}

TEST_CASE("close() wakes synchronous callers on every path") {
  Pair n;
  n.a.always({"GET"}, ScriptedReply::silent());
  n.a.always({"BLPOP"}, ScriptedReply::silent());
  Client client = n.client(20s);
  std::atomic<int> ended{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back([&, i] {
      const Error e = error_of([&] {
        return i % 3 == 0 ? client.command("BLPOP", "foo", 0) : client.command("GET", "foo");
      });
      if (e.code() == ErrorCode::cancelled || e.code() == ErrorCode::connection_lost) ++ended;
    });
  }
  kit::wait_until([&] { return n.a.count("GET") >= 8 && n.a.count("BLPOP") >= 4; }, 5s, "callers");
  const auto start = Clock::now();
  client.close();
  for (auto& caller : callers)
    caller.join();
  CHECK(ms_since(start) < 1000);
  CHECK(ended == 12);
  const Error e = error_of([&] { return client.get("foo"); });
  CHECK(e.code() == ErrorCode::cancelled);
  CHECK(e.outcome() == Outcome::not_sent);
}

TEST_CASE("the client may be destroyed inside its own callback") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  auto client = std::make_unique<Client>(n.client());
  std::atomic<bool> done{false};
  client->async().get("foo").then([&](Result<std::optional<std::string>>) {
    client.reset();
    done = true;
  });
  kit::wait_until([&] { return done.load(); }, 5s, "the callback");
  kit::wait_until([&] { return n.a.open_connections() == 0; }, 5s, "its connections to be closed");
}

TEST_CASE("a view shows the reply until the callback returns, whatever happens meanwhile") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  n.a.always({"GET", "text"}, resp::bulk(std::string(1000, 'x')));
  n.a.always({"GET", "large"}, resp::bulk(std::string(200'000, 'y')));
  n.a.always({"GET", "none"}, resp::nil3());
  n.a.always({"LRANGE"}, resp::array({resp::bulk("a"), resp::bulk("b")}));
  n.a.always({"INCR"}, resp::error("ERR no number"));
  Client client = n.client();
  std::atomic<int> good{0};
  const auto count = [&](bool ok) { good += ok ? 1 : 0; };
  client.async().get("large").then_view([&](Result<ReplyView> r) {
    count(r && r->text() == std::string(200'000, 'y') && r->take().text().size() == 200'000);
  });
  client.async().get("none").then_view([&](Result<ReplyView> r) { count(r && r->is_nil()); });
  client.async().lrange("l", 0, -1).then_view([&](Result<ReplyView> r) {
    count(r && r->elements().size() == 2 && r->elements()[1].text() == "b");
  });
  client.async().incr("n").then_view(
      [&](Result<ReplyView> r) { count(!r && r.error().outcome() == Outcome::rejected); });
  // Answered before anybody asks: it was put aside.
  auto task = client.async().get("text");
  kit::wait_until([&] { return task.ready(); }, 5s, "the reply");
  std::move(task).then_view([&](Result<ReplyView> r) { count(r && r->text().size() == 1000); });
  kit::wait_until([&] { return good == 5; }, 5s, "five views");
  client.async().get("a").then([&](const auto&) {  // from here on it is in place for certain
    client.async().get("text").then_view([&](Result<ReplyView> r) {
      client.close();  // ends the connection in whose buffer it lies
      count(r && r->in_buffer() && r->text() == std::string(1000, 'x'));
    });
  });
  kit::wait_until([&] { return good == 6; }, 5s, "the last view");
}

TEST_CASE("callbacks may make calls, throw, and may not block") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  const Client client = n.client();
  std::atomic<int> steps{0};
  client.async().get("a").then([&](Result<std::optional<std::string>>) {
    ++steps;
    client.async().get("b").then([&](Result<std::optional<std::string>> r) {
      if (r && **r == "1") ++steps;
      try {
        (void)client.get("c");
      } catch (const Error& e) {
        if (e.code() == ErrorCode::refused) ++steps;
      }
      const auto waited = client.async().get("d").wait();
      if (!waited && waited.error().code() == ErrorCode::refused) ++steps;
      throw std::runtime_error("a callback that throws");
    });
  });
  kit::wait_until([&] { return steps == 4; }, 5s, "all steps");
  CHECK(client.get("foo") == "1");
}

namespace {

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached add_up(const Client& client, std::atomic<int>& sum, std::atomic<int>& left) {
  for (int i = 0; i < 50; ++i) {
    const auto value = co_await client.async().get("foo");
    if (value && *value) sum += std::stoi(**value);
  }
  --left;
}

}  // namespace

TEST_CASE("coroutines") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  const Client client = n.client();
  std::atomic<int> sum{0};
  std::atomic<int> left{64};
  for (int i = 0; i < 64; ++i)
    add_up(client, sum, left);
  kit::wait_until([&] { return left == 0; }, 10s, "64 coroutines");
  CHECK(sum == 64 * 50);
}

TEST_CASE("B57: a bounded queue, an end at the deadline, and a server that comes back") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  Config config = n.config();
  config.max_pending = 100;
  config.timeout = 600ms;
  const Client client = Client::connect(config);
  n.a.stop_listening();
  n.a.close_all();
  std::vector<Task<std::optional<std::string>>> tasks;
  for (int i = 0; i < 300; ++i)
    tasks.push_back(client.async().get("foo"));
  int full = 0;
  int ended = 0;
  const auto start = Clock::now();
  for (auto& task : tasks) {
    const auto result = task.wait();
    REQUIRE_FALSE(result);
    CHECK(result.error().outcome() != Outcome::executed);
    ++(result.error().code() == ErrorCode::queue_full ? full : ended);
  }
  CHECK(ms_since(start) < 1500);
  CHECK(full == 200);
  CHECK(ended == 100);
  n.a.listen_again();
  kit::wait_until(
      [&] {
        const auto result = client.async().get("foo").wait();
        return result && *result == "1";
      },
      5s, "the server to be used again");
}
