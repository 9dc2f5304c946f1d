#include "commands/keys.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace slotwise::commands {

namespace {

using Begin = KeySpec::Begin;
using Find = KeySpec::Find;

constexpr auto store_flags =
    static_cast<std::uint16_t>(KeyFlag::ow) | static_cast<std::uint16_t>(KeyFlag::update);

/// A number of keys as servers read it when they look for keys, which is C's atoi: leading blanks
/// and a tail are let through. The command itself is stricter, but a number that only atoi takes
/// must lead to the same node, or the answer would be MOVED and not what is wrong with the number.
std::int64_t lenient_number(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size() && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')))
    ++i;
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  std::int64_t value = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    value = value * 10 + (text[i] - '0');
    if (value > std::numeric_limits<std::int32_t>::max()) break;  // more keys than any command has
  }
  return negative ? -value : value;
}

/// Where the keys of a specification begin; 0 if its keyword is not there.
std::size_t begin_of(const KeySpec& spec, Args args) noexcept {
  if (spec.begin == Begin::index) return static_cast<std::size_t>(spec.start);
  const auto count = static_cast<std::ptrdiff_t>(args.size());
  const bool forward = spec.start >= 0;
  std::ptrdiff_t i = forward ? spec.start : count + spec.start;
  for (; i >= 1 && i < count; forward ? ++i : --i) {
    if (same_word(args[static_cast<std::size_t>(i)], spec.keyword)) {
      return static_cast<std::size_t>(i) + 1;
    }
  }
  return 0;
}

/// The range that one specification stands for; nullopt if the arguments cannot be right. A range
/// that would begin after the last argument is empty (the sources of `PFMERGE destination`).
std::optional<Keys::Range> range_of(const CommandInfo& info, const KeySpec& spec,
                                    Args args) noexcept {
  const auto count = static_cast<std::int64_t>(args.size());
  const auto begin = static_cast<std::int64_t>(begin_of(spec, args));
  if (begin == 0 || begin >= count) return Keys::Range{};
  const std::int64_t step = std::max<std::int64_t>(spec.step, 1);

  std::int64_t first = begin;
  std::int64_t keys = 0;
  if (spec.find == Find::keynum) {
    const std::int64_t at = begin + spec.last;
    if (at < 1 || at >= count) return std::nullopt;
    keys = lenient_number(args[static_cast<std::size_t>(at)]);
    first = begin + spec.limit;
    if (keys == 0 && info.is(Flag::no_mandatory_keys)) return Keys::Range{};
    if (keys < 1 || first < 1 || keys > (count - first) / step) return std::nullopt;
  } else {
    std::int64_t last = begin + spec.last;
    if (spec.last < 0) {
      last = spec.limit > 1 ? begin + (count - begin) / spec.limit + spec.last : count + spec.last;
    }
    if (last < first || last >= count) return std::nullopt;
    keys = (last - first) / step + 1;
  }
  return Keys::Range{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(keys),
                     static_cast<std::uint32_t>(step), spec.flags};
}

KeyStatus by_specs(const CommandInfo& info, Args args, Keys& out, KeyUse use) noexcept {
  for (const KeySpec& spec : info.key_specs) {
    if (use == KeyUse::data && spec.is(KeyFlag::not_key)) continue;
    if (spec.begin == Begin::unknown || spec.find == Find::unknown) return KeyStatus::unknown;
    const std::optional<Keys::Range> range = range_of(info, spec, args);
    if (!range) {
      out.clear();
      return KeyStatus::invalid;
    }
    if (!out.add(*range)) return KeyStatus::unknown;
  }
  return out.empty() ? KeyStatus::none : KeyStatus::ok;
}

KeyStatus one_key(std::size_t index, std::uint16_t flags, Keys& out) noexcept {
  out.add({static_cast<std::uint32_t>(index), 1, 1, flags});
  return KeyStatus::ok;
}

