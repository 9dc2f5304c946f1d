// slotwise hotkeys watch: a live view of what each node does, and of its hottest keys.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>

#include <slotwise/client.hpp>

#include "cli/core/interrupt.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/table.hpp"
#include "cli/core/text.hpp"
#include "cli/core/units.hpp"
#include "cli/hotkeys/hotkeys.hpp"

namespace slotwise::cli {

namespace {

using WatchClock = std::chrono::steady_clock;

constexpr std::size_t bar_width = 12;
constexpr std::size_t keys_of_a_node = 3;

struct WatchCommand {
  std::string uri;
  std::chrono::milliseconds interval{1000};
  int count = 0;
  bool json = false;
};

/// "name:value" in INFO; nothing if it is not there.
std::optional<double> info_number(std::string_view info, std::string_view name) {
  const std::string head = fmt::format("\n{}:", name);
  const std::size_t at = info.find(head);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtod(std::string(info.substr(at + head.size(), 32)).c_str(), nullptr);
}

struct Look {
  WatchClock::time_point when;
  std::optional<InfoCounts> counts;
};

/// All nodes at once.
std::vector<Look> look_at_all(const Client& client, const std::vector<WatchedNode>& nodes,
                              std::chrono::milliseconds limit) {
  std::vector<Task<Reply>> asked;
  for (const WatchedNode& node : nodes) {
    constexpr std::string_view info[] = {"INFO"};
    asked.push_back(
        client.async()
            .with({.timeout = limit, .idempotent = true, .read_from = {}, .node = node.node})
            .command_words(info));
  }
  std::vector<Look> looks;
  for (Task<Reply>& task : asked) {
    const Result<Reply> reply = task.wait();
    looks.push_back({WatchClock::now(), reply ? parse_counts(reply.value().text()) : std::nullopt});
  }
  return looks;
}

class HotkeysWatch {
 public:
  explicit HotkeysWatch(const WatchCommand& command)
      : command_(command), client_(Client::connect(config_of(command.uri))) {}

  int run() {
    const Interrupt interrupt;
    bool heard = false;
    for (int round = 0; command_.count == 0 || round < command_.count; ++round) {
      const auto nodes = one_round();
      if (Interrupt::requested()) break;
      heard = std::any_of(nodes.begin(), nodes.end(),
                          [](const WatchedNode& node) { return node.ops.has_value(); });
      show(nodes);
    }
    return heard || Interrupt::requested() ? exit_ok : exit_failed;
  }

 private:
  std::vector<WatchedNode> one_round() {
    std::vector<WatchedNode> nodes;
    for (const auto& node : client_.topology().nodes)
      nodes.push_back(
          {.node = node.endpoint, .primary = node.primary, .ops = {}, .cpu = {}, .keys = {}});
    std::stable_sort(nodes.begin(), nodes.end(), [](const WatchedNode& a, const WatchedNode& b) {
      return a.primary != b.primary ? a.primary : a.node < b.node;
    });
    const auto limit = std::clamp<std::chrono::milliseconds>(
        command_.interval, std::chrono::milliseconds(500), std::chrono::milliseconds(2000));
    const auto start = WatchClock::now();
    const auto before = look_at_all(client_, nodes, limit);
    hotkey::FindOptions options;
    options.look = command_.interval;
    options.timeout = limit;
    options.limit = 64;
    options.least_share = 0.01;
    options.scan_time = std::chrono::milliseconds(0);  // that is no work for every second
    found_ = hotkey::find(client_, options);
    // It did not take its look where there is nothing to look at.
    (void)Interrupt::wait_until(start + command_.interval);
    const auto after = look_at_all(client_, nodes, limit);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      fill(nodes[i], before[i], after[i]);
    seconds_ = std::chrono::duration<double>(WatchClock::now() - start).count();
    return nodes;
  }

  void fill(WatchedNode& node, const Look& before, const Look& after) const {
    const double seconds = std::chrono::duration<double>(after.when - before.when).count();
    // Fewer than before: it was restarted.
    if (before.counts && after.counts && after.counts->commands >= before.counts->commands &&
        seconds > 0) {
      node.ops = static_cast<double>(after.counts->commands - before.counts->commands) / seconds;
      node.cpu = (std::max)(0.0, after.counts->cpu_seconds - before.counts->cpu_seconds) / seconds;
    }
    for (const hotkey::FoundKey& key : found_.keys) {
      if (key.node == node.node && node.keys.size() < keys_of_a_node) node.keys.push_back(key);
    }
  }

  void show(const std::vector<WatchedNode>& nodes) {
    if (command_.json) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      screen_.block(watch_json(
          nodes, std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), seconds_));
      return;
    }
    std::string text = watch_text(nodes);
    if (!notes_shown_) {
      for (const std::string& note : found_.notes)
        Screen(STDERR_FILENO).line("note: " + note);
      notes_shown_ = true;
    }
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (screen_.live() && lines_ > 0) text.insert(0, fmt::format("\x1b[{}A\x1b[J", lines_));
    if (!screen_.live() && lines_ > 0) text.insert(0, "\n");
    lines_ = lines;
    screen_.block(text);
  }

