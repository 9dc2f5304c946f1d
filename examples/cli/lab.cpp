// slotwise lab: real servers for a person, kept in a folder, and everything that can happen to
// them.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/core/interrupt.hpp"
#include "cli/core/screen.hpp"
#include "cli/core/table.hpp"
#include "cli/lab_work.hpp"
#include "kit/error.hpp"
#include "kit/lab.hpp"

namespace slotwise::cli {

namespace {

using namespace std::chrono_literals;

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

struct UpOptions {
  kit::LabOptions lab;
  std::string dir;
  std::string servers;
  std::chrono::milliseconds node_timeout{2000};
  bool foreground = false;
  bool detach = false;
};

/// Until Ctrl-C, or until `lab down` elsewhere has ended it.
void wait_for_end(const std::filesystem::path& dir) {
  while (!Interrupt::wait_for(1s)) {
    try {
      (void)kit::Lab::open(dir);
    } catch (const kit::Error&) {
      return;
    }
  }
}

int run_up(const UpOptions& options) {
  kit::LabOptions lab = options.lab;
  lab.dir = options.dir;
  lab.servers = options.servers;
  lab.node_timeout = options.node_timeout;
  lab.network_command = {std::filesystem::read_symlink("/proc/self/exe").string(), "lab", "network",
                         "--dir"};
  if (lab.sentinels > 0 && lab.proxies) throw UsageError("--proxies are for clusters only");
  if (lab.sentinels > 0 && lab.primaries != 1) {
    throw UsageError("--sentinels watch one primary: add --primaries 1");
  }
  const bool foreground = options.foreground || (!options.detach && ::isatty(STDIN_FILENO) != 0);
  const Interrupt interrupt;
  const auto progress = [](const std::string& text) {
    if (Interrupt::requested()) throw Interrupted();
    say(text);
  };
  try {
    const kit::Lab up = kit::Lab::up(lab, progress);
    if (Interrupt::requested()) throw Interrupted();
    say(up.description());
    Screen(STDOUT_FILENO).line(up.uri());
  } catch (const Interrupted&) {
    kit::Lab::down(options.dir, say);
    return exit_failed;
  }
  if (!foreground) {
    say(fmt::format("the servers stay until: slotwise lab down --dir {}", options.dir));
    return exit_ok;
  }
  say("Ctrl-C ends the servers; other commands of the lab are for another terminal");
  wait_for_end(options.dir);
  if (Interrupt::requested()) kit::Lab::down(options.dir, say);
  return exit_ok;
}

std::string with_fault(const kit::LabNode& node) {
  const std::string proxy = node.proxy.to_string();
  return node.fault.empty() ? proxy : fmt::format("{} ({})", proxy, node.fault);
}

/// A server that says it is a primary while most sentinels follow another one, such as one that
/// came back.
void mark_old_primaries(std::vector<kit::LabNode>& nodes) {
  std::map<std::string, std::size_t> votes;
  std::size_t sentinels = 0;
  for (const auto& node : nodes) {
    if (node.role != "sentinel" || node.follows.empty()) continue;
    ++votes[node.follows];
    ++sentinels;
  }
  for (auto& node : nodes) {
    if (node.role != "primary" || votes[node.name] * 2 >= sentinels || !node.trouble.empty())
      continue;
    node.trouble = "not the sentinels' primary";
  }
}

std::vector<kit::LabNode> nodes_of(const kit::Lab& lab) {
  std::vector<kit::LabNode> nodes = lab.status();
  mark_old_primaries(nodes);
  return nodes;
}

std::string status_text(const kit::Lab& lab) {
  const std::vector<kit::LabNode> nodes = nodes_of(lab);
  const bool slots =
      std::none_of(nodes.begin(), nodes.end(), [](const auto& n) { return n.role == "sentinel"; });
  const bool names =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return !n.hostname.empty(); });
  const bool records =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return !n.record.empty(); });
  const bool proxies =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return n.proxy.port != 0; });
  std::vector<Column> columns{{"NODE"}, {"ADDRESS"}};
  if (names) columns.push_back({"HOSTNAME"});
  if (records) columns.push_back({"DNS"});
  if (proxies) columns.push_back({"PROXY"});
  for (const char* title : {"PID", "STATE", "ROLE", "FOLLOWS"})
    columns.push_back({title});
  if (slots) {
    columns.push_back({"COUNT", Align::right});
    columns.push_back({"SLOTS"});
  }
  columns.push_back({"TROUBLE"});
  Table table(columns);
  for (const auto& node : nodes) {
    std::vector<std::string> cells{node.name, node.address.to_string()};
    if (names) cells.push_back(node.hostname);
    if (records) cells.push_back(node.record);
    if (proxies) cells.push_back(with_fault(node));
    cells.push_back(node.pid > 0 ? std::to_string(node.pid) : "-");
    cells.insert(cells.end(), {node.state, node.role, node.follows});
    if (slots) {
      cells.push_back(node.slot_total > 0 ? std::to_string(node.slot_total) : "");
      cells.push_back(node.slots);
    }
    cells.push_back(node.trouble);
    table.add(std::move(cells));
  }
  return fmt::format("{}\n{}\n\n{}", lab.description(), lab.uri(), table.to_string());
}

