#include "commands/route.hpp"

#include <charconv>

#include <slotwise/slot.hpp>

#include "commands/keys.hpp"

namespace slotwise::commands {

namespace {

Routing to(Target target, const CommandInfo* info) noexcept {
  Routing routing;
  routing.target = target;
  routing.info = info;
  return routing;
}

Routing to_any_primary(const CommandInfo* info, bool malformed) noexcept {
  Routing routing = to(Target::any_primary, info);
  routing.malformed = malformed;
  return routing;
}

Routing by_slot_argument(const CommandInfo& info, Args args) noexcept {
  if (args.size() < 3) return to_any_primary(&info, true);
  std::uint16_t number = 0;
  const std::string_view text = args[2];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= slot_count) {
    return to_any_primary(&info, true);
  }
  Routing routing = to(Target::one_slot, &info);
  routing.slot = number;
  return routing;
}

/// Walks over positions of keys: all in one slot, or the first two that differ.
template <class Positions>
Routing by_keys(const CommandInfo* info, Args args, const Positions& positions) noexcept {
  Routing routing = to(Target::one_slot, info);
  for (const std::uint32_t index : positions) {
    const std::uint16_t found = slot(args[index]);
    if (routing.key == 0) {
      routing.key = index;
      routing.slot = found;
    } else if (found != routing.slot) {
      routing.other_key = index;
      routing.other_slot = found;
      routing.target = Target::cross_slot;
      break;
    }
  }
  return routing;
}

struct Positions {
  const Keys& keys;
  struct iterator {
    Keys::iterator at;
    std::uint32_t operator*() const noexcept { return (*at).index; }
    iterator& operator++() noexcept {
      ++at;
      return *this;
    }
    bool operator==(const iterator&) const noexcept = default;
  };
  iterator begin() const noexcept { return {keys.begin()}; }
  iterator end() const noexcept { return {keys.end()}; }
};

/// A command that the server calls divisible and whose arguments permit it.
bool divisible(const CommandInfo& info, Args args, const Keys& keys) noexcept {
  if (info.request_policy != RequestPolicy::multi_shard || keys.ranges().size() != 1) return false;
  const Keys::Range& range = keys.ranges().front();
  const std::size_t end = range.first + std::size_t{range.count} * range.step;
  if (end > args.size()) return false;  // the last key has no value
  // "only if none exists" and "only if all exist" speak of all keys together; the parts would each
  // decide for themselves. Only MSETEX has anything after its last value.
  for (std::size_t i = end; i < args.size(); ++i) {
    if (same_word(args[i], "NX") || same_word(args[i], "XX")) return false;
  }
  return true;
}

}  // namespace

Routing route(Args args) noexcept {
  const CommandInfo* info = find(args);
  return info != nullptr ? route(*info, args) : Routing{};
}

Routing route(const CommandInfo& info, Args args) noexcept {
  // The common case first: GET, SET, HSET, and most others.
  if (info.key_rule == KeyRule::single && info.single_key < args.size() &&
      info.arity_fits(args.size())) {
    Routing routing = to(Target::one_slot, &info);
    routing.key = info.single_key;
    routing.slot = slot(args[info.single_key]);
    return routing;
  }
  if (info.key_rule == KeyRule::slot_argument) return by_slot_argument(info, args);

  Keys keys;
  switch (extract_keys(info, args, keys)) {
    case KeyStatus::ok:
      break;
    case KeyStatus::invalid:
      return to_any_primary(&info, true);
    case KeyStatus::unknown:
      return to(Target::unknown, &info);
    case KeyStatus::none:
      switch (info.request_policy) {
        case RequestPolicy::all_nodes:
          return to(Target::all_nodes, &info);
        case RequestPolicy::all_shards:
          return to(Target::all_shards, &info);
        case RequestPolicy::special:
          return to(Target::special, &info);
        case RequestPolicy::multi_shard:
        case RequestPolicy::none:
          return to_any_primary(&info, false);
      }
      return to_any_primary(&info, false);
  }
  Routing routing = by_keys(&info, args, Positions{keys});
  if (routing.target == Target::cross_slot && divisible(info, args, keys)) {
    routing.target = Target::multi_shard;
  }
  return routing;
}

Routing route_keys(const CommandInfo* info, Args args,
                   std::span<const std::uint32_t> keys) noexcept {
  return keys.empty() ? to_any_primary(info, false) : by_keys(info, args, keys);
}

}  // namespace slotwise::commands
