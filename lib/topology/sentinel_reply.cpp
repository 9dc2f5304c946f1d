#include "topology/sentinel_reply.hpp"

#include <charconv>
#include <utility>

#include "base/endpoint.hpp"

namespace slotwise::topology {
namespace {

/// A field of an instance as text; RESP3 may send numbers as numbers.
std::string field(const Reply& instance, std::string_view name) {
  const Reply* value = instance.find(name);
  if (value == nullptr) return {};
  if (value->is_integer()) return std::to_string(value->integer());
  return std::string(value->text());
}

template <class Number>
std::optional<Number> number(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

std::optional<Endpoint> endpoint_of(const Reply& instance) {
  Endpoint endpoint;
  endpoint.host = field(instance, "ip");
  const auto port = base::parse_port(field(instance, "port"));
  if (!port || !base::is_valid_host(endpoint.host)) return std::nullopt;
  endpoint.port = *port;
  return endpoint;
}

/// "slave,s_down,disconnected" has "s_down".
bool has_flag(std::string_view flags, std::string_view wanted) {
  while (!flags.empty()) {
    const std::size_t comma = flags.find(',');
    if (flags.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) return false;
    flags.remove_prefix(comma + 1);
  }
  return false;
}

SentinelReport malformed(std::string what) {
  return SentinelReport::failure(Error(ErrorCode::protocol, Outcome::not_sent,
                                       "its answer cannot be used: " + std::move(what)));
}

SentinelReport refused(const Reply& error) {
  const std::string text(error.text());
  if (text.starts_with("ERR No such master")) {
    SentinelReport report;
    report.kind = SentinelReport::Kind::unknown_name;
    return report;
  }
  if (text.starts_with("NOAUTH") || text.starts_with("NOPERM") || text.starts_with("WRONGPASS")) {
    return SentinelReport::failure(
        Error(ErrorCode::auth_failed, Outcome::rejected,
              "the sentinel refused (sentinel_user, sentinel_password): " + text)
            .with_server_text(text));
  }
  if (text.starts_with("ERR unknown command") || text.starts_with("ERR Unknown command")) {
    return SentinelReport::failure(Error(ErrorCode::invalid_argument, Outcome::rejected,
                                         "it is no sentinel; it answered: " + text)
                                       .with_server_text(text));
  }
  return SentinelReport::failure(
      Error(ErrorCode::server, Outcome::rejected, "it answered: " + text).with_server_text(text));
}

void read_others(const Reply& sentinels, SentinelReport& report) {
  for (const Reply& instance : sentinels.elements()) {
    auto endpoint = endpoint_of(instance);
    if (!endpoint) continue;
    report.others.push_back({std::move(*endpoint), field(instance, "runid")});
  }
}

void read_replicas(const Reply& replicas, SentinelReport& report) {
  for (const Reply& instance : replicas.elements()) {
    auto endpoint = endpoint_of(instance);
    if (!endpoint) continue;
    const std::string flags = field(instance, "flags");
    const bool down =
        has_flag(flags, "s_down") || has_flag(flags, "o_down") || has_flag(flags, "disconnected");
    const bool cut_off = field(instance, "master-link-status") == "err";
    report.replicas.push_back({std::move(*endpoint), field(instance, "runid"), !down && !cut_off});
  }
}

}  // namespace

SentinelReport SentinelReport::failure(Error error) {
  SentinelReport report;
  report.error = std::move(error);
  return report;
}

SentinelReport read_sentinel(const Reply* my_id, const Reply& master, const Reply& sentinels,
                             const Reply& replicas) {
  SentinelReport report;
  if (master.is_error()) {
    report = refused(master);
  } else if (master.is_nil()) {
    report.kind = SentinelReport::Kind::unknown_name;
  } else if (!master.is_aggregate()) {
    report = malformed("SENTINEL MASTER gave " + std::string(to_string(master.type())));
  } else if (auto primary = endpoint_of(master); !primary) {
    report = malformed("SENTINEL MASTER names no usable ip and port: " + master.describe());
  } else if (auto epoch = number<std::uint64_t>(field(master, "config-epoch")); !epoch) {
    report = malformed("SENTINEL MASTER has no config-epoch");
  } else {
    report.kind = SentinelReport::Kind::named;
    report.primary = std::move(*primary);
    report.primary_id = field(master, "runid");
    report.config_epoch = *epoch;
    report.sentinels = number<int>(field(master, "num-other-sentinels")).value_or(0) + 1;
    read_others(sentinels, report);
    read_replicas(replicas, report);
  }
  if (my_id != nullptr && !my_id->is_error()) report.id = my_id->text();
  return report;
}

SentinelEvent read_sentinel_event(std::string_view channel, std::string_view text,
                                  std::string_view name) {
  const auto next_word = [&text] {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    return word;
  };
  // "<name> <old ip> <old port> <new ip> <new port>"
  if (channel == "+switch-master") {
    return next_word() == name ? SentinelEvent::switched : SentinelEvent::other;
  }
  // "master <name> <ip> <port>", or "slave <name> <ip> <port> @ <primary's name> <ip> <port>"
  const std::string_view kind = next_word();
  if (kind == "master") return next_word() == name ? SentinelEvent::hint : SentinelEvent::other;
  const std::size_t at = text.find(" @ ");
  if (at == std::string_view::npos) return SentinelEvent::other;
  text.remove_prefix(at + 3);
  return next_word() == name ? SentinelEvent::hint : SentinelEvent::other;
}

}  // namespace slotwise::topology
