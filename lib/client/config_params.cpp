#include "client/config_params.hpp"

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <utility>

#include "client/config_sentinel.hpp"
#include "client/config_uri.hpp"

namespace slotwise::client {

using std::chrono::milliseconds;

namespace {

// About 23 days: far beyond any sense, far below any overflow.
constexpr std::int64_t longest = 2'000'000'000;
constexpr std::int64_t most = 1'000'000'000'000;

// One line a setting: name in the URI, name in Config, where it lives, least and most.
constexpr Param table[] = {
    {"timeout", "timeout", +[](Config& c) -> milliseconds& { return c.timeout; }, 1, longest},
    {"attempt_timeout", "attempt_timeout",
     +[](Config& c) -> milliseconds& { return c.attempt_timeout; }, 1, longest},
    {"connect_timeout", "connect_timeout",
     +[](Config& c) -> milliseconds& { return c.connect_timeout; }, 1, longest},
    {"blocking_margin", "blocking_margin",
     +[](Config& c) -> milliseconds& { return c.blocking_margin; }, 1, longest},
    {"max_redirects", "max_redirects", +[](Config& c) -> int& { return c.max_redirects; }, 0, 1000},
    {"retry_backoff_min", "retry_backoff_min",
     +[](Config& c) -> milliseconds& { return c.retry_backoff_min; }, 1, longest},
    {"retry_backoff_max", "retry_backoff_max",
     +[](Config& c) -> milliseconds& { return c.retry_backoff_max; }, 1, longest},
    {"max_retries_per_second", "max_retries_per_second",
     +[](Config& c) -> int& { return c.max_retries_per_second; }, 0, 1'000'000'000},
    {"max_pending", "max_pending", +[](Config& c) -> std::size_t& { return c.max_pending; }, 1,
     most},
    {"refresh_interval", "refresh_interval",
     +[](Config& c) -> milliseconds& { return c.refresh_interval; }, 0, longest},
    {"refresh_min_interval", "refresh_min_interval",
     +[](Config& c) -> milliseconds& { return c.refresh_min_interval; }, 1, longest},
    {"health_check_interval", "health_check_interval",
     +[](Config& c) -> milliseconds& { return c.health_check_interval; }, 0, longest},
    {"tcp_keepalive", "tcp_keepalive", +[](Config& c) -> milliseconds& { return c.tcp_keepalive; },
     0, longest},
    {"read_from", "read_from", +[](Config& c) -> ReadFrom& { return c.read_from; }},
    {"availability_zone", "availability_zone",
     +[](Config& c) -> std::string& { return c.availability_zone; }},
    {"protocol", "protocol", +[](Config& c) -> int& { return c.protocol; }, 2, 3},
    {"db", "database", +[](Config& c) -> int& { return c.database; }, 0, 1'000'000},
    {"client_name", "client_name", +[](Config& c) -> std::string& { return c.client_name; }},
    {"dns_servers", "dns_servers",
     +[](Config& c) -> std::vector<std::string>& { return c.dns_servers; }},
    {"use_announced_ips", "use_announced_ips",
     +[](Config& c) -> bool& { return c.use_announced_ips; }},
    {"max_reply_bytes", "max_reply_bytes",
     +[](Config& c) -> std::size_t& { return c.max_reply_bytes; }, 1024, most},
    {"max_reply_depth", "max_reply_depth", +[](Config& c) -> int& { return c.max_reply_depth; }, 8,
     1024},
    {"direct_connections", "direct_connections",
     +[](Config& c) -> int& { return c.direct_connections; }, 0, 1000},
    {"io_threads", "io_threads", +[](Config& c) -> int& { return c.io_threads; }, 1, 64},
    {"hot_key_sampling", "hot_key_sampling", +[](Config& c) -> int& { return c.hot_key_sampling; },
     0, 1'000'000},
    {"ca", "tls.ca_file", +[](Config& c) -> std::string& { return c.tls.ca_file; }, 0, 0,
     Needs::tls},
    {"ca_dir", "tls.ca_dir", +[](Config& c) -> std::string& { return c.tls.ca_dir; }, 0, 0,
     Needs::tls},
    {"cert", "tls.cert_file", +[](Config& c) -> std::string& { return c.tls.cert_file; }, 0, 0,
     Needs::tls},
    {"key", "tls.key_file", +[](Config& c) -> std::string& { return c.tls.key_file; }, 0, 0,
     Needs::tls},
    {"key_password", "tls.key_password",
     +[](Config& c) -> std::string& { return c.tls.key_password; }, 0, 0, Needs::tls, true},
    {"server_name", "tls.server_name", +[](Config& c) -> std::string& { return c.tls.server_name; },
     0, 0, Needs::tls},
    {"sentinel_user", "sentinel_credentials.username",
     +[](Config& c) -> std::string& { return c.sentinel_credentials.username; }, 0, 0,
     Needs::sentinel},
    {"sentinel_password", "sentinel_credentials.password",
     +[](Config& c) -> std::string& { return c.sentinel_credentials.password; }, 0, 0,
     Needs::sentinel, true},
    {"sentinel_timeout", "sentinel_timeout",
     +[](Config& c) -> milliseconds& { return c.sentinel_timeout; }, 1, longest, Needs::sentinel},
    {"sentinel_check_interval", "sentinel_check_interval",
     +[](Config& c) -> milliseconds& { return c.sentinel_check_interval; }, 0, longest,
     Needs::sentinel},
    {"sentinel_tls", "sentinel_tls.enabled",
     +[](Config& c) -> bool& { return sentinel_tls(c).enabled; }, 0, 0, Needs::sentinel_tls},
    {"sentinel_ca", "sentinel_tls.ca_file",
     +[](Config& c) -> std::string& { return sentinel_tls(c).ca_file; }, 0, 0, Needs::sentinel_tls},
    {"sentinel_ca_dir", "sentinel_tls.ca_dir",
     +[](Config& c) -> std::string& { return sentinel_tls(c).ca_dir; }, 0, 0, Needs::sentinel_tls},
    {"sentinel_cert", "sentinel_tls.cert_file",
     +[](Config& c) -> std::string& { return sentinel_tls(c).cert_file; }, 0, 0,
     Needs::sentinel_tls},
    {"sentinel_key", "sentinel_tls.key_file",
     +[](Config& c) -> std::string& { return sentinel_tls(c).key_file; }, 0, 0,
     Needs::sentinel_tls},
    {"sentinel_key_password", "sentinel_tls.key_password",
     +[](Config& c) -> std::string& { return sentinel_tls(c).key_password; }, 0, 0,
     Needs::sentinel_tls, true},
    {"sentinel_server_name", "sentinel_tls.server_name",
     +[](Config& c) -> std::string& { return sentinel_tls(c).server_name; }, 0, 0,
     Needs::sentinel_tls},
};

struct ReadFromName {
  std::string_view name;
  ReadFrom value;
};

constexpr ReadFromName read_from_names[] = {
    {"primary", ReadFrom::primary},
    {"replica_preferred", ReadFrom::replica_preferred},
    {"any", ReadFrom::any},
    {"lowest_latency", ReadFrom::lowest_latency},
    {"same_zone", ReadFrom::same_zone},
};

// A number with what follows it; nothing if there is no number or it is too big for any use.
struct Number {
  std::int64_t value = 0;
  std::string_view unit;
};

std::string parse_number(std::string_view text, Number& number) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument) return "is no number";
  if (error != std::errc{} || value > static_cast<std::uint64_t>(most)) return "is too big";
  number.value = static_cast<std::int64_t>(value);
  number.unit = std::string_view(at, static_cast<std::size_t>(end - at));
  return {};
}

std::string outside(std::string_view what, const Param& param, std::string_view unit) {
  return std::string(what) + "must be " + std::to_string(param.low) + std::string(unit) + " to " +
         std::to_string(param.high) + std::string(unit);
}

std::string parse(const Param& param, std::string_view text, milliseconds& value) {
  Number number;
  if (auto wrong = parse_number(text, number); !wrong.empty()) return wrong;
  std::int64_t factor = 0;
  if (number.unit.empty()) return "has no unit: write ms, s or m after the number, such as 500ms";
  if (number.unit == "ms") factor = 1;
  if (number.unit == "s") factor = 1000;
  if (number.unit == "m") factor = 60'000;
  if (factor == 0) return "has an unknown unit: write ms, s or m after the number, such as 500ms";
  if (number.value > param.high / factor || number.value * factor < param.low) {
    return outside({}, param, "ms");
  }
  value = milliseconds(number.value * factor);
  return {};
}

template <class Integer>
requires(std::is_same_v<Integer, int> || std::is_same_v<Integer, std::size_t>) std::string
    parse(const Param& param, std::string_view text, Integer& value) {
  Number number;
  if (auto wrong = parse_number(text, number); !wrong.empty()) return wrong;
  if (!number.unit.empty()) return "is no number";
  if (number.value < param.low || number.value > param.high) return outside({}, param, {});
  value = static_cast<Integer>(number.value);
  return {};
}

std::string parse(const Param&, std::string_view text, bool& value) {
  if (text != "yes" && text != "no") return "must be yes or no";
  value = text == "yes";
  return {};
}

std::string parse(const Param&, std::string_view text, std::string& value) {
  value = text;
  return {};
}

std::string parse(const Param&, std::string_view text, ReadFrom& value) {
  std::string names;
  for (const ReadFromName& known : read_from_names) {
    if (text == known.name) {
      value = known.value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return "must be one of " + names;
}

std::string parse(const Param&, std::string_view text, std::vector<std::string>& value) {
  value.clear();
  while (true) {
    const auto comma = text.find(',');
    if (comma == 0 || text.empty()) return "has an empty entry";
    value.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

std::string print(milliseconds value) {
  return std::to_string(value.count()) + "ms";
}
std::string print(int value) {
  return std::to_string(value);
}
std::string print(std::size_t value) {
  return std::to_string(value);
}
std::string print(bool value) {
  return value ? "yes" : "no";
}
std::string print(const std::string& value) {
  return value;
}
std::string print(ReadFrom value) {
  return std::string(to_string(value));
}
std::string print(const std::vector<std::string>& value) {
  std::string text;
  for (const std::string& item : value)
    text += (text.empty() ? "" : ",") + item;
  return text;
}

std::int64_t number_of(milliseconds value) {
  return value.count();
}
std::int64_t number_of(int value) {
  return value;
}
std::int64_t number_of(std::size_t value) {
  return static_cast<std::int64_t>(std::min<std::size_t>(value, std::size_t{most} + 1));
}

}  // namespace

std::span<const Param> params() noexcept {
  return table;
}

const Param* find_param(std::string_view name) noexcept {
  for (const Param& param : table) {
    if (param.name == name) return &param;
  }
  return nullptr;
}

std::vector<std::string_view> param_names() {
  std::vector<std::string_view> names;
  for (const Param& param : table)
    names.push_back(param.name);
  return names;
}

std::string read_param(const Param& param, Config& config, std::string_view value, bool may_show) {
  std::string wrong;
  // For the sentinels a text of the data servers may have to be taken back.
  const bool may_be_empty = param.needs == Needs::sentinel_tls &&
                            std::holds_alternative<std::string& (*)(Config&)>(param.where);
  if (value.empty() && !may_be_empty) {
    wrong = "has no value";
  } else {
    wrong = std::visit([&](auto where) { return parse(param, value, where(config)); }, param.where);
  }
  if (wrong.empty()) return {};
  // Longer than this is no number with its unit, but perhaps a parameter after a forgotten '&'.
  const std::string shown = quoted(value, may_show && !param.secret, 12);
  return "parameter '" + std::string(param.name) + "' " +
         (shown.empty() ? "" : "= " + shown + " ") + wrong;
}

std::string print_param(const Param& param, Config& config) {
  static const Config standard;
  Config unset = standard;
  return std::visit(
      [&](auto where) {
        const auto& value = where(config);
        if (value == where(unset)) return std::string();
        return param.secret ? std::string("***") : print(value);
      },
      param.where);
}

std::string check_range(const Param& param, Config& config) {
  if (param.high == 0) return {};
  return std::visit(
      [&](auto where) {
        using Value = std::remove_reference_t<decltype(where(config))>;
        if constexpr (std::is_same_v<Value, milliseconds> || std::is_same_v<Value, int> ||
                      std::is_same_v<Value, std::size_t>) {
          const std::int64_t number = number_of(where(config));
          if (number >= param.low && number <= param.high) return std::string();
          const std::string_view unit = std::is_same_v<Value, milliseconds> ? "ms" : "";
          return "is " + std::to_string(number) + std::string(unit) + " and " +
                 outside({}, param, unit);
        }
        return std::string();
      },
      param.where);
}

std::string_view to_string(ReadFrom read_from) noexcept {
  for (const ReadFromName& known : read_from_names) {
    if (known.value == read_from) return known.name;
  }
  return "primary";
}

}  // namespace slotwise::client
