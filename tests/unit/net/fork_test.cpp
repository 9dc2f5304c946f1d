// After fork() the child must leave the parent's connections and epoll set alone.
#include "net/fork.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>

#include "net/loop.hpp"
#include "net/stream.hpp"
#include "support.hpp"

using namespace net_test;
using slotwise::net::io_mode;
using slotwise::net::io_status;

namespace {

struct Counting final : net::Watcher {
  void on_events(std::uint32_t) override { ++calls; }
  int calls = 0;
};

}  // namespace

TEST_CASE("a forked child cannot hurt the parent's stream and loop") {
  auto pair = connected_pair();
  net::Loop loop;
  Counting watcher;
  net::Stream stream(std::move(pair.client), {});
  REQUIRE(loop.add(watcher, stream.fd(), EPOLLIN) == 0);
  const auto before = slotwise::net::fork_generation();
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool ok = slotwise::net::fork_generation() == before + 1;
    stream.shutdown_now();
    ok = ok && loop.modify(watcher, 0) != 0;
    loop.remove(watcher);
    ok = ok && loop.add(watcher, stream.fd(), EPOLLIN) != 0;
    stream.close();
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(slotwise::net::fork_generation() == before);

  send_all(pair.server.fd(), "x");
  loop.run_once(1s);
  CHECK(watcher.calls == 1);
  char buffer[4];
  CHECK(stream.read(buffer, io_mode::nonblocking).status == io_status::ok);
  CHECK(stream.write(std::string_view("y"), io_mode::nonblocking).status == io_status::ok);
  CHECK(receive(pair.server.fd(), 1) == "y");
  loop.remove(watcher);
}
