// Numbers with units, read and written.
//
// Thread rule: functions without state; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace slotwise::cli {

/// "500ms", "5s", "2m", "1.5s"; a bare number is seconds. Nothing if it is none, or negative.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// "100", "64k", "1m", "1g" (1024 each), as whole bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// "1:4": two whole numbers that are not both 0.
std::optional<std::pair<unsigned, unsigned>> parse_ratio(std::string_view text);

/// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value);

/// Milliseconds with as many digits as make sense: "0.42", "7.3", "1,204".
std::string short_ms(double ms);

}  // namespace slotwise::cli
