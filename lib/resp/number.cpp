#include "resp/number.hpp"

#include <charconv>
#include <system_error>

namespace slotwise::resp {

std::optional<double> parse_double(std::string_view text) noexcept {
  double value = 0;
  // from_chars also takes "infinity" and "nan(...)": the protocol has neither.
  if (text.find_first_of("(yY") != std::string_view::npos) return std::nullopt;
  // A plus is fine in the protocol, and not for from_chars.
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace slotwise::resp
