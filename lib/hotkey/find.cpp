#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <slotwise/slot.hpp>

#include "hotkey/find_run.hpp"

namespace slotwise::hotkey {
namespace {

/// Of what HOTKEYS START takes.
constexpr std::size_t most_server_keys = 64;

constexpr std::string_view lfu_mend =
    "CONFIG SET maxmemory-policy allkeys-lfu (or volatile-lfu) turns it on; the counters need some "
    "minutes of traffic after that";
constexpr std::string_view slot_stats_mend = "CONFIG SET cluster-slot-stats-enabled yes";

/// The reason without the way there.
std::string reason_of(const Error& error) {
  std::string text(error.server_text().empty() ? error.message() : error.server_text());
  if (const std::size_t path = text.find(" (path: "); path != std::string::npos) text.resize(path);
  return text;
}

}  // namespace

FindResult find(const Client& client, const FindOptions& options) {
  return FindRun(client, options).run();
}

FindRun::FindRun(const Client& client, const FindOptions& options)
    : client_(client), options_(options), best_((std::max)(options.limit, std::size_t{1})) {}

FindResult FindRun::run() {
  list_nodes();
  ask_what_they_can();
  begin_sessions();
  look_first();
  wait_a_look();
  end_sessions();
  look_again();
  take_own_keys();
  look_into_slots();
  scan();
  std::vector<Candidate> keys = best_.take();
  if (keys.size() > options_.limit) keys.resize(options_.limit);
  ask_sizes(keys);
  explain(keys);
  FindResult result;
  for (Candidate& key : keys)
    result.keys.push_back(std::move(key.found));
  result.notes = notes_.take();
  return result;
}

// --- who is there, and what can they tell ----------------------------------------------------

void FindRun::list_nodes() {
  if (const auto refreshed = client_.refresh(); !refreshed) {
    notes_.add(fmt::format("The topology may be out of date: {}.", reason_of(refreshed.error())));
  }
  const TopologyInfo topology = client_.topology();
  mode_ = topology.mode;
  bool replicas = false;
  for (const TopologyInfo::Node& node : topology.nodes) {
    replicas = replicas || !node.primary;
    const bool serves = topology.mode != Mode::cluster || !node.slots.empty();
    if (node.primary && serves) nodes_.emplace_back(client_, node.endpoint, options_.timeout);
  }
  if (topology.mode == Mode::cluster && topology.covered_slots < slot_count) {
    notes_.add(fmt::format("{} slots are served by nobody: nothing is known of their keys.",
                           slot_count - topology.covered_slots));
  }
  if (replicas) {
    notes_.add(
        "The primaries were asked: what replicas serve is not in these figures, since each "
        "node counts only its own calls.");
  }
}

std::optional<Reply> FindRun::answer(FindNode& node, Task<Reply>& task, std::string_view about) {
  Result<Reply> result = task.wait();
  if (result) return std::move(*result);
  const Error& error = result.error();
  if (error.server_text().empty()) {
    if (!std::exchange(node.lost, true)) {
      notes_.add(node.name,
                 fmt::format("no answer, so its keys are not known: {}.", reason_of(error)));
    }
  } else if (!about.empty()) {
    notes_.add(node.name, fmt::format("{}: {}.", about, reason_of(error)));
  }
  return std::nullopt;
}

void FindRun::ask_what_they_can() {
  struct Questions {
    Task<Reply> info, log_factor, command;
  };
  std::vector<Questions> asked;
  for (const FindNode& node : nodes_) {
    asked.push_back({node.ask({"INFO", "memory"}), node.ask({"CONFIG", "GET", "lfu-log-factor"}),
                     node.ask({"COMMAND", "INFO", "HOTKEYS"})});
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    FindNode& node = nodes_[i];
    if (const auto info = answer(node, asked[i].info, "INFO is not allowed")) {
      node.policy = info_value(info->text(), "maxmemory_policy");
    }
    if (node.lost) continue;
    if (const auto setting = answer(node, asked[i].log_factor)) {
      const Reply* value = setting->find("lfu-log-factor");
      unsigned long factor = 0;
      if (value != nullptr) factor = std::strtoul(std::string(value->text()).c_str(), nullptr, 10);
      if (factor > 0) node.log_factor = factor;
    }
    if (const auto command = answer(node, asked[i].command)) node.form = hotkeys_form(*command);
  }
}

// --- two looks -------------------------------------------------------------------------------

void FindRun::begin_sessions() {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.look).count();
  // It ends by itself should we not come to that.
  const std::string duration = std::to_string(seconds + 10);
  const std::string count =
      std::to_string(std::clamp(options_.limit, std::size_t{1}, most_server_keys));
  std::vector<std::pair<FindNode*, Task<Reply>>> asked;
  for (FindNode& node : nodes_) {
    if (node.lost || node.form != HotkeysForm::sessions) continue;
    const std::string_view words[] = {"HOTKEYS", "START", "METRICS",  "1",     "CPU",
                                      "COUNT",   count,   "DURATION", duration};
    asked.emplace_back(
        &node, client_.with({.timeout = options_.timeout, .read_from = {}, .node = node.name})
                   .async()
                   .command_words(words));
  }
  for (auto& [node, task] : asked) {
    node->session =
        answer(*node, task, "HOTKEYS START was refused, so other sources are used").has_value();
  }
}

