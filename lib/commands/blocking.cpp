#include "commands/blocking.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

namespace slotwise::commands {

namespace {

using Kind = BlockTime::Kind;

constexpr BlockTime at_once{Kind::none, {}};
constexpr BlockTime forever{Kind::forever, {}};

/// The value of BLOCK in XREAD and XREADGROUP: only among the options, never in the names of the
/// group, the consumer or the streams. Null without BLOCK.
const std::string_view* block_option(Args args) noexcept {
  for (std::size_t i = 1; i + 1 < args.size(); ++i) {
    if (same_word(args[i], "BLOCK")) return &args[i + 1];
    if (same_word(args[i], "COUNT") || same_word(args[i], "CLAIM")) {
      i += 1;
    } else if (same_word(args[i], "GROUP")) {
      i += 2;
    } else if (!same_word(args[i], "NOACK")) {
      break;  // STREAMS, or a syntax error
    }
  }
  return nullptr;
}

/// What a server waits for the text of a timeout. 0 is for ever; a negative one is an error, which
/// comes at once. A text that we cannot read may still be one that the server can (hexadecimal):
/// then waiting too long is the harmless mistake.
BlockTime time_of(std::string_view text, double millis_per_unit) noexcept {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return forever;
  if (std::isnan(value) || value < 0) return at_once;
  const double millis = std::ceil(value * millis_per_unit);
  if (millis == 0) return forever;
  // 1000 years: no difference to for ever, and additions to it cannot overflow.
  if (millis > 3.2e13) return forever;
  return {Kind::limited, std::chrono::milliseconds(static_cast<std::int64_t>(millis))};
}

}  // namespace

bool blocks(const CommandInfo& info, Args args) noexcept {
  if (info.block_rule == BlockRule::stream_read) return block_option(args) != nullptr;
  return info.block_rule != BlockRule::never;
}

BlockTime server_block_time(const CommandInfo& info, Args args) noexcept {
  if (!info.arity_fits(args.size()) || args.size() < 2) return at_once;  // an error, at once
  switch (info.block_rule) {
    case BlockRule::never:
      return at_once;
    case BlockRule::first_seconds:
      return time_of(args[1], 1000);
    case BlockRule::last_seconds:
      return time_of(args.back(), 1000);
    case BlockRule::last_millis:
      return time_of(args.back(), 1);
    case BlockRule::stream_read: {
      const std::string_view* text = block_option(args);
      return text != nullptr ? time_of(*text, 1) : at_once;
    }
    case BlockRule::unknown_time:
      break;
  }
  return forever;
}

}  // namespace slotwise::commands
