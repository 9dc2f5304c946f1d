#include "net/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <thread>
#include <vector>

#include "net/loop_thread.hpp"
#include "support.hpp"

using namespace net_test;
using slotwise::net::Loop;
using slotwise::net::LoopThread;
using slotwise::net::Task;
using slotwise::net::Timer;
using slotwise::net::Watcher;

namespace {

// An eventfd that is readable from the start.
struct Ready final : Watcher {
  explicit Ready(Loop& l) : loop(l), event(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
    REQUIRE(loop.add(*this, event.fd(), EPOLLIN) == 0);
  }
  ~Ready() { loop.remove(*this); }
  void on_events(std::uint32_t) override {
    ++calls;
    if (action) action();
  }
  Loop& loop;
  net::Socket event;
  int calls = 0;
  std::function<void()> action;
};

struct Job : Task {
  explicit Job(std::function<void()> f) : body(std::move(f)) {
    run = [](Task* task) { static_cast<Job*>(task)->body(); };
  }
  std::function<void()> body;
};

struct Tick {
  explicit Tick(std::function<void()> f) : body(std::move(f)) {}
  void fire() { body(); }
  std::function<void()> body;
  Timer timer = Timer::calling<&Tick::fire>(this);
};

}  // namespace

TEST_CASE("the descriptors of a loop are close-on-exec and go with it") {
  const std::size_t before = open_descriptors();
  const std::size_t inherited = inherited_by_exec();
  {
    Loop loop;
    CHECK(open_descriptors() == before + 2);
    CHECK(inherited_by_exec() == inherited);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("events reach the watcher, level-triggered, until interest is taken back") {
  Loop loop;
  Ready ready(loop);
  loop.run_once(0s);
  loop.run_once(0s);
  CHECK(ready.calls == 2);
  CHECK(loop.modify(ready, 0) == 0);
  loop.run_once(0s);
  CHECK(ready.calls == 2);
  CHECK(loop.modify(ready, EPOLLIN) == 0);
  loop.run_once(0s);
  CHECK(ready.calls == 3);
  CHECK(ready.watched());
  loop.remove(ready);
  CHECK_FALSE(ready.watched());
  loop.run_once(0s);
  CHECK(ready.calls == 3);
}

TEST_CASE("a quiet watcher hears of a reset once, and the loop does not spin on it") {
  struct Counting final : Watcher {
    void on_events(std::uint32_t) override { ++calls; }
    int calls = 0;
  };
  Loop loop;
  auto pair = connected_pair();
  Counting watcher;
  REQUIRE(loop.add(watcher, pair.client.fd(), EPOLLIN) == 0);
  REQUIRE(loop.modify(watcher, slotwise::net::quiet) == 0);
  send_all(pair.server.fd(), "not wanted now");
  loop.run_once(10ms);
  CHECK(watcher.calls <= 1);
  const ::linger hard{1, 0};
  ::setsockopt(pair.server.fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  pair.server.close();  // a reset
  for (int i = 0; i < 5; ++i)
    loop.run_once(10ms);
  CHECK(watcher.calls >= 1);
  CHECK(watcher.calls <= 2);
  loop.remove(watcher);
}

TEST_CASE("a watcher may remove and free any watcher of the same batch, itself included") {
  for (int round = 0; round < 2; ++round) {
    Loop loop;
    std::vector<std::unique_ptr<Ready>> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(std::make_unique<Ready>(loop));
    int calls = 0;
    for (auto& one : all) {
      one->action = [&, self = one.get()] {
        ++calls;
        if (round == 0) {
          all.clear();  // frees the one that is being called, too
        } else {
          for (auto& other : all) {
            if (other.get() != self) other.reset();
          }
        }
      };
    }
    loop.run_once(0s);
    CHECK(calls == 1);
    loop.run_once(0s);
    CHECK(calls == (round == 0 ? 1 : 2));
  }
}

TEST_CASE("a descriptor number that is reused in the same batch is not mistaken for the old one") {
  Loop loop;
  auto first = std::make_unique<Ready>(loop);
  auto second = std::make_unique<Ready>(loop);
  std::unique_ptr<Ready> fresh;
  int stale_calls = 0;
  const auto replace = [&](std::unique_ptr<Ready>& other) {
    if (!other || fresh) return;
    const int number = other->event.fd();
    other.reset();
    fresh = std::make_unique<Ready>(loop);
    CHECK(fresh->event.fd() == number);
    fresh->action = [&] { ++stale_calls; };
  };
  first->action = [&] { replace(second); };
  second->action = [&] { replace(first); };
  loop.run_once(0s);
  CHECK(stale_calls == 0);
  loop.run_once(0s);
  CHECK(stale_calls == 1);
}

TEST_CASE("one iteration: events, timers, posts, deferred tasks to the last") {
  Loop loop;
  std::string log;
  Ready ready(loop);
  Job deferred_again([&] { log += "D"; });
  Job deferred([&] {
    log += "d";
    loop.defer(&deferred_again);
  });
  Job posted([&] {
    log += "p";
    loop.defer(&deferred);
  });
  Tick tick([&] { log += "t"; });
  ready.action = [&] { log += "e"; };
  loop.post(&posted);
  loop.arm(tick.timer, loop.now());
  loop.run_once(0s);
  CHECK(log == "etpdD");
}

TEST_CASE("a deferred task can be taken back, wherever it is in the queue") {
  for (int taken = 0; taken < 3; ++taken) {
    Loop loop;
    std::string log;
    Job a([&] { log += "a"; }), b([&] { log += "b"; }), c([&] { log += "c"; });
    Job* jobs[] = {&a, &b, &c};
    for (Job* job : jobs)
      loop.defer(job);
    CHECK(loop.undefer(jobs[taken]));
    CHECK_FALSE(loop.undefer(jobs[taken]));
    loop.defer(jobs[taken]);
    loop.run_once(1h);  // does not sleep: there is work
    CHECK(log.size() == 3);
    CHECK(log[2] == "abc"[taken]);
  }
}

TEST_CASE("timers wake the loop on time") {
  Loop loop;
  bool fired = false;
  Tick tick([&] { fired = true; });
  const auto start = std::chrono::steady_clock::now();
  loop.arm(tick.timer, loop.refresh_now() + 20ms);
  while (!fired)
    loop.run_once(5s);
  CHECK(elapsed_ms(start) >= 20);
  CHECK(elapsed_ms(start) < 500);
  CHECK(loop.count().iterations <= 4);  // no spinning before it
}

TEST_CASE("stop works from a callback, from another thread, and before run()") {
  Loop loop;
  Job stopper([&] { loop.stop(); });
  loop.post(&stopper);
  loop.run();
  CHECK_FALSE(loop.in_loop_thread());

  loop.stop();
  loop.run();  // returns at once

  std::atomic<bool> inside{false};
  Job look([&] { inside = loop.in_loop_thread(); });
  std::thread thread([&] { loop.run(); });
  loop.post(&look);
  while (!inside)
    std::this_thread::yield();
  CHECK_FALSE(loop.in_loop_thread());
  loop.stop();
  thread.join();
}

TEST_CASE("a task may post itself again and may free itself") {
  Loop loop;
  int left = 3;
  Job again([&] {
    if (--left > 0) loop.post(&again);
  });
  auto* suicidal = new Job([] {});
  suicidal->run = [](Task* task) { delete static_cast<Job*>(task); };
  loop.post(&again);
  loop.post(suicidal);
  for (int i = 0; i < 3; ++i)
    loop.run_once(0s);
  CHECK(left == 0);
}

TEST_CASE("a loop thread takes no signal and ends with its owner") {
  ::sigset_t mask;
  ::sigemptyset(&mask);
  std::atomic<bool> done{false};
  LoopThread thread("slotwise-test");
  Job look([&] {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    done = true;
  });
  thread.loop().post(&look);
  while (!done)
    std::this_thread::yield();
  CHECK(::sigismember(&mask, SIGINT) == 1);
  CHECK(::sigismember(&mask, SIGUSR1) == 1);
  thread.stop_and_join();
  int late = 0;
  Job after([&] { ++late; });
  thread.loop().post(&after);
  thread.loop().run_once(0s);
  CHECK(late == 1);
}