void FindRun::look_first() {
  if (mode_ != Mode::cluster) return;
  std::vector<std::pair<FindNode*, Task<Reply>>> asked;
  for (FindNode& node : nodes_) {
    if (node.lost || node.session) continue;
    // All slots: one that is hot since a moment ago may stand low in the order of all time.
    asked.emplace_back(&node, node.ask({"CLUSTER", "SLOT-STATS", "ORDERBY", "CPU-USEC", "LIMIT",
                                        "16384", "DESC"}));
  }
  for (auto& [node, task] : asked) {
    // An error tells what to do only together with the node's policy: see explain().
    if (const auto reply = answer(*node, task)) node->first_look = parse_slot_stats(*reply);
  }
}

void FindRun::wait_a_look() {
  const bool counts = std::any_of(nodes_.begin(), nodes_.end(), [](const FindNode& node) {
    return node.session || node.first_look;
  });
  if (counts) std::this_thread::sleep_for(options_.look);
}

void FindRun::end_sessions() {
  struct Questions {
    FindNode* node;
    std::vector<Task<Reply>> tasks;  // the first one is GET
  };
  std::vector<Questions> asked;
  for (FindNode& node : nodes_) {
    if (node.lost || (!node.session && node.form != HotkeysForm::windows)) continue;
    Questions questions{&node, {}};
    if (node.session) {
      auto stop = node.ask({"HOTKEYS", "STOP"});
      questions.tasks.push_back(node.ask({"HOTKEYS", "GET"}));
      questions.tasks.push_back(std::move(stop));
      questions.tasks.push_back(node.ask({"HOTKEYS", "RESET"}));
    } else {
      questions.tasks.push_back(node.ask({"HOTKEYS", "GET"}));
    }
    asked.push_back(std::move(questions));
  }
  for (auto& [node, tasks] : asked) {
    const auto reply = answer(*node, tasks[0],
                              node->session ? "HOTKEYS GET was refused"
                                            : "it has the command HOTKEYS, but does not count "
                                              "(CONFIG SET hotkey-top-k 16 turns it on)");
    if (reply) node->own = parse_hotkeys(*reply, node->form);
    if (reply && !node->own)
      notes_.add(node->name, "its answer to HOTKEYS GET was not understood.");
    for (std::size_t i = 1; i < tasks.size(); ++i)
      static_cast<void>(answer(*node, tasks[i], "the session of HOTKEYS was not ended"));
  }
}

void FindRun::look_again() {
  std::vector<std::pair<FindNode*, Task<Reply>>> asked;
  for (FindNode& node : nodes_) {
    if (node.lost || !node.first_look) continue;
    asked.emplace_back(&node, node.ask({"CLUSTER", "SLOT-STATS", "ORDERBY", "CPU-USEC", "LIMIT",
                                        "16384", "DESC"}));
  }
  for (auto& [node, task] : asked) {
    const auto reply = answer(*node, task, "its slot statistics could be read only once");
    const auto second = reply ? parse_slot_stats(*reply) : std::nullopt;
    if (second) node->used = used_between(*node->first_look, *second);
  }
}

std::uint64_t FindRun::total_usec() const {
  std::uint64_t total = 0;
  for (const FindNode& node : nodes_) {
    if (node.own && node.session) {
      total += node.own->total_usec;
    } else if (node.used) {
      for (const SlotUse& slot : *node.used)
        total += slot.cpu_usec;
    }
  }
  return total;
}

