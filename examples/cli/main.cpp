// The command-line tool `slotwise`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <slotwise/error.hpp>
#include <slotwise/version.hpp>

#include "cli/commands.hpp"
#include "cli/core/line_io.hpp"
#include "cli/core/suggest.hpp"

namespace {

using namespace slotwise::cli;

constexpr const char* description =
    "slotwise: a client for Valkey and Redis that keeps working while the servers change.\n";

constexpr const char* footer =
    "A deployment is named by --uri URI, or by SLOTWISE_URI in the environment:\n"
    "  valkey+cluster://HOST:PORT,HOST:PORT    a cluster; one node is enough to find it\n"
    "  valkey://HOST:PORT                      a single server\n"
    "  valkey+sentinel://HOST:PORT,.../NAME    a primary that sentinels name\n"
    "valkeys... for TLS, USER:PASSWORD@ before the hosts, and settings behind: "
    "?timeout=2s&protocol=2\n"
    "\n"
    "Exit status: 0 all is well, 1 something failed, 2 the command line makes no sense.\n"
    "slotwise COMMAND --help says more about a command.";

/// The subcommand that the user meant: the innermost that was recognised.
const CLI::App& chosen(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : chosen(*subcommands.front());
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> names_of(const CLI::App& app, bool options) {
  std::vector<std::string> names;
  if (options) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames())
        names.push_back("--" + name);
    }
  } else {
    const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
    for (const CLI::App* sub : app.get_subcommands(shown)) {
      names.push_back(sub->get_name());
    }
  }
  return names;
}

/// What to say about a word that nobody knows.
std::string about_unknown(const CLI::App& app, const std::string& word) {
  const bool option = word.starts_with('-');
  const std::string name = word.substr(0, word.find('='));
  std::string text = fmt::format("unknown {} {}", option ? "option" : "word", name);
  if (!option && names_of(app, false).empty()) {
    return text + ": no argument is expected here, and -- is not needed";
  }
  if (!option) text = fmt::format("unknown command {}", name);
  const std::string near = nearest(name, names_of(app, option));
  return near.empty() ? text : fmt::format("{}; did you mean {}?", text, near);
}

int usage(const CLI::App& app, const std::string& text) {
  const std::string name = full_name(chosen(app));
  fmt::print(stderr, "{}: {}\n'{} --help' shows what it takes.\n", name, text, name);
  return exit_usage;
}

int about_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& where = chosen(app);
  for (const CLI::App* at = &where; at != nullptr; at = at->get_parent()) {
    const auto unknown = at->remaining();
    if (!unknown.empty()) return usage(app, about_unknown(where, unknown.front()));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      !names_of(where, false).empty()) {
    return usage(app, "name a command: " + CLI::detail::join(names_of(where, false), ", "));
  }
  return usage(app, error.what());
}

int run(const CLI::App& app, const Action& action) {
  try {
    return action();
  } catch (const UsageError& error) {
    return usage(app, error.what());
  } catch (const slotwise::Error& error) {
    fmt::print(stderr, "{}: {} ({}): {}\n", full_name(chosen(app)), to_string(error.code()),
               to_string(error.outcome()), error.message());
    return error.code() == slotwise::ErrorCode::invalid_argument ? exit_usage : exit_failed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", full_name(chosen(app)), error.what());
    return exit_failed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(description, "slotwise");
  app.set_version_flag("--version", std::string("slotwise ") + slotwise::version());
  app.require_subcommand(1);
  app.footer(footer);
  app.get_formatter()->column_width(34);

  Action action;
  add_exec(app, action);
  add_topology(app, action);
  add_probe(app, action);
  add_load(app, action);
  add_doctor(app, action);
  add_hotkeys(app, action);
  add_lab(app, action);
  add_demo(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return about_parse_error(app, error);
  } catch (const UsageError& error) {
    return usage(app, error.what());
  }
  return run(app, action);
}
