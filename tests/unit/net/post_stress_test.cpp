// Posts from several threads: none is lost, each thread's order is kept, wake-ups are few.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "net/loop.hpp"
#include "net/loop_thread.hpp"
#include "support.hpp"

using namespace net_test;
using slotwise::net::Loop;
using slotwise::net::LoopThread;
using slotwise::net::Task;

namespace {

struct Tally {
  std::vector<int> next;
  int out_of_order = 0;
  std::atomic<int> done{0};
};

struct Numbered : Task {
  Tally* tally = nullptr;
  int thread = 0;
  int number = 0;
  static void count(Task* task) {
    auto* self = static_cast<Numbered*>(task);
    int& expected = self->tally->next[static_cast<std::size_t>(self->thread)];
    if (self->number != expected) ++self->tally->out_of_order;
    expected = self->number + 1;
    self->tally->done.fetch_add(1, std::memory_order_release);
  }
};

void flood(Loop& loop, int threads, int each, int pause_every) {
  Tally tally;
  tally.next.resize(static_cast<std::size_t>(threads));
  std::vector<std::unique_ptr<Numbered[]>> tasks;
  for (int t = 0; t < threads; ++t) {
    auto& row = tasks.emplace_back(new Numbered[static_cast<std::size_t>(each)]);
    for (int i = 0; i < each; ++i) {
      row[static_cast<std::size_t>(i)].run = &Numbered::count;
      row[static_cast<std::size_t>(i)].tally = &tally;
      row[static_cast<std::size_t>(i)].thread = t;
      row[static_cast<std::size_t>(i)].number = i;
    }
  }
  std::vector<std::thread> posters;
  for (int t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        loop.post(&tasks[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)]);
        if (pause_every > 0 && i % pause_every == 0) std::this_thread::yield();
      }
    });
  }
  for (auto& poster : posters)
    poster.join();
  const auto start = std::chrono::steady_clock::now();
  while (tally.done.load(std::memory_order_acquire) < threads * each &&
         elapsed_ms(start) < 30'000) {
    std::this_thread::sleep_for(1ms);
  }
  CHECK(tally.done == threads * each);
  CHECK(tally.out_of_order == 0);
}

}  // namespace

TEST_CASE("four threads post 400,000 tasks to a running loop") {
  LoopThread thread;
  flood(thread.loop(), 4, 100'000, 0);
  thread.stop_and_join();
  // At most one eventfd write per sleep.
  CHECK(thread.loop().count().wakeups <= thread.loop().count().iterations);
}

TEST_CASE("posts with pauses, so that the loop falls asleep all the time, are never lost") {
  LoopThread thread;
  flood(thread.loop(), 4, 5'000, 1);
  thread.stop_and_join();
  CHECK(thread.loop().count().wakeups <= thread.loop().count().iterations);
}

TEST_CASE("the same with a busy-polling loop") {
  LoopThread thread("slotwise-test", {.busy_poll = 50us});
  flood(thread.loop(), 4, 2'000, 8);
}

TEST_CASE("one task at a time: each post finds a sleeping loop and wakes it") {
  LoopThread thread;
  Tally tally;
  tally.next.resize(1);
  for (int i = 0; i < 2'000; ++i) {
    Numbered task;
    task.run = &Numbered::count;
    task.tally = &tally;
    task.number = i;
    thread.loop().post(&task);
    const auto start = std::chrono::steady_clock::now();
    while (tally.done.load(std::memory_order_acquire) <= i && elapsed_ms(start) < 5'000) {
    }
    REQUIRE(tally.done == i + 1);
  }
}

TEST_CASE("a million tasks may wait for a loop that is busy elsewhere") {
  Loop loop;
  Tally tally;
  tally.next.resize(1);
  constexpr int many = 1'000'000;
  const std::unique_ptr<Numbered[]> tasks(new Numbered[many]);
  for (int i = 0; i < many; ++i) {
    tasks[static_cast<std::size_t>(i)].run = &Numbered::count;
    tasks[static_cast<std::size_t>(i)].tally = &tally;
    tasks[static_cast<std::size_t>(i)].number = i;
    loop.post(&tasks[static_cast<std::size_t>(i)]);
  }
  loop.run_once(0s);
  CHECK(tally.done == many);
  CHECK(tally.out_of_order == 0);
  CHECK(loop.count().wakeups == 0);
}
