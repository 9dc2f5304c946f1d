#include "cli/probe/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/core/interrupt.hpp"
#include "cli/core/units.hpp"

namespace slotwise::cli {

using namespace std::chrono_literals;

namespace {

constexpr int rows_per_head = 40;
constexpr std::size_t line_limit = 100;

std::string second(double at) {
  return fmt::format("{:.0f}", at);
}

}  // namespace

ProbeShow::ProbeShow(Probe& probe, Screen& screen, std::shared_ptr<EventQueue> events)
    : probe_(probe),
      screen_(screen),
      events_(std::move(events)),
      columns_{{"second", Align::right, 6},      {"acked", Align::right, 9},
               {"failed", Align::right, 7},      {"unknown", Align::right, 7},
               {"slowest ms", Align::right, 10}, {"redirects", Align::right, 9},
               {"retries", Align::right, 7},     {"acked so far", Align::right, 13}} {}

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
  const std::string text =
      table_row(columns_, {second(row.at), grouped(row.acked), grouped(row.failed),
                           grouped(row.unknown), short_ms(row.slowest_ms), grouped(row.redirects),
                           grouped(row.retries), grouped(row.acked_total)});
  screen_.line(text, row.failed > 0                      ? Tone::bad
                     : row.acked == 0 || row.unknown > 0 ? Tone::warn
                                                         : Tone::plain);
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

}  // namespace slotwise::cli
