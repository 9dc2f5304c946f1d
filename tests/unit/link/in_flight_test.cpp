#include "link/in_flight.hpp"

#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <vector>

using slotwise::link::Call;
using slotwise::link::InFlight;

TEST_CASE("replies are matched in the order of sending, over many turns of the ring") {
  InFlight ring;
  std::vector<Call> calls(1000);
  std::deque<Call*> expected;
  std::size_t next = 0;
  std::uint64_t position = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 5 + round % 7 && next < calls.size(); ++i) {
      if (i % 3 == 0) {
        ring.push(InFlight::Kind::own);
        expected.push_back(nullptr);
      }
      ring.push(calls[next], position++);
      CHECK(calls[next].where == Call::Where::in_flight);
      expected.push_back(&calls[next++]);
    }
    for (int i = 0; i < 4 && !ring.empty(); ++i) {
      const InFlight::Entry entry = ring.pop();
      CHECK(entry.call == expected.front());
      if (entry.call != nullptr) CHECK(entry.call->where == Call::Where::outside);
      expected.pop_front();
    }
    REQUIRE(ring.size() == expected.size());
  }
}

TEST_CASE("a forgotten call keeps its place, so that later replies still match") {
  InFlight ring;
  std::vector<Call> calls(3);
  for (Call& call : calls)
    ring.push(call, 0);
  ring.forget(calls[1]);
  std::vector<Call*> seen;
  ring.for_each_call([&](Call& call) { seen.push_back(&call); });
  CHECK(seen == std::vector<Call*>{&calls[0], &calls[2]});
  CHECK(ring.pop().call == &calls[0]);
  CHECK(ring.pop().call == nullptr);
  CHECK(ring.pop().call == &calls[2]);
  CHECK(ring.empty());
}
