// slotwise hotkeys find: the hottest keys of a deployment, by what its servers count.

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include <slotwise/client.hpp>

#include "cli/core/screen.hpp"
#include "cli/core/table.hpp"
#include "cli/core/text.hpp"
#include "cli/core/units.hpp"
#include "cli/hotkeys/hotkeys.hpp"

namespace slotwise::cli {

namespace {

struct FindCommand {
  std::string uri;
  int limit = 20;
  std::chrono::milliseconds look{1000};
  std::chrono::milliseconds timeout{2000};
  std::chrono::milliseconds scan_time{60'000};
  bool json = false;
};

int run_hotkeys_find(const FindCommand& command) {
  const Client client = Client::connect(config_of(command.uri));
  hotkey::FindOptions options;
  options.limit = static_cast<std::size_t>(command.limit);
  options.look = command.look;
  options.timeout = command.timeout;
  options.scan_time = command.scan_time;
  const hotkey::FindResult result = hotkey::find(client, options);
  Screen(STDOUT_FILENO).block(command.json ? find_json(result) : find_text(result));
  return exit_ok;
}

constexpr const char* find_footer =
    "All primaries are asked at once. What each of them can tell, the best first:\n"
    "  HOTKEYS              the server's own command, where it has one\n"
    "  SLOT-STATS           CPU time of each slot between two looks (Valkey 8, Redis 8.2: CONFIG\n"
    "                       SET cluster-slot-stats-enabled yes); then only the keys of the "
    "hottest\n"
    "                       slots are looked at. Keys of one slot are told apart by OBJECT FREQ\n"
    "                       (SLOT-STATS/FREQ) or by OBJECT IDLETIME (SLOT-STATS/IDLETIME)\n"
    "  OBJECT FREQ          all keys by SCAN, with an LFU policy (CONFIG SET maxmemory-policy\n"
    "                       allkeys-lfu). It is the logarithm of an estimate, and decays\n"
    "The notes below the table say what the figures mean here, what could not be known and how\n"
    "that is mended, and which node did not answer. SHARE is of the CPU time that commands with\n"
    "keys took on all primaries.\n"
    "\n"
    "It reads only, but for HOTKEYS of Redis 8.6, which it starts, ends and clears.\n"
    "\n"
    "--json: one object, {\"keys\": [{key, node, share, counter, size, source}], \"notes\": "
    "[...]}. "
    "Figures\n"
    "that are not known are null; a key that is not UTF-8 comes as Latin-1, with encoding "
    "\"latin1\".";

void append_number(std::string& out, std::string_view name, std::optional<std::uint64_t> value) {
  out += fmt::format(",\"{}\":{}", name, value ? std::to_string(*value) : "null");
}

}  // namespace

std::string shown_key(std::string_view key, std::size_t most) {
  const bool cut = key.size() > most;
  std::string out;
  append_reply(out, Reply::make_text(Reply::Type::string, std::string(key.substr(0, most))));
  return cut ? out + "..." : out;
}

void append_key_field(std::string& out, std::string_view key) {
  const bool utf8 = is_utf8(key);
  out += "\"key\":";
  append_json_string(out, key, utf8 ? JsonEncoding::utf8 : JsonEncoding::latin1);
  if (!utf8) out += ",\"encoding\":\"latin1\"";
}

std::string shown_share(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "";
}

std::string find_text(const hotkey::FindResult& result) {
  std::string out;
  if (result.keys.empty()) {
    out = "No hot key was found.\n";
  } else {
    Table table({{"KEY"},
                 {"NODE"},
                 {"SHARE", Align::right},
                 {"COUNTER", Align::right},
                 {"SIZE", Align::right},
                 {"SOURCE"}});
    for (const hotkey::FoundKey& key : result.keys) {
      table.add({shown_key(key.key), key.node, shown_share(key.share),
                 key.counter ? std::to_string(*key.counter) : "",
                 key.size ? grouped(*key.size) : "", std::string(to_string(key.source))});
    }
    out = table.to_string();
  }
  if (!result.notes.empty()) out += '\n';
  for (const std::string& note : result.notes) {
    // A server's words may hold anything.
    std::string line;
    append_reply(line, Reply::make_text(Reply::Type::string, note));
    out += fmt::format("note: {}\n", line);
  }
  return out;
}

std::string find_json(const hotkey::FindResult& result) {
  std::string out = "{\"keys\":[";
  for (const hotkey::FoundKey& key : result.keys) {
    if (out.back() != '[') out += ',';
    out += '{';
    append_key_field(out, key.key);
    out += ",\"node\":";
    append_json_string(out, key.node, JsonEncoding::utf8);
    out += fmt::format(",\"share\":{}", key.share ? fmt::format("{:.6f}", *key.share) : "null");
    append_number(out, "counter", key.counter);
    append_number(out, "size", key.size);
    out += fmt::format(",\"source\":\"{}\"}}", to_string(key.source));
  }
  out += "],\"notes\":[";
  for (const std::string& note : result.notes) {
    if (out.back() != '[') out += ',';
    append_json_string(out, note, is_utf8(note) ? JsonEncoding::utf8 : JsonEncoding::latin1);
  }
  return out + "]}\n";
}

void add_hotkeys_find(CLI::App& group, Action& action) {
  auto options = std::make_shared<FindCommand>();
  CLI::App* command =
      group.add_subcommand("find", "Show the hottest keys, by what the servers count");
  add_uri(*command, options->uri);
  add_number(*command, "--limit", options->limit, 1, 10'000, "Keys to show (default 20)");
  add_duration(*command, "--look", options->look,
               "Time between the two looks at what the servers count (default 1s)");
  add_duration(*command, "--timeout", options->timeout,
               "How long to wait for a node's answer (default 2s)");
  add_duration(*command, "--scan-time", options->scan_time,
               "How long to go through all keys, where that is needed (default 60s)");
  command->add_flag("--json", options->json, "One JSON object");
  command->footer(find_footer);
  command->final_callback(
      [options, &action] { action = [options] { return run_hotkeys_find(*options); }; });
}

}  // namespace slotwise::cli
