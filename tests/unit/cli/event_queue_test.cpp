#include "cli/core/event_queue.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace slotwise;
using slotwise::cli::EventQueue;
using Kind = Event::Kind;
using Lines = std::vector<std::string>;

namespace {

Event event(Kind kind, std::string text) {
  Event e;
  e.kind = kind;
  e.text = std::move(text);
  return e;
}

}  // namespace

TEST_CASE("only what changes the map is kept") {
  EventQueue queue;
  queue.on_event(event(Kind::connected, "a"));
  queue.on_event(event(Kind::redirected, "b"));
  CHECK(queue.take().empty());
  queue.on_event(event(Kind::topology_changed, "c"));
  CHECK(queue.take() == Lines{"c"});
  CHECK(queue.take().empty());
}

TEST_CASE("a new map tells the new primaries too") {
  EventQueue queue;
  queue.on_event(event(Kind::primary_changed, "p"));
  CHECK(queue.take() == Lines{"p"});
  queue.on_event(event(Kind::topology_changed, "map"));
  queue.on_event(event(Kind::primary_changed, "p"));
  CHECK(queue.take() == Lines{"map"});
}

TEST_CASE("what is told again and again is one line with a count") {
  EventQueue queue;
  for (int i = 0; i < 60; ++i) {
    queue.on_event(event(Kind::topology_changed, "1 slot a -> b"));
    queue.on_event(event(Kind::primary_changed, "1 slot from a"));
  }
  queue.on_event(event(Kind::topology_changed, "5000 slots a -> b"));
  CHECK(queue.take() == Lines{"1 slot a -> b (60 times)", "5000 slots a -> b"});
}

TEST_CASE("nobody reads and nothing grows") {
  EventQueue queue;
  for (int i = 0; i < 100'000; ++i) {
    queue.on_event(event(Kind::topology_changed, std::to_string(i)));
  }
  CHECK(queue.take().size() <= 1000);
}