std::string status_json(const kit::Lab& lab) {
  auto nodes = nlohmann::ordered_json::array();
  for (const auto& node : nodes_of(lab)) {
    nodes.push_back({{"name", node.name},
                     {"address", node.address.to_string()},
                     {"hostname", node.hostname},
                     {"pid", node.pid},
                     {"state", node.state},
                     {"role", node.role},
                     {"follows", node.follows},
                     {"slots", node.slots},
                     {"slot_count", node.slot_total},
                     {"id", node.id},
                     {"trouble", node.trouble},
                     {"proxy", node.proxy.port == 0 ? "" : node.proxy.to_string()},
                     {"fault", node.fault},
                     {"dns", node.record}});
  }
  const nlohmann::ordered_json out{
      {"uri", lab.uri()}, {"description", lab.description()}, {"nodes", nodes}};
  return out.dump() + "\n";
}

int whole_number(std::string_view text, const std::string& what) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{}: \"{}\" is no number", what, text));
  }
  return value;
}

std::pair<int, int> slot_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const int first = whole_number(std::string_view(text).substr(0, dash), "SLOTS");
  const int last = dash == std::string::npos
                       ? first
                       : whole_number(std::string_view(text).substr(dash + 1), "SLOTS");
  if (first < 0 || last < first || last >= kit::slot_count) {
    throw UsageError(fmt::format("SLOTS: \"{}\" is no range of slots; write 0-100 or 42", text));
  }
  return {first, last};
}

kit::Address address_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw UsageError(fmt::format("--address: \"{}\" is not IP:PORT, as in 127.0.0.9:7000", text));
  }
  const int port = whole_number(std::string_view(text).substr(colon + 1), "--address");
  if (port < 1 || port > 55535) {  // the cluster bus is 10,000 above
    throw UsageError(fmt::format("--address: port {} is not in 1 ... 55535", port));
  }
  return {text.substr(0, colon), static_cast<std::uint16_t>(port)};
}

int signal_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  try {
    return kit::signal_number(name);
  } catch (const kit::Error& error) {
    throw UsageError(fmt::format("--signal: {}", error.what()));
  }
}

void add_up(CLI::App& lab, Action& action) {
  auto options = std::make_shared<UpOptions>();
  CLI::App* up = lab.add_subcommand("up", "Start servers, and print the URI to use");
  kit::LabOptions& values = options->lab;
  up->add_option("--dir", options->dir, "Folder for the servers; made if missing")
      ->required()
      ->type_name("D");
  add_number(*up, "--primaries", values.primaries, 1, 50, "Shards (default 3)");
  add_number(*up, "--replicas", values.replicas, 0, 5, "Replicas of each primary (default 1)");
  add_number(*up, "--sentinels", values.sentinels, 0, 9,
             "Sentinels; with --primaries 1, and then no cluster");
  up->add_flag("--tls", values.tls, "TLS only, with certificates made on the spot");
  up->add_flag("--hostnames", values.hostnames,
               "Nodes announce names n1.lab.test, n2.lab.test ..., and a DNS knows them");
  up->add_flag("--proxies", values.proxies,
               "Clients go through a proxy for each node; see 'lab cut'");
  up->add_flag("--own-addresses", values.own_addresses, "An address of 127.0.0.0/8 for each node");
  up->add_flag("--appendonly", values.appendonly, "Servers keep their data through a SIGKILL");
  add_duration(*up, "--node-timeout", options->node_timeout, "cluster-node-timeout (default 2s)");
  up->add_option("--servers", options->servers, "Folder with valkey-server or redis-server")
      ->type_name("BIN")
      ->check(CLI::ExistingDirectory);
  up->add_flag("--foreground", options->foreground,
               "Stay until Ctrl-C (the default on a terminal)");
  up->add_flag("--detach", options->detach, "Return at once (the default elsewhere)")
      ->excludes("--foreground");
  up->footer(
      "The URI is all that is printed on standard output. On a terminal the command stays, and\n"
      "Ctrl-C ends all servers; else they stay until 'lab down'.");
  up->final_callback([options, &action] { action = [options] { return run_up(*options); }; });
}

void add_down(CLI::App& lab, Action& action) {
  auto dir = std::make_shared<std::string>();
  CLI::App* down = lab.add_subcommand("down", "End all servers of the lab and remove its files");
  down->add_option("--dir", *dir, "Folder of the lab")->required()->type_name("D");
  down->final_callback([dir, &action] {
    action = [dir] {
      kit::Lab::down(*dir, say);
      return exit_ok;
    };
  });
}

