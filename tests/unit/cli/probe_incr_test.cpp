#include <catch2/catch_test_macros.hpp>

#include "cli/probe/counter_watch.hpp"

using namespace slotwise::cli;

TEST_CASE("a counter that counts is nothing strange") {
  CounterWatch watch;
  for (int i = 1; i <= 1000; ++i)
    watch.acknowledged(i);
  CHECK(watch.lost() == 0);
  CHECK(watch.doubled() == 0);
}

TEST_CASE("an increment that ran twice shows at the next reply") {
  CounterWatch watch;
  watch.acknowledged(1);
  watch.acknowledged(3);
  CHECK(watch.doubled() == 1);
  watch.acknowledged(4);
  CHECK(watch.doubled() == 1);
  watch.acknowledged(7);
  CHECK(watch.doubled() == 3);
  CHECK(watch.lost() == 0);
}

TEST_CASE("an unknown increment may show, once, and however late") {
  CounterWatch watch;
  watch.acknowledged(1);
  watch.unknown();
  watch.acknowledged(2);  // it has not run
  watch.acknowledged(3);
  watch.acknowledged(5);  // now it has
  CHECK(watch.doubled() == 0);
  watch.acknowledged(7);  // and once more
  CHECK(watch.doubled() == 1);
}

TEST_CASE("a counter that goes back, or stands still, has lost") {
  CounterWatch watch;
  for (int i = 1; i <= 10; ++i)
    watch.acknowledged(i);
  watch.acknowledged(7);  // 7 to 10 are gone, and this is the 7 again
  CHECK(watch.lost() == 4);
  watch.acknowledged(7);
  CHECK(watch.lost() == 5);
  watch.acknowledged(8);
  CHECK(watch.lost() == 5);
  CHECK(watch.doubled() == 0);
}

TEST_CASE("the value at the end lies between acknowledged and acknowledged + unknown") {
  CHECK(judge_counter(10, 0, 10).lost == 0);
  CHECK(judge_counter(10, 0, 10).doubled == 0);
  CHECK(judge_counter(10, 3, 12).doubled == 0);
  CHECK(judge_counter(10, 3, 12).ran == 2);
  CHECK(judge_counter(10, 3, 13).ran == 3);
  CHECK(judge_counter(10, 3, 14).doubled == 1);
  CHECK(judge_counter(10, 3, 14).ran == 3);
  CHECK(judge_counter(10, 3, 9).lost == 1);
  CHECK(judge_counter(10, 3, 0).lost == 10);
  CHECK(judge_counter(0, 1, 1).ran == 1);
}
