#include "cli/doctor/report.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/doctor/picture.hpp"

namespace slotwise::cli {

namespace {

constexpr std::size_t line_limit = 100;
constexpr std::size_t indent = 10;

/// "what is said", in lines that begin with blanks but for the first, which begins with `head`.
void append_wrapped(std::string& out, std::string_view head, std::string_view text) {
  std::string line = fmt::format("{:<{}}", head, indent);
  bool empty = true;
  while (!text.empty()) {
    const std::size_t blank = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    if (!empty && line.size() + 1 + word.size() > line_limit) {
      out += line + '\n';
      line = std::string(indent, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  out += line + '\n';
}

std::string_view label(Level level) noexcept {
  switch (level) {
    case Level::problem:
      return "PROBLEM";
    case Level::warning:
      return "WARNING";
    case Level::note:
      return "note";
    case Level::ok:
      return "ok";
  }
  return "?";
}

std::string conclusion(const Findings& findings) {
  const std::string counts =
      fmt::format("{}, {}, {}.", counted(findings.count(Level::problem), "problem"),
                  counted(findings.count(Level::warning), "warning"),
                  counted(findings.count(Level::note), "note"));
  if (findings.count(Level::problem) > 0)
    return counts + " This deployment would not survive every failure.";
  if (findings.count(Level::warning) > 0)
    return counts + " It works, and some failures would hurt more than they have to.";
  return counts + " As far as can be seen, it survives the loss of any one node.";
}

}  // namespace

std::string_view to_string(Level level) noexcept {
  switch (level) {
    case Level::problem:
      return "problem";
    case Level::warning:
      return "warning";
    case Level::note:
      return "note";
    case Level::ok:
      return "ok";
  }
  return "?";
}

std::string doctor_text(const std::string& uri, const Findings& findings) {
  std::string out = uri + "\n\n";
  for (const Level level : {Level::problem, Level::warning, Level::note, Level::ok}) {
    for (const Finding& finding : findings.all()) {
      if (finding.level != level) continue;
      append_wrapped(out, label(level), finding.what);
      if (!finding.why.empty()) append_wrapped(out, "", finding.why);
      if (!finding.action.empty()) append_wrapped(out, "  do", finding.action);
      if (level != Level::ok) out += '\n';
    }
  }
  if (findings.count(Level::ok) > 0) out += '\n';
  out += conclusion(findings) + '\n';
  return out;
}

std::string doctor_json(const std::string& uri, const Findings& findings) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Finding& f : findings.all()) {
    list.push_back({{"level", to_string(f.level)},
                    {"check", f.check},
                    {"what", f.what},
                    {"why", f.why},
                    {"do", f.action}});
  }
  const Json out{{"uri", uri},
                 {"healthy", !findings.trouble()},
                 {"problems", findings.count(Level::problem)},
                 {"warnings", findings.count(Level::warning)},
                 {"notes", findings.count(Level::note)},
                 {"findings", list}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace slotwise::cli
