// The whole table as a constant expression: `of("GET")` is resolved by the compiler.
//
// Thread rule: constants only.
//
// This header costs the compiler time: include it in few source files, and command_info.hpp
// everywhere else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "commands/command_info.hpp"
#include "commands/hand_rules.hpp"

namespace slotwise::commands {

namespace detail {

// The words that the generated text uses.
using Begin = KeySpec::Begin;
using Find = KeySpec::Find;
using Request = RequestPolicy;
using Response = ResponsePolicy;

namespace f {
inline constexpr auto bits(Flag flag) {
  return static_cast<std::uint32_t>(flag);
}
inline constexpr auto write = bits(Flag::write);
inline constexpr auto readonly = bits(Flag::readonly);
inline constexpr auto denyoom = bits(Flag::denyoom);
inline constexpr auto admin = bits(Flag::admin);
inline constexpr auto pubsub = bits(Flag::pubsub);
inline constexpr auto noscript = bits(Flag::noscript);
inline constexpr auto blocking = bits(Flag::blocking);
inline constexpr auto loading = bits(Flag::loading);
inline constexpr auto stale = bits(Flag::stale);
inline constexpr auto no_auth = bits(Flag::no_auth);
inline constexpr auto no_async_loading = bits(Flag::no_async_loading);
inline constexpr auto no_mandatory_keys = bits(Flag::no_mandatory_keys);
inline constexpr auto movablekeys = bits(Flag::movablekeys);
inline constexpr auto fast = bits(Flag::fast);
inline constexpr auto asking = bits(Flag::asking);
inline constexpr auto allow_busy = bits(Flag::allow_busy);
inline constexpr auto no_multi = bits(Flag::no_multi);
inline constexpr auto skip_monitor = bits(Flag::skip_monitor);
inline constexpr auto skip_commandlog = bits(Flag::skip_commandlog);
inline constexpr auto module = bits(Flag::module);
inline constexpr auto nondeterministic_output = bits(Flag::nondeterministic_output);
inline constexpr auto nondeterministic_output_order = bits(Flag::nondeterministic_output_order);
inline constexpr auto container = bits(Flag::container);
}  // namespace f

namespace kf {
inline constexpr auto bits(KeyFlag flag) {
  return static_cast<std::uint16_t>(flag);
}
inline constexpr auto ro = bits(KeyFlag::ro);
inline constexpr auto rw = bits(KeyFlag::rw);
inline constexpr auto ow = bits(KeyFlag::ow);
inline constexpr auto rm = bits(KeyFlag::rm);
inline constexpr auto access = bits(KeyFlag::access);
inline constexpr auto update = bits(KeyFlag::update);
inline constexpr auto insert = bits(KeyFlag::insert);
inline constexpr auto remove = bits(KeyFlag::remove);
inline constexpr auto not_key = bits(KeyFlag::not_key);
inline constexpr auto incomplete = bits(KeyFlag::incomplete);
inline constexpr auto variable_flags = bits(KeyFlag::variable_flags);
}  // namespace kf

/// One line of the generated table.
struct ServerFacts {
  std::string_view name;
  std::int16_t arity;
  std::uint32_t flags;
  RequestPolicy request_policy;
  ResponsePolicy response_policy;
  std::uint16_t first_spec;
  std::uint16_t specs;
};

#include "commands/command_table.inc"

constexpr CommandInfo make_info(const ServerFacts& facts) {
  CommandInfo info;
  info.name = facts.name;
  info.arity = facts.arity;
  info.name_words = facts.name.find(' ') == std::string_view::npos ? 1 : 2;
  info.flags = facts.flags;
  info.request_policy = facts.request_policy;
  info.response_policy = facts.response_policy;
  info.key_specs = std::span(key_specs).subspan(facts.first_spec, facts.specs);
  if (info.key_specs.size() == 1) {
    const KeySpec& spec = info.key_specs[0];
    if (spec.begin == Begin::index && spec.find == Find::range && spec.last == 0) {
      info.key_rule = KeyRule::single;
      info.single_key = static_cast<std::uint8_t>(spec.start);
    }
  }
  return info;
}

constexpr std::string_view name_of(std::string_view entry) {
  return entry;
}
constexpr std::string_view name_of(const auto& entry) {
  return entry.name;
}

// Both lists are sorted, so one walk over both is enough; looking each name up in each list costs a
// compiler a second. A name that is not in the table, or out of order, does not compile.
constexpr void apply(auto& table, const auto& rules, auto set) {
  std::size_t next = 0;
  for (CommandInfo& info : table) {
    if (next < std::size(rules) && name_of(rules[next]) == info.name) set(info, rules[next++]);
  }
  if (next != std::size(rules)) throw "hand_rules.hpp: a name is unknown or not in order";
}

constexpr auto make_table() {
  std::array<CommandInfo, std::size(server_facts)> table;
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = make_info(server_facts[i]);
  apply(table, hand::key_rules, [](auto& info, const auto& each) { info.key_rule = each.rule; });
  apply(table, hand::block_rules,
        [](auto& info, const auto& each) { info.block_rule = each.rule; });
  apply(table, hand::refusals, [](auto& info, const auto& each) { info.refusal = each.sentence; });
  apply(table, hand::harmless, [](auto& info, const auto&) { info.harmless = true; });
  apply(table, hand::slot_unchecked, [](auto& info, const auto&) { info.slot_unchecked = true; });
  for (CommandInfo& info : table) {
    info.simple = info.key_rule == KeyRule::single && info.single_key != 0 &&
                  info.refusal.empty() && !info.is(Flag::blocking) && !info.is(Flag::noscript);
    if (info.is(Flag::blocking) != (info.block_rule != BlockRule::never)) {
      throw "hand_rules.hpp: a blocking command has no rule for its time";
    }
  }
  return table;
}

}  // namespace detail

inline constexpr auto table = detail::make_table();

/// The entry of a command, found by the compiler: `constexpr const auto& get = of("GET");`. An
/// unknown name, or one not written as in the table ("GET", "OBJECT ENCODING"), does not compile.
consteval const CommandInfo& of(std::string_view name) {
  std::size_t low = 0;
  std::size_t high = table.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (table[middle].name < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == table.size() || table[low].name != name) throw "no such command in the table";
  return table[low];
}

}  // namespace slotwise::commands
