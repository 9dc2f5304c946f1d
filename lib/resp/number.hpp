// Doubles of RESP3 as text, whatever the locale.
#pragma once

#include <optional>
#include <string_view>

namespace slotwise::resp {

/// `inf`, `-inf`, `nan`, `-nan` in any case, or a decimal number. Nothing: not one, or out of
/// range.
std::optional<double> parse_double(std::string_view text) noexcept;

}  // namespace slotwise::resp