void add_node_work(CLI::App& lab, Action& action, const std::shared_ptr<LabArguments>& a) {
  CLI::App& kill = add_work(lab, action, a, "kill", "Send a signal to a node (default KILL)",
                            [](kit::Lab& open, const LabArguments& args) {
                              open.kill(args.node, signal_of(args.signal));
                            });
  kill.add_option("NODE", a->node, "Name (n1, s1, w1), id or address")
      ->required()
      ->type_name("NODE");
  kill.add_option("--signal", a->signal, "KILL, TERM, STOP, CONT ...")->type_name("NAME");

  CLI::App& restart =
      add_work(lab, action, a, "restart", "Start a node again with its data, perhaps elsewhere",
               [](kit::Lab& open, const LabArguments& args) {
                 if (args.address.empty()) {
                   open.restart(args.node);
                 } else {
                   open.restart(args.node, args.address == "new" ? open.spare_address()
                                                                 : address_of(args.address));
                 }
               });
  restart.add_option("NODE", a->node, "Name (n1, s1, w1), id or address")
      ->required()
      ->type_name("NODE");
  restart.add_option("--address", a->address, "IP:PORT, or \"new\" for one that is free")
      ->type_name("A");

  add_work(lab, action, a, "meet", "Introduce all nodes to each other again",
           [](kit::Lab& open, const LabArguments&) { open.meet(); })
      .footer("Needed after all nodes moved at once: none knows another's new address then.");

  CLI::App& failover =
      add_work(lab, action, a, "failover", "Make a replica the primary, in good order",
               [](kit::Lab& open, const LabArguments& args) { (void)open.failover(args.node); });
  failover.add_option("NODE", a->node, "The primary, or the replica that is to rule")
      ->type_name("NODE");
}

void add_shard_work(CLI::App& lab, Action& action, const std::shared_ptr<LabArguments>& a) {
  CLI::App& more =
      add_work(lab, action, a, "add-shards", "Add primaries (and replicas), and move slots to them",
               [](kit::Lab& open, const LabArguments& args) { open.add_shards(args.count); });
  CLI::App& fewer = add_work(
      lab, action, a, "remove-shards", "Move the slots of the last shards away, and end them",
      [](kit::Lab& open, const LabArguments& args) { open.remove_shards(args.count); });
  for (CLI::App* command : {&more, &fewer}) {
    command->add_option("COUNT", a->count, "How many")
        ->required()
        ->check(CLI::Range(1, 50))
        ->type_name("N");
  }
  CLI::App& migrate = add_work(lab, action, a, "migrate", "Move slots to a node",
                               [](kit::Lab& open, const LabArguments& args) {
                                 const auto [first, last] = slot_range(args.slots);
                                 open.migrate(first, last, args.node, args.legacy);
                               });
  migrate.add_option("SLOTS", a->slots, "FIRST-LAST, or one slot")->required()->type_name("SLOTS");
  migrate.add_option("TO", a->node, "The primary that gets them")->required()->type_name("TO");
  migrate.add_flag("--legacy", a->legacy, "Key by key, with ASK and TRYAGAIN on the way");
}

}  // namespace

void say(const std::string& text) {
  Screen(STDERR_FILENO).line("  " + text, Tone::dim);
}

CLI::App& add_work(CLI::App& lab, Action& action, const std::shared_ptr<LabArguments>& arguments,
                   const std::string& name, const std::string& help, LabWork work) {
  CLI::App* command = lab.add_subcommand(name, help);
  command->add_option("--dir", arguments->dir, "Folder of the lab")->required()->type_name("D");
  command->final_callback([arguments, work = std::move(work), &action] {
    action = [arguments, work] {
      kit::Lab open = kit::Lab::open(arguments->dir, say);
      work(open, *arguments);
      return exit_ok;
    };
  });
  return *command;
}

void add_lab(CLI::App& app, Action& action) {
  CLI::App* lab = app.add_subcommand("lab", "Start real servers and make things happen to them");
  lab->require_subcommand(1);
  lab->footer(
      "slotwise lab COMMAND --help says more. A node is named n1, n2 ... as 'status' shows; with\n"
      "sentinels, servers are s1, s2 ... and sentinels w1, w2 ...");
  auto arguments = std::make_shared<LabArguments>();
  add_up(*lab, action);
  CLI::App& status =
      add_work(*lab, action, arguments, "status", "Show the servers and the URI",
               [](kit::Lab& open, const LabArguments& args) {
                 Screen(STDOUT_FILENO).block(args.json ? status_json(open) : status_text(open));
               });
  status.add_flag("--json", arguments->json, "One JSON object");
  add_node_work(*lab, action, arguments);
  add_shard_work(*lab, action, arguments);
  add_network_work(*lab, action, arguments);
  add_down(*lab, action);
}

}  // namespace slotwise::cli