  const WatchCommand command_;
  const Client client_;
  Screen screen_{STDOUT_FILENO};
  hotkey::FindResult found_;
  double seconds_ = 0;
  std::ptrdiff_t lines_ = 0;  // of the block on the terminal
  bool notes_shown_ = false;
};

constexpr const char* watch_footer =
    "OPS/S and CPU are differences of INFO (total_commands_processed, used_cpu_user + "
    "used_cpu_sys;\n"
    "100 % is one processor), our own few questions included. The bars: OPS/S against the busiest\n"
    "node, CPU against one processor. HOTTEST KEYS as 'hotkeys find' finds them, each with its\n"
    "share of the CPU time that commands with keys took on all primaries; without statistics of\n"
    "slots or HOTKEYS at the servers there are none (the notes, on standard error, say why).\n"
    "\n"
    "--json: an object a line: time (ms since 1970), seconds, nodes [{node, role, ops_per_second,\n"
    "cpu, keys [{key, share, counter, source}]}]; cpu 1 is one processor, null: no answer.";

}  // namespace

std::optional<InfoCounts> parse_counts(std::string_view info) {
  const auto commands = info_number(info, "total_commands_processed");
  if (!commands) return std::nullopt;
  const double cpu = info_number(info, "used_cpu_user").value_or(0) +
                     info_number(info, "used_cpu_sys").value_or(0);
  return InfoCounts{static_cast<std::uint64_t>(*commands), cpu};
}

std::string bar(double part, std::size_t width) {
  const double filled = std::clamp(part, 0.0, 1.0) * static_cast<double>(width);
  std::string out(static_cast<std::size_t>(std::lround(filled)), '#');
  out.resize(width, '.');
  return out;
}

std::string watch_text(const std::vector<WatchedNode>& nodes) {
  double most = 1;
  for (const WatchedNode& node : nodes)
    most = (std::max)(most, node.ops.value_or(0));
  Table table({{"NODE", Align::left, 15},
               {"OPS/S", Align::right, 9},
               {"", Align::left, bar_width},
               {"CPU", Align::right, 5},
               {"", Align::left, bar_width},
               {"HOTTEST KEYS"}});
  for (const WatchedNode& node : nodes) {
    std::string keys;
    for (const hotkey::FoundKey& key : node.keys) {
      if (!keys.empty()) keys += ", ";
      keys += shown_key(key.key, 20);
      if (key.share) keys += " " + shown_share(key.share);
      if (!key.share && key.counter) keys += fmt::format(" ({})", *key.counter);
    }
    const std::string name = (node.primary ? "" : "  ") + node.node;
    if (!node.ops || !node.cpu) {
      table.add({name, "no answer"});
      continue;
    }
    table.add({name, grouped(static_cast<std::uint64_t>(std::llround(*node.ops))),
               bar(*node.ops / most, bar_width), fmt::format("{:.0f} %", 100 * *node.cpu),
               bar(*node.cpu, bar_width), keys});
  }
  return table.to_string();
}

std::string watch_json(const std::vector<WatchedNode>& nodes, std::int64_t unix_ms,
                       double seconds) {
  const auto number = [](std::optional<double> value) {
    return value ? fmt::format("{:.3f}", *value) : std::string("null");
  };
  std::string out = fmt::format("{{\"time\":{},\"seconds\":{:.3f},\"nodes\":[", unix_ms, seconds);
  for (const WatchedNode& node : nodes) {
    if (out.back() != '[') out += ',';
    out += "{\"node\":";
    append_json_string(out, node.node, JsonEncoding::utf8);
    out += fmt::format(",\"role\":\"{}\",\"ops_per_second\":{},\"cpu\":{},\"keys\":[",
                       node.primary ? "primary" : "replica", number(node.ops), number(node.cpu));
    for (const hotkey::FoundKey& key : node.keys) {
      if (out.back() != '[') out += ',';
      out += '{';
      append_key_field(out, key.key);
      out +=
          fmt::format(",\"share\":{},\"counter\":{},\"source\":\"{}\"}}",
                      key.share ? fmt::format("{:.6f}", *key.share) : "null",
                      key.counter ? std::to_string(*key.counter) : "null", to_string(key.source));
    }
    out += "]}";
  }
  return out + "]}\n";
}

void add_hotkeys_watch(CLI::App& group, Action& action) {
  auto options = std::make_shared<WatchCommand>();
  CLI::App* command = group.add_subcommand(
      "watch", "Show operations, CPU and the hottest keys of each node, again and again");
  add_uri(*command, options->uri);
  add_duration(*command, "--interval", options->interval, "Time between two views (default 1s)");
  add_number(*command, "--count", options->count, 0, 1'000'000'000,
             "End after so many views (default 0: go on until Ctrl-C)");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->footer(watch_footer);
  command->final_callback(
      [options, &action] { action = [options] { return HotkeysWatch(*options).run(); }; });
}

}  // namespace slotwise::cli
