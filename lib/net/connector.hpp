// Connects to one endpoint: names, all its addresses in a race, socket options, TLS, under one
// deadline. Thread rule: loop thread.
//
// Invariants
//  1. The handler is called exactly once per start(), never inside start(), and not at all after
//     cancel() or destruction.
//  2. The first address that is READY wins; with TLS that means a finished and verified
//     handshake, so a reused address with a wrong certificate cannot win.
//  3. Whatever the end, every other socket of the race is closed before the handler is called.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/error.hpp"
#include "net/loop.hpp"
#include "net/resolver.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"
#include "net/tls.hpp"

namespace slotwise::net {

struct endpoint {
  std::string host{};  // name or IP literal
  std::uint16_t port = 0;
  // What the topology says about the node's address. They join the race at the first failure
  // (of DNS or of an address) or after `stagger`, before the second address that DNS gave.
  std::vector<std::string> announced_ips{};
  // Tried only when nothing else is left: addresses that answered as another node.
  std::vector<address> avoid{};
  std::string tls_name{};  // name to verify and to send as SNI; empty: `host`
};

struct connect_settings {
  socket_options socket{};
  std::shared_ptr<TlsContext> tls{};       // null: plain
  std::chrono::milliseconds stagger{250};  // the next address starts after this, or at a failure
};

struct connect_result {
  Stream stream;  // connected and, with TLS, verified; stream.peer() is the address used
  error err;      // names every address with its reason
};

class ConnectHandler {
 public:
  // May start, cancel or destroy the connector.
  virtual void on_connect(connect_result result) = 0;

 protected:
  ~ConnectHandler() = default;
};

class Connector {
 public:
  Connector(Loop& loop, Resolver& resolver, ConnectHandler& handler);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // A running attempt is cancelled first.
  void start(endpoint to, connect_settings settings, time_point deadline);
  void cancel() noexcept;
  bool running() const noexcept;

 private:
  class Race;
  Loop& loop_;
  Resolver& resolver_;
  ConnectHandler& handler_;
  std::unique_ptr<Race> race_;
};

}  // namespace slotwise::net
