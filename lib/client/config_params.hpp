// The settings that a URI's query can hold, as one table: read, printed and range-checked alike.
//
// Thread rule: pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <slotwise/config.hpp>

namespace slotwise::client {

/// Where in a Config the value lives; the type says how it is written.
using Field = std::variant<std::chrono::milliseconds& (*)(Config&), int& (*)(Config&),
                           std::size_t& (*)(Config&), bool& (*)(Config&), std::string& (*)(Config&),
                           ReadFrom& (*)(Config&), std::vector<std::string>& (*)(Config&)>;

/// `sentinel_tls`: as `sentinel`, and read after all others (see config_sentinel.hpp).
enum class Needs : std::uint8_t { nothing, tls, sentinel, sentinel_tls };

struct Param {
  std::string_view name;   ///< in the URI
  std::string_view field;  ///< in Config
  Field where;
  std::int64_t low = 0;  ///< of numbers and of milliseconds
  std::int64_t high = 0;
  Needs needs = Needs::nothing;
  bool secret = false;
};

std::span<const Param> params() noexcept;
const Param* find_param(std::string_view name) noexcept;
std::vector<std::string_view> param_names();

/// Reads `value` into the field. Returns what is wrong with it, or an empty text. The text quotes
/// the value only if `may_show`.
std::string read_param(const Param& param, Config& config, std::string_view value, bool may_show);

/// The value as the URI has it; empty if it is the default.
std::string print_param(const Param& param, Config& config);

/// What is wrong with the number in the field, or an empty text.
std::string check_range(const Param& param, Config& config);

std::string_view to_string(ReadFrom read_from) noexcept;

}  // namespace slotwise::client
