#include "client/config_uri.hpp"

#include <slotwise/error.hpp>

#include <algorithm>

#include "base/endpoint.hpp"
#include "client/nearest.hpp"

namespace slotwise::client {

namespace {

constexpr std::uint16_t server_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

struct Scheme {
  std::string_view name;
  Mode mode;
  bool tls;
};

constexpr Scheme schemes[] = {
    {"valkey", Mode::single, false},
    {"valkeys", Mode::single, true},
    {"redis", Mode::single, false},
    {"rediss", Mode::single, true},
    {"valkey+cluster", Mode::cluster, false},
    {"valkeys+cluster", Mode::cluster, true},
    {"redis+cluster", Mode::cluster, false},
    {"rediss+cluster", Mode::cluster, true},
    {"valkey+sentinel", Mode::sentinel, false},
    {"valkeys+sentinel", Mode::sentinel, true},
    {"redis+sentinel", Mode::sentinel, false},
    {"rediss+sentinel", Mode::sentinel, true},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `what` names the part in a message; the part itself may be secret.
std::string decode(std::string_view text, std::string_view what) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      bad_uri("a '%' in the " + std::string(what) +
              " is not followed by two hex digits; a '%' itself is written %25");
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// Takes the scheme with its "://" off.
const Scheme& read_scheme(std::string_view& rest) {
  const auto end = rest.find("://");
  const std::string name = lower(rest.substr(0, end));
  const bool looks_like_one =
      end != std::string_view::npos && name.size() <= 32 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos;
  if (!looks_like_one) {
    bad_uri(
        "it must start with a scheme such as valkey://, valkeys:// (TLS), valkey+cluster:// "
        "or valkey+sentinel://");
  }
  rest.remove_prefix(end + 3);
  std::vector<std::string_view> names;
  for (const Scheme& scheme : schemes) {
    if (scheme.name == name) return scheme;
    names.push_back(scheme.name);
  }
  bad_uri("unknown scheme '" + name + "'" + suggestion(name, names) +
          "; known are valkey, valkeys, redis, rediss, alone or with +cluster or +sentinel");
}

// user:password@ ; the LAST '@' separates, so that a forgotten encoding of '@' does no harm.
void read_credentials(std::string_view& authority, Credentials& credentials) {
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) return;
  const std::string_view text = authority.substr(0, at);
  authority.remove_prefix(at + 1);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    // Some programs take it for the user, others for the password: guessing could log it.
    bad_uri("before '@' stands neither 'user:password' nor ':password'");
  }
  credentials.username = decode(text.substr(0, colon), "user name");
  credentials.password = decode(text.substr(colon + 1), "password");
}

// `number` counts from 1. The text is not shown: without '@' it may be user and password.
Endpoint read_endpoint(std::string_view text, std::size_t number, std::uint16_t default_port) {
  const std::string which = "endpoint " + std::to_string(number);
  if (text.empty()) bad_uri(which + " is empty");
  const auto endpoint = parse_host_port(text, default_port);
  if (endpoint) return *endpoint;
  bad_uri(which +
          " is not host, host:port or [ipv6]:port with a port 1...65535 (if it is meant to be "
          "user:password, '@host' is missing after it)");
}

void read_endpoints(std::string_view text, UriParts& parts) {
  const std::uint16_t port = parts.mode == Mode::sentinel ? sentinel_port : server_port;
  while (true) {
    const auto comma = text.find(',');
    parts.endpoints.push_back(
        read_endpoint(text.substr(0, comma), parts.endpoints.size() + 1, port));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

void read_path(std::string_view text, UriParts& parts) {
  while (!text.empty()) {
    text.remove_prefix(1);  // the '/'
    const auto end = text.find('/');
    const std::string_view segment = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    if (segment.empty() && text.empty()) return;  // a final '/'
    parts.path.push_back(decode(segment, "path"));
  }
}

void read_query(std::string_view text, UriParts& parts) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) {
      // Anything but the first may be what follows an '&' in somebody's password.
      const std::string shown = quoted(pair, parts.may_show && parts.query.empty());
      bad_uri("a parameter " + shown + (shown.empty() ? "" : " ") +
              "has no value; write name=value, and %26 for an '&' inside a value");
    }
    parts.query.emplace_back(decode(pair.substr(0, equals), "name of a parameter"),
                             decode(pair.substr(equals + 1), "value of a parameter"));
  }
}

}  // namespace

void bad_uri(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, Outcome::not_sent, "bad URI: " + text);
}

UriParts split_uri(std::string_view uri) {
  std::string_view rest = uri;
  const Scheme& scheme = read_scheme(rest);
  UriParts parts;
  parts.mode = scheme.mode;
  parts.tls = scheme.tls;

  const auto end = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, end);
  const std::string_view tail =
      end == std::string_view::npos ? std::string_view() : rest.substr(end);
  const auto question = tail.find('?');
  const std::string_view path = tail.substr(0, question);
  const std::string_view query =
      question == std::string_view::npos ? std::string_view() : tail.substr(question + 1);

  // "user:pa/ss@host": what follows the '/' is half a password.
  if (path.find('@') != std::string_view::npos) {
    bad_uri(
        "there is an '@' after a '/'; write %2F for a '/' in user or password, and %40 for "
        "an '@' in the path");
  }
  parts.may_show = query.find('@') == std::string_view::npos;
  read_credentials(authority, parts.credentials);
  read_endpoints(authority, parts);
  read_path(path, parts);
  read_query(query, parts);
  return parts;
}

std::optional<Endpoint> parse_host_port(std::string_view text, std::uint16_t default_port) {
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    const std::string_view after = text.substr(close + 1);
    if (!base::is_ipv6_literal(host)) return std::nullopt;
    if (!after.empty() && after.front() != ':') return std::nullopt;
    has_port = !after.empty();
    if (has_port) port = after.substr(1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    // Two colons or more: an IPv6 literal without brackets, and so without a port.
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (!base::is_valid_host(host)) return std::nullopt;
  const auto number = has_port ? base::parse_port(port) : std::optional(default_port);
  if (!number) return std::nullopt;
  return Endpoint{std::string(host), *number};
}

std::string quoted(std::string_view piece, bool may_show, std::size_t longest) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
  const bool shows = may_show && !piece.empty() && piece.size() <= longest &&
                     piece.find_first_not_of(plain) == std::string_view::npos &&
                     lower(piece).find("password") == std::string::npos;
  return shows ? "'" + std::string(piece) + "'" : std::string();
}

std::string percent_encode(std::string_view text, std::string_view extra) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       extra.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace slotwise::client
