#include "cli/core/units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace slotwise::cli {

namespace {

/// Reads a number from the front of `text` and takes it off.
template <class T>
std::optional<T> take_number(std::string_view& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto number = take_number<double>(text);
  if (!number || !(*number >= 0)) return std::nullopt;
  double scale = 1000;
  if (text == "ms") {
    scale = 1;
  } else if (text == "m" || text == "min") {
    scale = 60'000;
  } else if (text == "h") {
    scale = 3'600'000;
  } else if (!text.empty() && text != "s") {
    return std::nullopt;
  }
  const double ms = std::round(*number * scale);
  if (!(ms < 1e12)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto number = take_number<std::uint64_t>(text);
  if (!number) return std::nullopt;
  unsigned shift = 0;
  if (text == "k" || text == "K" || text == "kb") {
    shift = 10;
  } else if (text == "m" || text == "M" || text == "mb") {
    shift = 20;
  } else if (text == "g" || text == "G" || text == "gb") {
    shift = 30;
  } else if (!text.empty()) {
    return std::nullopt;
  }
  if (*number > (UINT64_MAX >> shift)) return std::nullopt;
  return *number << shift;
}

std::optional<std::pair<unsigned, unsigned>> parse_ratio(std::string_view text) {
  const auto first = take_number<unsigned>(text);
  if (!first || text.empty() || text.front() != ':') return std::nullopt;
  text.remove_prefix(1);
  const auto second = take_number<unsigned>(text);
  if (!second || !text.empty() || (*first == 0 && *second == 0)) return std::nullopt;
  if (*first > 1'000'000 || *second > 1'000'000) return std::nullopt;
  return std::pair(*first, *second);
}

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, 1, ',');
  return digits;
}

std::string short_ms(double ms) {
  if (ms < 9.95) return fmt::format("{:.{}f}", ms, ms < 0.995 ? 2 : 1);
  return grouped(static_cast<std::uint64_t>(std::llround(ms)));
}

}  // namespace slotwise::cli
