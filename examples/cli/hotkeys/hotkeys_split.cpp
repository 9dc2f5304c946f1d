#include "cli/hotkeys/hotkeys_split.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <slotwise/client.hpp>

#include "cli/core/line_words.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/table.hpp"
#include "cli/core/text.hpp"
#include "cli/hotkeys/hotkeys.hpp"

namespace slotwise::cli {

namespace {

using hotkey::Status;

struct SplitCommand {
  std::string uri;
  std::string key;
  int copies = 1;
  bool counter = false;
  bool json = false;
};

bool is_counter(const Status& status) {
  return status.kind == hotkey::Kind::counter;
}

std::string_view kind_of(const Status& status) {
  return is_counter(status) ? "counter" : "value";
}

/// Of a copy its version, of a part its number.
std::string figure_of(const Status& status, const Status::Copy& copy) {
  return is_counter(status) ? std::to_string(static_cast<std::int64_t>(copy.version))
                            : std::to_string(copy.version);
}

std::string state_of(const Status& status) {
  if (status.copies_per_primary == 0) return "being joined";
  return status.balanced ? "balanced" : "not balanced";
}

void append_text_field(std::string& out, std::string_view name, std::string_view text) {
  out += fmt::format(",\"{}\":", name);
  append_json_string(out, text, is_utf8(text) ? JsonEncoding::utf8 : JsonEncoding::latin1);
}

/// A splitter that does what it is told and nothing else.
hotkey::Splitter splitter_of(const Client& client) {
  return hotkey::Splitter(client, {.keep = false});
}

void print(const Status& status, bool json) {
  Screen(STDOUT_FILENO).block(json ? status_json(status) + "\n" : status_text(status));
}

int run_split(const SplitCommand& command) {
  const std::string key = key_of(command.key);
  const Client client = Client::connect(config_of(command.uri));
  const hotkey::Splitter splitter = splitter_of(client);
  const hotkey::SplitOptions options{.copies_per_primary = command.copies};
  if (command.counter) {
    (void)splitter.split_counter(key, options);
  } else {
    (void)splitter.split(key, options);
  }
  print(splitter.status(key), command.json);
  return exit_ok;
}

int run_status(const SplitCommand& command) {
  const std::optional<std::string> key =
      command.key.empty() ? std::nullopt : std::optional(key_of(command.key));
  const Client client = Client::connect(config_of(command.uri));
  const hotkey::Splitter splitter = splitter_of(client);
  if (key) {
    print(splitter.status(*key), command.json);
    return exit_ok;
  }
  int status = exit_ok;
  std::vector<Status> all;
  for (const std::string& each : splitter.keys()) {
    try {
      all.push_back(splitter.status(each));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_split) continue;  // joined a moment ago
      fmt::print(stderr, "slotwise hotkeys status: {}: {}\n", shown_key(each), error.message());
      status = exit_failed;
    }
  }
  std::string out;
  if (command.json) {
    for (const Status& each : all)
      out += (out.empty() ? "" : ",") + status_json(each);
    out = fmt::format("{{\"keys\":[{}]}}\n", out);
  } else {
    out = statuses_text(all);
  }
  Screen(STDOUT_FILENO).block(out);
  return status;
}

int run_join(const SplitCommand& command) {
  const std::string key = key_of(command.key);
  const Client client = Client::connect(config_of(command.uri));
  splitter_of(client).join(key);
  std::string out;
  if (command.json) {
    out = "{";
    append_key_field(out, key);
    out += ",\"joined\":true}\n";
  } else {
    out = fmt::format("{} is one key again.\n", shown_key(key, 200));
  }
  Screen(STDOUT_FILENO).block(out);
  return exit_ok;
}

constexpr const char* keys_footer =
    "KEY in double quotes may hold escapes, as keys are printed: '\"a\\x00b\"'.\n";

constexpr const char* split_footer =
    "The key becomes copies, the same number on each primary, which clients read instead of the\n"
    "key itself; it holds the newest value all the same, for clients that know nothing of this.\n"
    "It takes about two seconds, so that every client knows before it counts. On a key that is\n"
    "split already, another number of copies places them anew.\n";

constexpr const char* json_footer =
    "--json gives one object: key, kind, version (of the newest write), manifest_version,\n"
    "copies_per_primary, balanced, and for each of copies name, slot, node, version, state; of a\n"
    "counter's copies version is the part. A key that is not UTF-8 comes as Latin-1, with "
    "encoding\n"
    "\"latin1\".";

using Run = int (*)(const SplitCommand&);

struct Added {
  CLI::App* command;
  std::shared_ptr<SplitCommand> options;
};

Added add_one(CLI::App& group, Action& action, const std::string& name, const std::string& help,
              Run run) {
  auto options = std::make_shared<SplitCommand>();
  CLI::App* command = group.add_subcommand(name, help);
  add_uri(*command, options->uri);
  command->add_flag("--json", options->json, "One JSON object");
  command->final_callback(
      [options, run, &action] { action = [options, run] { return run(*options); }; });
  return {command, std::move(options)};
}

}  // namespace

