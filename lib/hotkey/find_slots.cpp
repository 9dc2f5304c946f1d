// The keys of the slots that use the most CPU time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "hotkey/find_run.hpp"

namespace slotwise::hotkey {
namespace {

/// Of a slot whose keys cannot be told apart.
constexpr std::size_t most_unsure_keys = 3;

}  // namespace

void FindRun::look_into_slots() {
  const auto total = static_cast<double>(total_usec());
  if (total <= 0) return;
  const std::string count = std::to_string(options_.keys_per_slot);
  for (std::size_t place = 0; place < options_.slots_per_node; ++place) {
    struct Asked {
      FindNode* node;
      const SlotUse* slot;
      Task<Reply> keys;
    };
    std::vector<Asked> asked;
    for (FindNode& node : nodes_) {
      if (node.lost || node.own || !node.used || node.used->size() <= place) continue;
      const SlotUse& slot = (*node.used)[place];
      if (static_cast<double>(slot.cpu_usec) / total < options_.least_share) continue;
      asked.push_back(
          {&node, &slot, node.ask({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot.slot), count})});
    }
    if (asked.empty()) return;
    for (auto& [node, slot, task] : asked) {
      const auto reply = answer(*node, task, "the keys of its slots may not be listed");
      if (!reply) continue;
      std::vector<std::string> keys;
      for (const Reply& key : reply->elements())
        keys.emplace_back(key.text());
      look_into(*node, *slot, std::move(keys));
    }
  }
}

void FindRun::look_into(FindNode& node, const SlotUse& slot, std::vector<std::string> keys) {
  const double share = static_cast<double>(slot.cpu_usec) / static_cast<double>(total_usec());
  if (keys.empty()) {
    notes_.add(node.name, fmt::format("slot {} took {:.1f} % of the CPU time and has no key now: "
                                      "they were removed, have expired, or never existed.",
                                      slot.slot, 100 * share));
    return;
  }
  if (keys.size() == options_.keys_per_slot && slot.keys > keys.size()) {
    notes_.add(node.name, fmt::format("slot {} took {:.1f} % of the CPU time and has {} keys, of "
                                      "which {} were looked at.",
                                      slot.slot, 100 * share, slot.keys, keys.size()));
  }
  if (node.lfu()) return divide_by_freq(node, slot, std::move(keys));
  if (keys.size() == 1) {
    return add(node, std::move(keys[0]), share, share, FindSource::slot_stats);
  }
  choose_by_idle_time(node, slot, std::move(keys));
}

void FindRun::divide_by_freq(FindNode& node, const SlotUse& slot, std::vector<std::string> keys) {
  std::vector<Task<Reply>> asked;
  asked.reserve(keys.size());
  for (const std::string& key : keys)
    asked.push_back(node.ask({"OBJECT", "FREQ", key}));
  std::vector<std::uint64_t> counters(keys.size());
  double uses = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto reply = answer(node, asked[i]);
    if (!reply || !reply->is_integer()) {
      keys[i].clear();  // gone meanwhile
      continue;
    }
    counters[i] = static_cast<std::uint64_t>(reply->integer());
    uses += uses_of_counter(counters[i], node.log_factor);
  }
  const double whole = static_cast<double>(slot.cpu_usec) / static_cast<double>(total_usec());
  const FindSource source = keys.size() == 1 ? FindSource::slot_stats : FindSource::slot_stats_freq;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (counters[i] == 0 && keys[i].empty()) continue;
    const double share = whole * uses_of_counter(counters[i], node.log_factor) / uses;
    if (share < options_.least_share) continue;
    add(node, std::move(keys[i]), share, share, source, counters[i]);
  }
}

void FindRun::choose_by_idle_time(FindNode& node, const SlotUse& slot,
                                  std::vector<std::string> keys) {
  std::vector<Task<Reply>> asked;
  asked.reserve(keys.size());
  for (const std::string& key : keys)
    asked.push_back(node.ask({"OBJECT", "IDLETIME", key}));
  // The time is in whole seconds, and some has passed since the second look.
  const auto lately = std::chrono::ceil<std::chrono::seconds>(options_.look).count() + 1;
  std::vector<std::pair<std::int64_t, std::string>> used;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto reply = answer(node, asked[i]);
    if (reply && reply->is_integer() && reply->integer() <= lately)
      used.emplace_back(reply->integer(), std::move(keys[i]));
  }
  const double share = static_cast<double>(slot.cpu_usec) / static_cast<double>(total_usec());
  if (used.size() == 1) {
    return add(node, std::move(used[0].second), share, share, FindSource::slot_stats_idle);
  }
  notes_.add(node.name,
             fmt::format("slot {} took {:.1f} % of the CPU time, and {} of its {} keys were used "
                         "lately: which of them is hot would be known with an LFU policy (CONFIG "
                         "SET maxmemory-policy allkeys-lfu or volatile-lfu).",
                         slot.slot, 100 * share, used.size(), keys.size()));
  std::sort(used.begin(), used.end());
  if (used.size() > most_unsure_keys) used.resize(most_unsure_keys);
  for (auto& [idle, key] : used)
    add(node, std::move(key), std::nullopt, share, FindSource::slot_stats_idle);
}

}  // namespace slotwise::hotkey
