// What the tests of the client share: scripted pairs of nodes, and short names.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/slotwise.hpp>

#include "kit/resp_bytes.hpp"
#include "kit/scripted_node.hpp"
#include "kit/wait.hpp"

namespace slotwise::test {

namespace resp = kit::resp;
using kit::ScriptedNode;
using kit::ScriptedReply;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int foo_slot = 12182;

inline long ms_since(Clock::time_point start) {
  return static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

/// Two nodes of which A owns every slot in both their views.
struct Pair {
  std::shared_ptr<kit::ScriptedMap> map = std::make_shared<kit::ScriptedMap>();
  ScriptedNode a{{.map = map}};
  ScriptedNode b{{.map = map}};

  Pair() { give_all_to(a); }
  void give_all_to(ScriptedNode& node) { map->set({{0, 16383, {node.map_node()}}}); }

  Config config() const {
    Config c;
    c.mode = Mode::cluster;
    c.endpoints = {{a.host(), a.port()}};
    return c;
  }
  /// Quick: for tests about what happens at the end of a call.
  Client client(std::chrono::milliseconds timeout = 5s) const {
    Config c = config();
    c.timeout = timeout;
    return Client::connect(c);
  }
  std::string moved_to_b(int slot = foo_slot) const {
    return resp::error("MOVED " + std::to_string(slot) + " " + b.endpoint());
  }
  std::string moved_to_a(int slot = foo_slot) const {
    return resp::error("MOVED " + std::to_string(slot) + " " + a.endpoint());
  }
};

/// The error of a call that must fail.
template <class F>
Error error_of(F&& call) {
  try {
    (void)call();
  } catch (const Error& e) {
    return e;
  }
  FAIL("the call succeeded");
  return Error(ErrorCode::server, Outcome::executed, "");
}

}  // namespace slotwise::test