std::string key_of(const std::string& word) {
  if (!word.starts_with('"')) {
    if (word.empty()) throw UsageError("KEY is empty");
    return word;
  }
  LineWords words;
  if (const auto wrong = words.split(word)) throw UsageError("KEY: " + *wrong);
  if (words.words().size() != 1) throw UsageError("KEY: one key in double quotes is expected");
  return std::string(words.words()[0]);
}

std::string status_text(const Status& status) {
  Table table({{"SLOT", Align::right},
               {"NODE"},
               {"STATE"},
               {is_counter(status) ? "PART" : "VERSION", Align::right},
               {"NAME"}});
  for (const Status::Copy& copy : status.copies) {
    table.add({std::to_string(copy.slot), copy.node.empty() ? "nobody" : copy.node,
               shown_key(copy.state), figure_of(status, copy), shown_key(copy.name)});
  }
  std::string out = fmt::format("{}: {}, {} per primary, {}\n", shown_key(status.key),
                                kind_of(status), status.copies_per_primary, state_of(status));
  if (!is_counter(status)) out += fmt::format("newest version {}, ", status.version);
  out += fmt::format("manifest {}\n", status.manifest_version);
  if (status.copies.empty()) return out + "no copies now\n";
  return out + "\n" + table.to_string();
}

std::string status_json(const Status& status) {
  std::string out = "{";
  append_key_field(out, status.key);
  out += fmt::format(
      ",\"kind\":\"{}\",\"version\":{},\"manifest_version\":{},\"copies_per_primary\":{},"
      "\"balanced\":{},\"copies\":[",
      kind_of(status), status.version, status.manifest_version, status.copies_per_primary,
      status.balanced);
  for (const Status::Copy& copy : status.copies) {
    out += out.back() == '[' ? "{" : ",{";
    out += fmt::format("\"slot\":{},\"version\":{}", copy.slot, figure_of(status, copy));
    append_text_field(out, "name", copy.name);
    append_text_field(out, "node", copy.node);
    append_text_field(out, "state", copy.state);
    out += '}';
  }
  return out + "]}";
}

std::string statuses_text(const std::vector<Status>& all) {
  if (all.empty()) return "No key is split.\n";
  Table table({{"KEY"}, {"KIND"}, {"COPIES", Align::right}, {"STATE"}, {"VERSION", Align::right}});
  for (const Status& status : all) {
    table.add({shown_key(status.key), std::string(kind_of(status)),
               std::to_string(status.copies.size()), state_of(status),
               is_counter(status) ? "" : std::to_string(status.version)});
  }
  return table.to_string();
}

void add_hotkeys_split(CLI::App& group, Action& action) {
  const Added split =
      add_one(group, action, "split", "Split a key into copies on every primary", run_split);
  split.command->add_option("KEY", split.options->key, "The key")->required();
  add_number(*split.command, "--copies", split.options->copies, 1, 16,
             "Copies on each primary (default 1)");
  split.command->add_flag("--counter", split.options->counter,
                          "The key is a counter: each copy takes a part of the increments");
  split.command->footer(std::string(split_footer) + "\n" + keys_footer + "\n" + json_footer);

  const Added status = add_one(group, action, "status",
                               "Show the copies of a split key, or all split keys", run_status);
  status.command->add_option("KEY", status.options->key, "The key; without it all that are split");
  status.command->footer(std::string(keys_footer) + "\n" + json_footer +
                         " Without KEY: {\"keys\": [one such object for each]}.");

  const Added join = add_one(group, action, "join", "Make a split key one key again", run_join);
  join.command->add_option("KEY", join.options->key, "The key")->required();
  join.command->footer(keys_footer);
}

}  // namespace slotwise::cli
