// Sentinels that say what a test wants, and a clock that the test moves.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "topology/primary_search.hpp"

namespace slotwise::topology::testing {

using namespace std::chrono_literals;
using Conclusion = PrimarySearch::Conclusion;
using Kind = SentinelReport::Kind;

inline const Endpoint x{"10.0.1.1", 6379};
inline const Endpoint y{"10.0.1.2", 6379};
inline const Endpoint z{"10.0.1.3", 6379};

/// The address of the n-th sentinel, and its id.
inline Endpoint at(int n) {
  return {"10.0.0." + std::to_string(n), 26379};
}
inline std::string id_of(int n) {
  std::string id(40, '0');
  id.back() = static_cast<char>('0' + n);
  return id;
}

/// What the n-th of `total` sentinels says. It knows all others by address and id.
inline SentinelReport says(int n, const Endpoint& primary, std::uint64_t epoch, int total = 3) {
  SentinelReport r;
  r.kind = Kind::named;
  r.id = id_of(n);
  r.primary = primary;
  r.config_epoch = epoch;
  r.sentinels = total;
  for (int other = 1; other <= total; ++other) {
    if (other != n) r.others.push_back({at(other), id_of(other)});
  }
  return r;
}

inline SentinelReport unreachable(std::string why = "connection refused") {
  return SentinelReport::failure(
      Error(ErrorCode::connect_failed, Outcome::not_sent, std::move(why)));
}
inline SentinelReport refused() {
  return SentinelReport::failure(
      Error(ErrorCode::auth_failed, Outcome::rejected, "WRONGPASS invalid username-password pair"));
}
inline SentinelReport unknown_name(int n) {
  SentinelReport r;
  r.kind = Kind::unknown_name;
  r.id = id_of(n);
  return r;
}

/// A search with a clock. Sentinels are named by their address.
class Search {
 public:
  using time_point = PrimarySearch::time_point;

  explicit Search(int seeds, PrimarySearchSettings settings = with_name())
      : search(std::move(settings), addresses(seeds), base::Random(7)) {}
  Search(std::vector<Endpoint> seeds, PrimarySearchSettings settings)
      : search(std::move(settings), seeds, base::Random(7)) {}

  static PrimarySearchSettings with_name() {
    PrimarySearchSettings s;
    s.name = "mymaster";
    return s;
  }
  static std::vector<Endpoint> addresses(int count) {
    std::vector<Endpoint> all;
    for (int n = 1; n <= count; ++n)
      all.push_back(at(n));
    return all;
  }

  /// Lets time pass up to the next round, and opens it. False: there is none within `limit`.
  bool try_ask(std::chrono::milliseconds limit = 60s) {
    const time_point end = now + limit;
    for (int i = 0; i < 1000; ++i) {
      const auto step = search.poll(now);
      if (step.ask) return true;
      if (step.wake > end) {
        now = end;
        return false;
      }
      if (step.wake <= now) throw std::runtime_error("poll() wakes for nothing");
      now = step.wake;
    }
    throw std::runtime_error("poll() never asks");
  }
  void ask() { REQUIRE(try_ask()); }

  const PrimarySearch::Sentinel* find(const Endpoint& endpoint) const {
    for (const auto& s : search.sentinels()) {
      if (base::same_endpoint(s.endpoint, endpoint)) return &s;
    }
    return nullptr;
  }
  bool knows(int n) const { return find(at(n)) != nullptr; }
  int asked() const {
    const auto& all = search.sentinels();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [](auto& s) { return s.asked; }));
  }

  std::optional<Conclusion> tell(const Endpoint& sentinel, SentinelReport report) {
    const auto* s = find(sentinel);
    REQUIRE(s != nullptr);
    return search.reported(s->handle, std::move(report), now);
  }
  std::optional<Conclusion> tell(int n, SentinelReport report) {
    return tell(at(n), std::move(report));
  }

  /// A whole round: the n-th sentinel answers with the n-th report, and whoever else is asked is
  /// out of reach. Its conclusion.
  Conclusion round(std::vector<SentinelReport> reports) {
    ask();
    std::optional<Conclusion> end;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      auto c = tell(static_cast<int>(i) + 1, std::move(reports[i]));
      if (c && !end) end = std::move(c);
    }
    if (!end) end = lose_the_rest();
    REQUIRE(end);
    REQUIRE_FALSE(search.round_open());
    return *end;
  }
  std::optional<Conclusion> lose_the_rest() {
    for (int i = 0; i < 100 && search.round_open(); ++i) {
      const auto& all = search.sentinels();
      const auto it = std::find_if(all.begin(), all.end(), [](const auto& s) { return s.asked; });
      REQUIRE(it != all.end());
      if (auto c = search.reported(it->handle, unreachable(), now)) return c;
    }
    return std::nullopt;
  }
  /// A round after which a primary is in use, as the client would have it.
  Conclusion settle(const Endpoint& primary, std::uint64_t epoch, int total = 3) {
    std::vector<SentinelReport> all;
    for (int n = 1; n <= total; ++n)
      all.push_back(says(n, primary, epoch, total));
    Conclusion c = round(std::move(all));
    REQUIRE(c.primary == primary);
    search.settled(true, now);
    return c;
  }
  Conclusion round_on_trigger(std::vector<SentinelReport> reports) {
    search.trigger();
    return round(std::move(reports));
  }

  PrimarySearch search;
  time_point now{std::chrono::hours(1)};
};

}  // namespace slotwise::topology::testing
