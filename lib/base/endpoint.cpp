#include "base/endpoint.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace slotwise {

std::string Endpoint::to_string() const {
  const bool brackets = host.find(':') != std::string::npos;
  std::string text;
  text.reserve(host.size() + 8);
  if (brackets) text += '[';
  text += host;
  text += brackets ? "]:" : ":";
  text += std::to_string(port);
  return text;
}

namespace base {

namespace {

// Not std::tolower: it depends on the locale, and host names do not.
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view without_final_dot(std::string_view host) noexcept {
  if (host.size() > 1 && host.back() == '.') host.remove_suffix(1);
  return host;
}

// Longer than any name that DNS can hold, with room for a zone.
constexpr std::size_t longest_host = 255;

bool is_literal(int family, std::string_view host) noexcept {
  // A zone is no part of what inet_pton knows.
  if (family == AF_INET6) {
    const auto zone = host.find('%');
    if (zone != std::string_view::npos) {
      if (zone + 1 == host.size()) return false;
      host = host.substr(0, zone);
    }
  }
  char text[INET6_ADDRSTRLEN + 1] = {};
  if (host.empty() || host.size() >= sizeof text) return false;
  if (host.find('\0') != std::string_view::npos) return false;
  std::memcpy(text, host.data(), host.size());
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(family, text, address) == 1;
}

// What no host contains, whatever the server was told to announce.
bool is_plausible_host(std::string_view host) noexcept {
  if (host.size() > longest_host) return false;
  return std::none_of(host.begin(), host.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7f || c == '[' || c == ']' || c == '@' || c == '/';
  });
}

}  // namespace

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || value == 0 || value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

std::optional<Endpoint> parse_server_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return std::nullopt;
  }
  if (!is_plausible_host(host)) return std::nullopt;
  return Endpoint{std::string(host), *port};
}

bool is_valid_host(std::string_view host) noexcept {
  if (host.empty() || host.size() > longest_host) return false;
  if (host.find(':') != std::string_view::npos) return is_ipv6_literal(host);
  return std::all_of(host.begin(), host.end(), [](char c) {
    const char l = lower(c);
    // Underscores are no host name by the letter, but orchestrators make them.
    return (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9') || l == '-' || l == '.' || l == '_';
  });
}

bool is_ipv6_literal(std::string_view host) noexcept {
  return is_literal(AF_INET6, host);
}

bool is_ip_literal(std::string_view host) noexcept {
  return is_literal(AF_INET, host) || is_ipv6_literal(host);
}

bool same_host(std::string_view a, std::string_view b) noexcept {
  a = without_final_dot(a);
  b = without_final_dot(b);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool same_endpoint(const Endpoint& a, const Endpoint& b) noexcept {
  return a.port == b.port && same_host(a.host, b.host);
}

std::string endpoint_key(const Endpoint& endpoint) {
  std::string key(without_final_dot(endpoint.host));
  std::transform(key.begin(), key.end(), key.begin(), lower);
  key += ':';
  key += std::to_string(endpoint.port);
  return key;
}

}  // namespace base
}  // namespace slotwise
