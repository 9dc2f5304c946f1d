#include "cli/probe/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/core/interrupt.hpp"
#include "cli/core/units.hpp"

namespace slotwise::cli {

using namespace std::chrono_literals;

namespace {

constexpr int rows_per_head = 40;
constexpr std::size_t line_limit = 100;
constexpr std::size_t example_limit = 300;

std::string second(double at) {
  return fmt::format("{:.0f}", at);
}

/// A label, a number, and what the number means.
void append_total(std::string& out, std::string_view label, std::uint64_t value,
                  std::string_view meaning) {
  fmt::format_to(std::back_inserter(out), "  {:<14}{:>13}  {}\n", label, grouped(value), meaning);
}

void append_time(std::string& out, std::string_view label, double ms, std::string_view meaning) {
  fmt::format_to(std::back_inserter(out), "  {:<14}{:>10} ms  {}\n", label, short_ms(ms), meaning);
}

}  // namespace

ProbeShow::ProbeShow(Probe& probe, Screen& screen, std::shared_ptr<EventQueue> events)
    : probe_(probe),
      screen_(screen),
      events_(std::move(events)),
      columns_{{"second", Align::right, 6},       {"acked", Align::right, 9},
               {"failed", Align::right, 7},       {"slowest ms", Align::right, 10},
               {"redirects", Align::right, 9},    {"retries", Align::right, 7},
               {"acked so far", Align::right, 13}} {}

void ProbeShow::run(const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  screen_.line(table_head(columns_), Tone::bold);
  auto next_row = Clock::now() + 1s;
  bool stopping = false;
  while (!probe_.finished()) {
    Interrupt::wait_until(std::min(next_row, Clock::now() + 50ms));
    show_events();
    if (!stopping && (Interrupt::requested() || done())) {
      stopping = true;
      probe_.request_stop();
    }
    const auto now = Clock::now();
    if (now >= next_row) {
      show_row(probe_.row());
      next_row = std::max(next_row + 1s, now + 500ms);
      if (stopping && probe_.running() > 0) {
        screen_.draft(fmt::format("        waiting for {} writes to end", probe_.running()));
      }
    }
  }
  show_events();
  // The rest of a second, unless it is next to nothing.
  if (next_row - Clock::now() < 800ms) show_row(probe_.row());
}

void ProbeShow::show_row(const ProbeRow& row) {
  if (++rows_ % rows_per_head == 0) screen_.line(table_head(columns_), Tone::bold);
  const std::string text = table_row(
      columns_, {second(row.at), grouped(row.acked), grouped(row.failed), short_ms(row.slowest_ms),
                 grouped(row.redirects), grouped(row.retries), grouped(row.acked_total)});
  screen_.line(text, row.failed > 0 ? Tone::bad : row.acked == 0 ? Tone::warn : Tone::plain);
}

void ProbeShow::note(const std::string& text, Tone tone) {
  const std::scoped_lock lock(mutex_);
  notes_.push_back({text, tone});
}

void ProbeShow::show_events() {
  std::vector<Note> notes;
  {
    const std::scoped_lock lock(mutex_);
    notes.swap(notes_);
  }
  const double at = probe_.elapsed();
  for (const Note& n : notes)
    print(at, n.text, n.tone);
  if (!events_) return;
  for (const std::string& text : events_->take())
    print(at, "client: " + text, Tone::dim);
}

/// Long texts go on in lines of their own, broken behind a comma or semicolon.
void ProbeShow::print(double at, std::string_view text, Tone tone) {
  constexpr std::size_t room = line_limit - 9;
  std::string head = fmt::format("{:>6.1f}  |", at);
  std::string line = " ";
  while (!text.empty()) {
    const std::size_t mark = text.find_first_of(",;");
    const std::size_t end = mark == std::string_view::npos ? text.size() : mark + 1;
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end);
    if (line.size() > 1 && line.size() + part.size() > room) {
      screen_.line(head + line, tone);
      head = std::string(8, ' ') + "|";
      line = "        ";  // part begins with the blank that followed the mark
    }
    line += part;
  }
  screen_.line(head + line, tone);
}

void ProbeShow::verify() {
  probe_.verify([this](std::uint64_t done, std::uint64_t all) {
    screen_.draft(fmt::format("        reading back: {} of {}", grouped(done), grouped(all)));
    return Interrupt::count() < 2;
  });
}

std::string totals_text(const ProbeTotals& t) {
  std::string out = fmt::format("\nTotals of {:.1f} s\n", t.seconds);
  append_total(out, "acknowledged", t.acked, "writes");
  append_total(out, "failed", t.failed, "writes that were not acknowledged; of these");
  append_total(out, "  unknown", t.unknown, "may have run");
  append_total(out, "lost", t.lost, "acknowledged, but not there at the end");
  append_total(out, "wrong value", t.wrong, "acknowledged, but another value is there");
  if (t.unread > 0)
    append_total(out, "unread", t.unread, "acknowledged, but could not be read back");
  append_total(out, "redirects", t.redirects, "MOVED and ASK that the client followed");
  append_total(out, "retries", t.retries, "attempts after a pause");
  append_time(out, "slowest", t.slowest_ms, "of the acknowledged writes");
  append_time(out, "longest gap", t.max_gap_ms, "a shard owed an answer and gave none");

  Table gaps({{"gap ms", Align::right, 8}, {"shard"}});
  for (const auto& gap : t.gaps)
    gaps.add({short_ms(gap.ms), gap.shard});
  if (t.gaps.size() > 1) out += "\nLongest gap per shard\n" + gaps.to_string("  ");

  Table failures({{"failed", Align::right, 8}, {"code"}, {"outcome"}, {"first one"}});
  for (const auto& f : t.failures) {
    failures.add({grouped(f.count), std::string(to_string(f.code)),
                  std::string(to_string(f.outcome)), f.example.substr(0, example_limit)});
  }
  if (!failures.empty()) out += "\nFailures\n" + failures.to_string("  ");
  if (!t.read_failure.empty()) out += "\nFirst failure of reading back\n  " + t.read_failure + "\n";
  return out;
}

std::string totals_json(const ProbeTotals& t) {
  nlohmann::ordered_json out{
      {"acked", t.acked},
      {"failed", t.failed},
      {"unknown", t.unknown},
      {"lost", t.lost},
      {"wrong", t.wrong},
      {"max_gap_ms", std::llround(t.max_gap_ms)},
      {"seconds", std::round(t.seconds * 1000) / 1000},
      {"unread", t.unread},
      {"slowest_ms", std::llround(t.slowest_ms)},
      {"redirects", t.redirects},
      {"retries", t.retries},
      {"refreshes", t.refreshes},
  };
  out["shards"] = nlohmann::ordered_json::array();
  for (const auto& gap : t.gaps) {
    out["shards"].push_back({{"shard", gap.shard}, {"max_gap_ms", std::llround(gap.ms)}});
  }
  out["failures"] = nlohmann::ordered_json::array();
  for (const auto& f : t.failures) {
    out["failures"].push_back({{"code", to_string(f.code)},
                               {"outcome", to_string(f.outcome)},
                               {"count", f.count},
                               {"example", f.example}});
  }
  if (!t.read_failure.empty()) out["read_failure"] = t.read_failure;
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace slotwise::cli