KeyStatus stream_read(const CommandInfo& info, Args args, Keys& out) noexcept {
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::string_view word = args[i];
    // CLAIM: XREADGROUP of Redis 8.4.
    if (same_word(word, "BLOCK") || same_word(word, "COUNT") || same_word(word, "CLAIM")) {
      i += 1;
    } else if (same_word(word, "GROUP")) {
      i += 2;
    } else if (same_word(word, "STREAMS")) {
      const std::size_t rest = args.size() - i - 1;
      if (rest == 0 || rest % 2 != 0) return KeyStatus::invalid;
      out.add({static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(rest / 2), 1,
               info.key_specs.front().flags});
      return KeyStatus::ok;
    } else if (!same_word(word, "NOACK")) {
      return KeyStatus::invalid;
    }
  }
  return KeyStatus::invalid;
}

KeyStatus sort(const CommandInfo& info, Args args, Keys& out) noexcept {
  one_key(1, info.key_specs.front().flags, out);
  if (info.read_only()) return KeyStatus::ok;  // SORT_RO has no STORE
  std::size_t store = 0;
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (same_word(args[i], "LIMIT")) {
      i += 2;
    } else if (same_word(args[i], "GET") || same_word(args[i], "BY")) {
      i += 1;
    } else if (same_word(args[i], "STORE") && i + 1 < args.size()) {
      // The value is not skipped, and so may itself be taken for STORE: that is a slip in the
      // servers' search, but it is the slot that they check.
      store = i + 1;
    }
  }
  return store != 0 ? one_key(store, store_flags, out) : KeyStatus::ok;
}

KeyStatus migrate(const CommandInfo& info, Args args, Keys& out) noexcept {
  const std::uint16_t flags = info.key_specs.front().flags;
  for (std::size_t i = 6; i < args.size(); ++i) {
    if (same_word(args[i], "KEYS")) {
      // With KEYS the key argument must be the empty string.
      if (!args[3].empty() || i + 1 == args.size()) return KeyStatus::invalid;
      out.add({static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(args.size() - i - 1),
               1, flags});
      return KeyStatus::ok;
    }
    if (same_word(args[i], "AUTH")) {
      i += 1;
    } else if (same_word(args[i], "AUTH2")) {
      i += 2;
    }
  }
  return one_key(3, flags, out);
}

KeyStatus geo_store(const CommandInfo& info, Args args, Keys& out) noexcept {
  one_key(1, info.key_specs.front().flags, out);
  std::size_t store = 0;
  for (std::size_t i = 5; i + 1 < args.size(); ++i) {
    if (same_word(args[i], "STORE") || same_word(args[i], "STOREDIST")) store = ++i;
  }
  return store != 0 ? one_key(store, store_flags, out) : KeyStatus::ok;
}

}  // namespace

KeyStatus extract_keys(const CommandInfo& info, Args args, Keys& out, KeyUse use) noexcept {
  out.clear();
  if (!info.arity_fits(args.size()) || args.size() < info.name_words) return KeyStatus::invalid;
  switch (info.key_rule) {
    case KeyRule::single:
      if (use == KeyUse::data && info.key_specs.front().is(KeyFlag::not_key)) {
        return KeyStatus::none;
      }
      if (info.single_key >= args.size()) return KeyStatus::none;
      return one_key(info.single_key, info.key_specs.front().flags, out);
    case KeyRule::specs:
      return by_specs(info, args, out, use);
    case KeyRule::stream_read:
      return stream_read(info, args, out);
    case KeyRule::sort:
      return sort(info, args, out);
    case KeyRule::migrate:
      return migrate(info, args, out);
    case KeyRule::geo_store:
      return geo_store(info, args, out);
    case KeyRule::slot_argument:
      return KeyStatus::none;
    case KeyRule::ask_the_server:
      break;
  }
  return KeyStatus::unknown;
}

}  // namespace slotwise::commands