void FindRun::take_own_keys() {
  const auto total = static_cast<double>(total_usec());
  for (FindNode& node : nodes_) {
    if (!node.own) continue;
    for (const ServerHotKeys::Key& key : node.own->keys) {
      Candidate candidate;
      candidate.found = {.key = key.key,
                         .node = node.name,
                         .share = {},
                         .counter = {},
                         .size = {},
                         .source = FindSource::hotkeys};
      if (node.session) {
        if (total <= 0) continue;
        candidate.rank = static_cast<double>(key.value) / total;
        if (candidate.rank < options_.least_share) continue;
        candidate.found.share = candidate.rank;
      } else {
        candidate.found.counter = key.value;
      }
      candidate.has_size = key.database == 0;
      best_.add(std::move(candidate));
    }
  }
}

void FindRun::add(FindNode& node, std::string key, std::optional<double> share, double rank,
                  FindSource source, std::optional<std::uint64_t> counter) {
  Candidate candidate;
  candidate.found = {.key = std::move(key),
                     .node = node.name,
                     .share = share,
                     .counter = counter,
                     .size = {},
                     .source = source};
  candidate.rank = rank;
  best_.add(std::move(candidate));
}

// --- the end ---------------------------------------------------------------------------------

void FindRun::ask_sizes(std::vector<Candidate>& keys) {
  std::vector<std::pair<Candidate*, Task<Reply>>> asked;
  for (Candidate& key : keys) {
    const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const FindNode& n) {
      return n.name == key.found.node && !n.lost;
    });
    if (node == nodes_.end() || !key.has_size) continue;
    asked.emplace_back(&key, node->ask({"MEMORY", "USAGE", key.found.key}));
  }
  for (auto& [key, task] : asked) {
    const auto reply = task.wait();
    // Nil: it has expired meanwhile.
    if (reply && reply.value().is_integer()) {
      key->found.size = static_cast<std::uint64_t>(reply.value().integer());
    }
  }
}

void FindRun::explain(const std::vector<Candidate>& keys) {
  const auto from = [&](FindSource source) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const Candidate& key) { return key.found.source == source; });
  };
  for (const FindNode& node : nodes_) {
    if (node.lost || node.own || node.used) continue;
    const std::string policy = node.policy.empty() ? "unknown" : node.policy;
    if (mode_ == Mode::cluster) {
      notes_.add(
          node.name,
          fmt::format("no statistics of slots, so nothing is known of its CPU time. Valkey 8 "
                      "and Redis 8.2 or newer have them: {} turns them on.",
                      slot_stats_mend));
    }
    if (!node.lfu()) {
      notes_.add(node.name, fmt::format("its keys are not known: it counts no uses of keys, since "
                                        "maxmemory-policy is {}. {}.",
                                        policy, lfu_mend));
    }
  }
  const bool looked = std::any_of(nodes_.begin(), nodes_.end(),
                                  [](const FindNode& node) { return node.used.has_value(); });
  if (looked && total_usec() == 0) {
    notes_.add(fmt::format("No command with a key ran in the {} ms between the two looks.",
                           options_.look.count()));
  }
  if (from(FindSource::slot_stats) || from(FindSource::slot_stats_freq) ||
      from(FindSource::slot_stats_idle)) {
    notes_.add(
        fmt::format("SHARE: of the CPU time that commands with keys took on all primaries "
                    "in {} ms, by CLUSTER SLOT-STATS.",
                    options_.look.count()));
  }
  if (from(FindSource::slot_stats_freq)) {
    notes_.add(
        "SLOT-STATS/FREQ: the share is that of the key's slot, divided among its keys by "
        "OBJECT FREQ: an estimate.");
  }
  const bool windows = std::any_of(nodes_.begin(), nodes_.end(), [](const FindNode& node) {
    return node.own && node.form == HotkeysForm::windows;
  });
  if (windows) {
    notes_.add(
        "HOTKEYS: the counter is the server's estimate of uses a second in its last whole "
        "window (hotkey-window-seconds).");
  }
  const bool freq = std::any_of(keys.begin(), keys.end(), [](const Candidate& key) {
    return key.found.counter && key.found.source != FindSource::hotkeys;
  });
  if (freq) {
    notes_.add(
        "OBJECT FREQ is the logarithm of an estimate, which decays with time (255 at most): "
        "it ranks keys, it does not count requests.");
  }
}

}  // namespace slotwise::hotkey
