// All keys of the nodes that have nothing better to tell.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "hotkey/find_run.hpp"

namespace slotwise::hotkey {

struct FindRun::Cursor {
  FindNode* node;
  std::string at = "0";
  std::uint64_t keys = 0;
  bool ended = false;
  std::optional<Task<Reply>> page{};
};

void FindRun::scan() {
  if (options_.scan_time.count() <= 0) return;
  std::vector<Cursor> cursors;
  for (FindNode& node : nodes_) {
    if (!node.lost && !node.own && !node.used && node.lfu()) cursors.push_back({.node = &node});
  }
  const auto end = std::chrono::steady_clock::now() + options_.scan_time;
  bool open = !cursors.empty();
  while (open && std::chrono::steady_clock::now() < end) {
    for (Cursor& cursor : cursors) {
      if (!cursor.ended) {
        cursor.page.emplace(cursor.node->ask({"SCAN", cursor.at, "COUNT", "500"}));
      }
    }
    open = false;
    for (Cursor& cursor : cursors)
      open = scan_step(cursor) || open;
  }
  for (const Cursor& cursor : cursors) {
    if (cursor.ended) continue;
    notes_.add(cursor.node->name, fmt::format("only {} of its keys were looked at in {} s.",
                                              cursor.keys, options_.scan_time.count() / 1000));
  }
}

bool FindRun::scan_step(Cursor& cursor) {
  if (cursor.ended) return false;
  FindNode& node = *cursor.node;
  const auto page = answer(node, *cursor.page, "its keys may not be listed");
  const auto parts = page ? page->elements() : std::span<const Reply>();
  if (parts.size() != 2 || !parts[1].is_aggregate()) {
    cursor.ended = true;
    return false;
  }
  cursor.at = std::string(parts[0].text());
  std::vector<Task<Reply>> asked;
  for (const Reply& key : parts[1].elements())
    asked.push_back(node.ask({"OBJECT", "FREQ", key.text()}));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto counter = answer(node, asked[i]);
    if (!counter || !counter->is_integer()) continue;
    ++cursor.keys;
    add(node, std::string(parts[1].elements()[i].text()), std::nullopt, 0, FindSource::object_freq,
        static_cast<std::uint64_t>(counter->integer()));
  }
  cursor.ended = node.lost || cursor.at == "0";
  return !cursor.ended;
}

}  // namespace slotwise::hotkey
