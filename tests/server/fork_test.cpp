// A process that forks while it has a client.
#include <sys/wait.h>
#include <unistd.h>

#include "kit/server.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool threads_after_fork = false;  // ThreadSanitizer itself cannot bear them
#else
constexpr bool threads_after_fork = true;
#endif

/// What the child finds wrong, as a number; 0: nothing.
int in_the_child(Client& inherited, const std::string& uri) {
  try {
    inherited.get("k");
    return 1;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::refused || !e.did_not_run()) return 2;
  }
  const auto async = inherited.async().get("k").wait();
  if (async.has_value() || async.error().code() != ErrorCode::refused) return 3;
  auto pipeline = inherited.pipeline();
  const auto read = pipeline.get("k");
  if (pipeline.exec()[read].has_value()) return 4;
  { const Client gone = std::move(inherited); }  // closes nothing that the parent uses
  if (!threads_after_fork) return 0;
  try {
    const Client own = Client::connect(uri);
    if (own.incr("child") != 1) return 5;
    if (own.async().incr("child").get() != 2) return 6;
  } catch (const Error&) {
    return 7;
  }
  return 0;
}

}  // namespace

TEST_CASE(
    "after fork() the child's copy refuses, a client of its own works, the parent's goes on") {
  kit::Server server;
  const std::string uri = "valkey://" + server.address().to_string();
  Client client = Client::connect(uri);
  client.set("k", "v");
  client.async().get("k").get();
  auto pending = client.async().command("BLPOP", "q", "0");
  kit::wait_until([&] { return server.info("blocked_clients") == "1"; }, 5s, "BLPOP to wait");
  const auto lost = client.stats().disconnects;

  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_the_child(client, uri));
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);

  CHECK(client.get("k") == "v");
  CHECK(client.async().get("k").get() == "v");
  CHECK(server.info("blocked_clients") == "1");
  client.rpush("q", {"x"});
  CHECK(pending.wait().has_value());
  CHECK(client.stats().disconnects == lost);
}
