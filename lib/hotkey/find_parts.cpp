#include "hotkey/find_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <slotwise/slot.hpp>

namespace slotwise::hotkey {
namespace {

/// An integer that is not negative; servers with RESP2 may send it as text.
std::optional<std::uint64_t> number(const Reply* reply) {
  if (reply == nullptr || !reply->is_integer() || reply->integer() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(reply->integer());
}

bool names(const Reply& reply, std::string_view name) {
  if (reply.is_text()) return reply.text() == name;
  const auto elements = reply.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const Reply& element) { return names(element, name); });
}

std::optional<ServerHotKeys> parse_session(const Reply& reply) {
  // The pairs, or an array with one array of pairs in it.
  const auto outer = reply.elements();
  const Reply& fields = outer.size() == 1 && outer[0].is_aggregate() ? outer[0] : reply;
  const auto total = number(fields.find("all-commands-all-slots-us"));
  const Reply* by_time = fields.find("by-cpu-time-us");
  if (!total || by_time == nullptr || !by_time->is_aggregate()) return std::nullopt;
  ServerHotKeys out;
  out.total_usec = *total;
  const auto pairs = by_time->elements();
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const auto value = number(&pairs[i + 1]);
    if (!pairs[i].is_text() || !value) return std::nullopt;
    out.keys.push_back({std::string(pairs[i].text()), *value, 0});
  }
  return out;
}

std::optional<ServerHotKeys> parse_window(const Reply& reply) {
  if (!reply.is_aggregate()) return std::nullopt;
  ServerHotKeys out;
  for (const Reply& entry : reply.elements()) {
    const Reply* key = entry.find("key");
    const auto uses = number(entry.find("qps"));
    if (key == nullptr || !key->is_text() || !uses) return std::nullopt;
    const Reply* database = entry.find("db");
    out.keys.push_back(
        {std::string(key->text()), *uses, database == nullptr ? 0 : database->integer()});
  }
  return out;
}

bool better(const Candidate& a, const Candidate& b) {
  const bool a_has = a.rank > 0;
  const bool b_has = b.rank > 0;
  if (a_has != b_has) return a_has;
  if (a.rank != b.rank) return a.rank > b.rank;
  const auto counter_of = [](const Candidate& c) { return c.found.counter.value_or(0); };
  if (counter_of(a) != counter_of(b)) return counter_of(a) > counter_of(b);
  return a.found.key < b.found.key;
}

}  // namespace

std::string_view to_string(FindSource source) noexcept {
  switch (source) {
    case FindSource::hotkeys:
      return "HOTKEYS";
    case FindSource::slot_stats:
      return "SLOT-STATS";
    case FindSource::slot_stats_freq:
      return "SLOT-STATS/FREQ";
    case FindSource::slot_stats_idle:
      return "SLOT-STATS/IDLETIME";
    case FindSource::object_freq:
      return "OBJECT FREQ";
  }
  return "?";
}

std::optional<std::vector<SlotUse>> parse_slot_stats(const Reply& reply) {
  if (!reply.is_aggregate()) return std::nullopt;
  std::vector<SlotUse> slots;
  slots.reserve(reply.elements().size());
  for (const Reply& entry : reply.elements()) {
    const auto pair = entry.elements();
    if (pair.size() != 2) return std::nullopt;
    const auto slot = number(&pair[0]);
    const auto usec = number(pair[1].find("cpu-usec"));
    if (!slot || *slot >= slot_count || !usec) return std::nullopt;
    slots.push_back(
        {static_cast<std::uint16_t>(*slot), number(pair[1].find("key-count")).value_or(0), *usec});
  }
  return slots;
}

std::vector<SlotUse> used_between(const std::vector<SlotUse>& before,
                                  const std::vector<SlotUse>& after) {
  std::unordered_map<std::uint16_t, std::uint64_t> had;
  for (const SlotUse& slot : before)
    had[slot.slot] = slot.cpu_usec;
  std::vector<SlotUse> used;
  for (SlotUse slot : after) {
    const auto found = had.find(slot.slot);
    // A slot that came in between: what it used elsewhere is not in its figure. Less than before:
    // somebody reset the statistics.
    const std::uint64_t old = found == had.end() ? 0 : found->second;
    if (old <= slot.cpu_usec) slot.cpu_usec -= old;
    if (slot.cpu_usec > 0) used.push_back(slot);
  }
  std::sort(used.begin(), used.end(),
            [](const SlotUse& a, const SlotUse& b) { return a.cpu_usec > b.cpu_usec; });
  return used;
}

double uses_of_counter(std::uint64_t counter, std::uint64_t log_factor) noexcept {
  // A new key begins with 5; at the counter c a use makes it one more with the chance
  // 1 / ((c - 5) * log_factor + 1).
  constexpr std::uint64_t first = 5;
  if (counter <= first) return 1;
  const auto steps = static_cast<double>(counter - first);
  return 1 + steps + static_cast<double>(log_factor) * steps * (steps - 1) / 2;
}

HotkeysForm hotkeys_form(const Reply& command_info) {
  if (names(command_info, "hotkeys|start")) return HotkeysForm::sessions;
  if (names(command_info, "hotkeys|get")) return HotkeysForm::windows;
  return HotkeysForm::none;
}

std::optional<ServerHotKeys> parse_hotkeys(const Reply& reply, HotkeysForm form) {
  return form == HotkeysForm::sessions ? parse_session(reply) : parse_window(reply);
}

std::string info_value(std::string_view info, std::string_view name) {
  const std::string head = fmt::format("\n{}:", name);
  const std::size_t at = info.find(head);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + head.size();
  return std::string(info.substr(begin, info.find_first_of("\r\n", begin) - begin));
}

void BestKeys::add(Candidate key) {
  keys_.push_back(std::move(key));
  if (keys_.size() >= 2 * limit_ + 64) cut();
}

void BestKeys::cut() {
  std::sort(keys_.begin(), keys_.end(), better);
  if (keys_.size() > limit_) keys_.resize(limit_);
}

std::vector<Candidate> BestKeys::take() {
  cut();
  return std::move(keys_);
}

void Notes::add(const std::string& node, std::string text) {
  auto found = std::find_if(notes_.begin(), notes_.end(),
                            [&](const auto& note) { return note.first == text; });
  if (found == notes_.end()) {
    notes_.emplace_back(std::move(text), std::vector<std::string>());
    found = notes_.end() - 1;
  }
  if (!node.empty()) found->second.push_back(node);
}

std::vector<std::string> Notes::take() {
  std::vector<std::string> out;
  for (auto& [text, nodes] : notes_) {
    out.push_back(nodes.empty() ? text : fmt::format("{}: {}", fmt::join(nodes, ", "), text));
  }
  return out;
}

}  // namespace slotwise::hotkey
