// Theme 12: clients that end at the worst moment.
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>

#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// How many descriptors a program has that this process runs.
std::string descriptors_of_a_program() {
  FILE* shell = ::popen("ls /proc/self/fd | wc -l", "r");
  if (shell == nullptr) return {};
  std::array<char, 16> text{};
  const char* line = std::fgets(text.data(), static_cast<int>(text.size()), shell);
  ::pclose(shell);
  return line == nullptr ? std::string() : std::string(line);
}

}  // namespace

TEST_CASE("a program that is run has none of the client's descriptors") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  const auto before = descriptors_of_a_program();
  REQUIRE_FALSE(before.empty());
  const Client client = n.client();
  CHECK(client.get("foo") == "1");
  CHECK(descriptors_of_a_program() == before);
}

TEST_CASE("B60: new calls and the client's end inside the callback of an error") {
  Pair n;
  n.a.always({"INCR"}, ScriptedReply::silent());
  auto client = std::make_unique<Client>(n.client());
  std::atomic<int> errors{0};
  std::atomic<bool> inner_ended{false};
  std::atomic<bool> gone{false};
  for (int i = 0; i < 100; ++i) {
    client->async().incr("foo").then([&](Result<std::int64_t> r) {
      if (r || ++errors != 50) return;
      client->async().get("foo").then(
          [&](Result<std::optional<std::string>>) { inner_ended = true; });
      client.reset();
      gone = true;
    });
  }
  kit::wait_until([&] { return n.a.count("INCR") == 100; }, 5s, "the calls");
  n.a.stop_listening();
  n.a.close_all(true);
  kit::wait_until([&] { return gone.load() && inner_ended.load() && errors == 100; }, 5s,
                  "every callback");
  kit::wait_until([&] { return n.a.open_connections() == 0; }, 5s, "its connections to be closed");
}

TEST_CASE("B60: the end while a map is asked for and calls wait for their next try") {
  Pair n;
  n.a.always({"INCR"}, resp::error("CLUSTERDOWN The cluster is down"));
  std::vector<Task<std::int64_t>> tasks;
  Clock::time_point start;
  {
    const Client client = n.client();
    for (ScriptedNode* node : {&n.a, &n.b})
      node->always({"CLUSTER", "SLOTS"}, ScriptedReply::silent());
    n.a.reset_counts();
    for (int i = 0; i < 200; ++i)
      tasks.push_back(client.async().incr("foo"));
    n.a.wait_for({"CLUSTER", "SLOTS"});
    start = Clock::now();
  }
  CHECK(ms_since(start) < 500);
  for (auto& task : tasks) {
    const auto result = task.wait();
    REQUIRE_FALSE(result);
    CHECK(result.error().code() == ErrorCode::cancelled);
  }
}

TEST_CASE("B60: a client that lives until exit() ends with the process") {
  static Pair n;
  static const Client client = n.client();
  static std::atomic<int> ended{0};
  n.a.always({"GET"}, resp::bulk("1"));
  n.a.always({"INCR"}, ScriptedReply::silent());
  CHECK(client.get("foo") == "1");
  for (int i = 0; i < 100; ++i)
    client.async().incr("foo").then([](Result<std::int64_t>) { ++ended; });
  kit::wait_until([&] { return n.a.count("INCR") == 100; }, 5s, "the calls");
  // The calls are pending now. Statics go in the opposite order of their making: the client, which
  // cancels them, before the nodes. A crash or a hang there fails the test.
}
