#include "net/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include <charconv>
#include <cstring>

namespace slotwise::net {
namespace {

// "eth0" or "2"; 0 when there is no such interface.
std::uint32_t scope_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec == std::errc{} && end == text.data() + text.size()) return number;
  return ::if_nametoindex(std::string(text).c_str());
}

}  // namespace

std::optional<address> address::from(const ::sockaddr* sa, ::socklen_t size) noexcept {
  address result;
  if (sa->sa_family == AF_INET && size >= sizeof(::sockaddr_in)) {
    std::memcpy(&result.any_.v4, sa, sizeof(::sockaddr_in));
    return result;
  }
  if (sa->sa_family == AF_INET6 && size >= sizeof(::sockaddr_in6)) {
    std::memcpy(&result.any_.v6, sa, sizeof(::sockaddr_in6));
    return result;
  }
  return std::nullopt;
}

std::optional<address> address::parse(std::string_view literal, std::uint16_t port) {
  const bool bracketed = literal.size() > 2 && literal.front() == '[' && literal.back() == ']';
  if (bracketed) literal = literal.substr(1, literal.size() - 2);
  if (literal.empty() || literal.size() > 64) return std::nullopt;

  address result;
  if (!bracketed && literal.find(':') == std::string_view::npos) {
    ::sockaddr_in v4{};
    if (::inet_pton(AF_INET, std::string(literal).c_str(), &v4.sin_addr) != 1) return std::nullopt;
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    result.any_.v4 = v4;
    return result;
  }

  ::sockaddr_in6 v6{};
  const std::size_t percent = literal.find('%');
  if (percent != std::string_view::npos) {
    v6.sin6_scope_id = scope_of(literal.substr(percent + 1));
    if (v6.sin6_scope_id == 0) return std::nullopt;
    literal = literal.substr(0, percent);
  }
  if (::inet_pton(AF_INET6, std::string(literal).c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  result.any_.v6 = v6;
  return result;
}

::socklen_t address::size() const noexcept {
  switch (family()) {
    case AF_INET:
      return sizeof(::sockaddr_in);
    case AF_INET6:
      return sizeof(::sockaddr_in6);
    default:
      return 0;
  }
}

std::uint16_t address::port() const noexcept {
  switch (family()) {
    case AF_INET:
      return ntohs(any_.v4.sin_port);
    case AF_INET6:
      return ntohs(any_.v6.sin6_port);
    default:
      return 0;
  }
}

void address::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET) any_.v4.sin_port = htons(port);
  if (family() == AF_INET6) any_.v6.sin6_port = htons(port);
}

std::string address::ip() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &any_.v4.sin_addr, text, sizeof text);
    return text;
  }
  if (family() == AF_INET6) {
    ::inet_ntop(AF_INET6, &any_.v6.sin6_addr, text, sizeof text);
    std::string result = text;
    if (any_.v6.sin6_scope_id != 0) result += '%' + std::to_string(any_.v6.sin6_scope_id);
    return result;
  }
  return "(none)";
}

std::string address::to_string() const {
  return host_port(ip(), port());
}

bool operator==(const address& a, const address& b) noexcept {
  if (a.family() != b.family()) return false;
  if (a.family() == AF_INET) {
    return a.any_.v4.sin_addr.s_addr == b.any_.v4.sin_addr.s_addr &&
           a.any_.v4.sin_port == b.any_.v4.sin_port;
  }
  if (a.family() == AF_INET6) {
    // Field by field: the flow label is no part of the address.
    return std::memcmp(&a.any_.v6.sin6_addr, &b.any_.v6.sin6_addr, sizeof(::in6_addr)) == 0 &&
           a.any_.v6.sin6_port == b.any_.v6.sin6_port &&
           a.any_.v6.sin6_scope_id == b.any_.v6.sin6_scope_id;
  }
  return true;
}

std::string host_port(std::string_view host, std::uint16_t port) {
  std::string result;
  const bool needs_brackets = host.find(':') != std::string_view::npos && host.front() != '[';
  if (needs_brackets) result += '[';
  result += host;
  if (needs_brackets) result += ']';
  result += ':';
  result += std::to_string(port);
  return result;
}

}  // namespace slotwise::net
