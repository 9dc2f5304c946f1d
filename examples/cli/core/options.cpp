#include "cli/core/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <slotwise/error.hpp>

#include "cli/core/units.hpp"

namespace slotwise::cli {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& value,
                         const std::string& mend) {
  throw UsageError(fmt::format("{}: \"{}\" is {}", name, value, mend));
}

/// Reads the option's text by `read`; the last of several counts.
template <class Read>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, const std::string& help,
                        const std::string& unit, Read read) {
  return command.add_option_function<std::string>(name, read, help)->type_name(unit)->take_last();
}

}  // namespace

CLI::Option* add_uri(CLI::App& command, std::string& uri) {
  return command
      .add_option("--uri,-u", uri,
                  "The deployment, as valkey+cluster://HOST:PORT,... (see slotwise --help)")
      ->envname("SLOTWISE_URI")
      ->type_name("URI");
}

CLI::Option* add_duration(CLI::App& command, const std::string& name,
                          std::chrono::milliseconds& value, const std::string& help) {
  return add_parsed(command, name, help, "TIME", [name, &value](const std::string& text) {
    const auto parsed = parse_duration(text);
    if (!parsed || parsed->count() == 0) refuse(name, text, "no time; write 500ms, 5s or 2m");
    value = *parsed;
  });
}

CLI::Option* add_seconds(CLI::App& command, const std::string& name, double& value,
                         const std::string& help) {
  return add_parsed(command, name, help, "SECONDS", [name, &value](const std::string& text) {
    const auto parsed = parse_duration(text);
    if (!parsed) refuse(name, text, "no number of seconds; write 30, 2.5 or 10m");
    value = static_cast<double>(parsed->count()) / 1000;
  });
}

CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& value,
                      const std::string& help) {
  return add_parsed(command, name, help, "BYTES", [name, &value](const std::string& text) {
    const auto parsed = parse_size(text);
    if (!parsed || *parsed > (std::uint64_t{512} << 20)) {
      refuse(name, text, "no size up to 512m; write 100, 64k or 1m");
    }
    value = *parsed;
  });
}

CLI::Option* add_number(CLI::App& command, const std::string& name, int& value, int least, int most,
                        const std::string& help) {
  return add_parsed(command, name, help, "N", [=, &value](const std::string& text) {
    int parsed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error != std::errc() || end != text.data() + text.size() || parsed < least ||
        parsed > most) {
      refuse(name, text, fmt::format("no whole number from {} to {}", least, most));
    }
    value = parsed;
  });
}

CLI::Option* add_rate(CLI::App& command, const std::string& name, double& value,
                      const std::string& help) {
  return add_parsed(command, name, help, "R", [name, &value](const std::string& text) {
    double parsed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error != std::errc() || end != text.data() + text.size() || !(parsed > 0 && parsed < 1e9)) {
      refuse(name, text, "no number a second; write 1000 or 0.5");
    }
    value = parsed;
  });
}

Config config_of(const std::string& uri) {
  if (uri.empty()) {
    throw UsageError(
        "--uri is missing: name the deployment, for example\n"
        "  --uri valkey+cluster://127.0.0.1:7000,127.0.0.1:7001\n"
        "or set SLOTWISE_URI");
  }
  try {
    return Config::parse(uri);
  } catch (const Error& error) {
    throw UsageError(fmt::format("--uri: {}", error.message()));
  }
}

bool uri_sets(const std::string& uri, const std::string& option) {
  return uri.find('?' + option + '=') != std::string::npos ||
         uri.find('&' + option + '=') != std::string::npos;
}

}  // namespace slotwise::cli
