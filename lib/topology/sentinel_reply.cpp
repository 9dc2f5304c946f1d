#include "topology/sentinel_reply.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/endpoint.hpp"

namespace slotwise::topology {
namespace {

constexpr int most_sentinels = 10'000;  // what a sentinel may claim

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

std::optional<Endpoint> make_endpoint(std::string host, const std::string& port) {
  const auto number = base::parse_port(port);
  if (!number || !base::is_valid_host(host)) return std::nullopt;
  return Endpoint{std::move(host), *number};
}

std::optional<Endpoint> endpoint_of(const Reply& instance) {
  return make_endpoint(field(instance, "ip"), field(instance, "port"));
}

/// [host, port]
std::optional<Endpoint> read_address(const Reply& address) {
  const auto parts = address.elements();
  if (parts.size() != 2) return std::nullopt;
  return make_endpoint(std::string(parts[0].text()), std::string(parts[1].text()));
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

SentinelReport read_sentinel(const SentinelReplies& replies) {
  const Reply& master = replies.master;
  SentinelReport report;
  if (master.is_error()) {
    report = refused(master);
  } else if (replies.address.is_error()) {
    report = refused(replies.address);
  } else if (master.is_nil() || replies.address.is_nil()) {
    report.kind = SentinelReport::Kind::unknown_name;
  } else if (auto primary = read_address(replies.address); !primary) {
    report = malformed("no usable host and port in SENTINEL GET-MASTER-ADDR-BY-NAME: " +
                       replies.address.describe());
  } else if (auto epoch = number<std::uint64_t>(field(master, "config-epoch")); !epoch) {
    report = malformed("no config-epoch in SENTINEL MASTER: " + master.describe());
  } else {
    report.kind = SentinelReport::Kind::named;
    report.primary = std::move(*primary);
    report.config_epoch = *epoch;
    const int others = number<int>(field(master, "num-other-sentinels")).value_or(0);
    report.sentinels = std::clamp(others, 0, most_sentinels) + 1;
    read_others(replies.sentinels, report);
    read_replicas(replies.replicas, report);
  }
  if (!replies.my_id.is_error()) report.id = replies.my_id.text();
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
  const bool about_primary = next_word() == "master";
  if (!about_primary) {
    const std::size_t at = text.find(" @ ");
    if (at == std::string_view::npos) return SentinelEvent::other;
    text.remove_prefix(at + 3);
  }
  if (next_word() != name) return SentinelEvent::other;
  if (channel == "+failover-state-send-slaveof-noone") return SentinelEvent::handing_over;
  return channel.starts_with("-failover-abort-") ? SentinelEvent::aborted : SentinelEvent::hint;
}

}  // namespace slotwise::topology
