// A connector with what it needs, driven by the test's own thread.
#pragma once

#include <optional>

#include "kit/dns_responder.hpp"
#include "net/connector.hpp"
#include "support.hpp"

namespace net_test {

using slotwise::kit::DnsResponder;

struct Dialer final : net::ConnectHandler {
  explicit Dialer(net::resolver_settings resolving = {}) : resolver(loop, std::move(resolving)) {}

  void on_connect(net::connect_result r) override {
    ++calls;
    result.emplace(std::move(r));
    if (action) action();
  }

  // Connects and waits; `took` says how long it was.
  net::connect_result& dial(net::endpoint to, std::chrono::milliseconds limit = 5s,
                            net::connect_settings settings = {}) {
    result.reset();
    const auto start = std::chrono::steady_clock::now();
    connector.start(std::move(to), std::move(settings), loop.refresh_now() + limit);
    run_until(
        loop, [&] { return result.has_value(); }, limit + 3s);
    took = elapsed_ms(start);
    if (!result) result = net::connect_result{{}, {net::errc::system, "NO RESULT"}};
    return *result;
  }

  net::Loop loop;
  net::Resolver resolver;
  net::Connector connector{loop, resolver, *this};
  std::optional<net::connect_result> result;
  std::function<void()> action;
  int calls = 0;
  std::int64_t took = 0;
};

}  // namespace net_test
