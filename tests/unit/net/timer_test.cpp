#include "net/timer.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <random>
#include <vector>

#include "support.hpp"

using namespace net_test;
using slotwise::net::Timer;
using slotwise::net::TimerHeap;

namespace {

net::time_point at(int ms) {
  return net::time_point{} + std::chrono::milliseconds{ms};
}

struct Probe {
  explicit Probe(std::vector<int>& l, int n = 0) : log(l), name(n) {}
  void fire() {
    log.push_back(name);
    if (action) action();
  }
  std::vector<int>& log;
  int name;
  std::function<void()> action;
  Timer timer = Timer::calling<&Probe::fire>(this);
};

}  // namespace

TEST_CASE("timers fire in order of time, and of arming when the time is equal") {
  std::vector<int> log;
  TimerHeap heap;
  Probe a(log, 1), b(log, 2), c(log, 3), d(log, 4);
  heap.arm(c.timer, at(30));
  heap.arm(a.timer, at(10));
  heap.arm(d.timer, at(10));
  heap.arm(b.timer, at(20));
  CHECK(heap.next() == at(10));
  CHECK(heap.run_due(at(9)) == 0);
  CHECK(heap.run_due(at(20)) == 3);
  CHECK(log == std::vector{1, 4, 2});
  CHECK_FALSE(a.timer.armed());
  CHECK(c.timer.armed());
  CHECK(heap.run_due(at(100)) == 1);
  CHECK(heap.next() == net::never);
}

TEST_CASE("a timer can be moved, cancelled and destroyed, also from a callback") {
  std::vector<int> log;
  TimerHeap heap;
  Probe a(log, 1), b(log, 2);
  auto c = std::make_unique<Probe>(log, 3);
  auto d = std::make_unique<Probe>(log, 4);
  heap.arm(a.timer, at(1));
  heap.arm(b.timer, at(2));
  heap.arm(c->timer, at(3));
  heap.arm(d->timer, at(4));
  a.action = [&] {
    heap.cancel(b.timer);
    heap.cancel(b.timer);  // twice is harmless
    c.reset();             // armed and due: never called
  };
  Probe* raw = d.get();
  d->action = [&] { d.reset(); };  // destroys itself
  heap.arm(raw->timer, at(5));
  CHECK(heap.run_due(at(10)) == 2);
  CHECK(log == std::vector{1, 4});
  CHECK(heap.size() == 0);
}

TEST_CASE("a timer that re-arms itself for now does not keep the round going") {
  std::vector<int> log;
  TimerHeap heap;
  Probe a(log, 1);
  a.action = [&] { heap.arm(a.timer, at(0)); };
  heap.arm(a.timer, at(0));
  CHECK(heap.run_due(at(10)) == 1);
  CHECK(heap.run_due(at(10)) == 1);
  CHECK(a.timer.armed());
}

TEST_CASE("a heap that goes first leaves its timers disarmed") {
  std::vector<int> log;
  Probe a(log, 1);
  {
    TimerHeap heap;
    heap.arm(a.timer, at(1));
  }
  CHECK_FALSE(a.timer.armed());
}

TEST_CASE("random arming, moving and cancelling agrees with a sorted list") {
  std::mt19937 random(20261130);
  std::vector<int> log;
  TimerHeap heap;
  std::vector<std::unique_ptr<Probe>> probes;
  for (int i = 0; i < 500; ++i)
    probes.push_back(std::make_unique<Probe>(log, i));
  for (int step = 0; step < 20'000; ++step) {
    Probe& p = *probes[random() % probes.size()];
    if (random() % 3 == 0) {
      heap.cancel(p.timer);
    } else {
      heap.arm(p.timer, at(static_cast<int>(random() % 1000)));
    }
  }
  std::vector<int> times;
  std::size_t armed = 0;
  for (const auto& p : probes)
    armed += p->timer.armed() ? 1 : 0;
  CHECK(heap.size() == armed);
  for (int now = 0; now < 1000; ++now) {
    const std::size_t before = log.size();
    heap.run_due(at(now));
    for (std::size_t i = before; i < log.size(); ++i) {
      times.push_back(now);
      CHECK(probes[static_cast<std::size_t>(log[i])]->timer.at() == at(now));
    }
  }
  CHECK(log.size() == armed);
  CHECK(std::is_sorted(times.begin(), times.end()));
}
