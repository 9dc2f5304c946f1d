#include "cli/probe/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/core/table.hpp"
#include "cli/core/units.hpp"

namespace slotwise::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t example_limit = 300;

/// A label, a number, and what the number means.
void append_total(std::string& out, std::string_view label, std::uint64_t value,
                  std::string_view meaning) {
  fmt::format_to(std::back_inserter(out), "  {:<14}{:>13}  {}\n", label, grouped(value), meaning);
}

void append_time(std::string& out, std::string_view label, double ms, std::string_view meaning) {
  fmt::format_to(std::back_inserter(out), "  {:<14}{:>10} ms  {}\n", label, short_ms(ms), meaning);
}

void append_set(std::string& out, const ProbeTotals& t) {
  append_total(out, "acknowledged", t.acked, "writes");
  append_total(out, "failed", t.failed, "writes that were not acknowledged; of these");
  append_total(out, "  unknown", t.unknown, "may have run");
  append_total(out, "lost", t.lost, "acknowledged, but not there at the end");
  append_total(out, "wrong value", t.wrong, "acknowledged, but another value is there");
}

void append_incr(std::string& out, const ProbeTotals& t) {
  append_total(out, "acknowledged", t.acked, "increments");
  append_total(out, "unknown", t.unknown,
               fmt::format("may have run, and the caller was told; {} did", grouped(t.ran)));
  append_total(out, "failed", t.failed, "did not run");
  append_total(out, "sum", t.sum,
               fmt::format("on the servers; right is {} to {}", grouped(t.acked),
                           grouped(t.acked + t.unknown)));
  append_total(out, "lost", t.lost, "acknowledged, but not in their counter");
  append_total(out, "doubled", t.doubled, "in a counter, though neither acknowledged nor unknown");
  if (t.wrong > 0) append_total(out, "wrong value", t.wrong, "counters whose value is no count");
}

std::string shards_text(const ProbeTotals& t) {
  Table table({{"acked", Align::right, 9},
               {"failed", Align::right},
               {"p50 ms", Align::right},
               {"p99 ms", Align::right},
               {"slowest ms", Align::right},
               {"gap ms", Align::right},
               {"shard"}});
  for (const ProbeShard& s : t.shards) {
    table.add({grouped(s.acked), grouped(s.failed), short_ms(s.p50_ms), short_ms(s.p99_ms),
               short_ms(s.slowest_ms), short_ms(s.max_gap_ms), s.name});
  }
  return "\nShards, by who owned the slot when the write was sent\n" + table.to_string("  ");
}

std::string failures_text(const ProbeTotals& t) {
  Table table({{"count", Align::right, 8}, {"code"}, {"outcome"}, {"first one"}});
  for (const ProbeFailure& f : t.failures) {
    table.add({grouped(f.count), std::string(to_string(f.code)), std::string(to_string(f.outcome)),
               f.example.substr(0, example_limit)});
  }
  return "\nWrites that were not acknowledged\n" + table.to_string("  ");
}

double rounded(double ms) {
  return std::round(ms * 1000) / 1000;
}

}  // namespace

std::string verdict(const ProbeTotals& t) {
  std::string out;
  const auto add = [&](std::uint64_t n, std::string_view what) {
    if (n == 0) return;
    fmt::format_to(std::back_inserter(out), "{}{} {}", out.empty() ? "" : ", ", grouped(n), what);
  };
  add(t.failed, "failed");
  add(t.lost, "lost");
  add(t.wrong, "wrong");
  add(t.doubled, "doubled");
  add(t.unread, "unread");
  return out.empty() ? "good" : out;
}

std::string totals_text(const ProbeTotals& t) {
  std::string out = fmt::format("\nTotals of {:.1f} s\n", t.seconds);
  if (t.operation == ProbeOperation::set) {
    append_set(out, t);
  } else {
    append_incr(out, t);
  }
  if (t.unread > 0)
    append_total(out, "unread", t.unread, "acknowledged, but could not be read back");
  append_total(out, "redirects", t.redirects, "MOVED and ASK that the client followed");
  append_total(out, "retries", t.retries, "attempts after a pause");
  append_time(out, "median", t.p50_ms, "of the acknowledged writes");
  append_time(out, "p99", t.p99_ms, "99 of 100 were quicker");
  append_time(out, "slowest", t.slowest_ms, "of all that were acknowledged");
  append_time(out, "longest gap", t.max_gap_ms, "a shard owed an answer and gave none");
  if (t.shards.size() > 1) out += shards_text(t);
  if (!t.failures.empty()) out += failures_text(t);
  if (!t.read_failure.empty()) out += "\nFirst failure of reading back\n  " + t.read_failure + "\n";
  out += fmt::format("\nVerdict: {}\n", verdict(t));
  return out;
}

std::string totals_json(const ProbeTotals& t) {
  const bool incr = t.operation == ProbeOperation::incr;
  Json out{{"operation", incr ? "incr" : "set"},
           {"verdict", verdict(t)},
           {"acked", t.acked},
           {"failed", t.failed},
           {"unknown", t.unknown},
           {"lost", t.lost},
           {"wrong", t.wrong},
           {"max_gap_ms", std::llround(t.max_gap_ms)},
           {"seconds", rounded(t.seconds)},
           {"unread", t.unread}};
  if (incr) {
    out["doubled"] = t.doubled;
    out["sum"] = t.sum;
    out["unknown_that_ran"] = t.ran;
  }
  out["p50_ms"] = rounded(t.p50_ms);
  out["p99_ms"] = rounded(t.p99_ms);
  out["slowest_ms"] = std::llround(t.slowest_ms);
  out["redirects"] = t.redirects;
  out["retries"] = t.retries;
  out["refreshes"] = t.refreshes;
  out["shards"] = Json::array();
  for (const ProbeShard& s : t.shards) {
    out["shards"].push_back({{"shard", s.name},
                             {"acked", s.acked},
                             {"failed", s.failed},
                             {"p50_ms", rounded(s.p50_ms)},
                             {"p99_ms", rounded(s.p99_ms)},
                             {"slowest_ms", rounded(s.slowest_ms)},
                             {"max_gap_ms", std::llround(s.max_gap_ms)}});
  }
  out["failures"] = Json::array();
  for (const ProbeFailure& f : t.failures) {
    out["failures"].push_back({{"code", to_string(f.code)},
                               {"outcome", to_string(f.outcome)},
                               {"count", f.count},
                               {"example", f.example}});
  }
  if (!t.read_failure.empty()) out["read_failure"] = t.read_failure;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace slotwise::cli
