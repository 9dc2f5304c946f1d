// Reading and comparing "host:port". Knows no names and asks no resolver.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <slotwise/config.hpp>

namespace slotwise::base {

/// A decimal number 1 ... 65535 and nothing else.
std::optional<std::uint16_t> parse_port(std::string_view text) noexcept;

/// "host:port" as servers write it: split at the LAST colon, so "::1:7000" is host ::1; brackets
/// are taken off. The host may be empty (the server means: the one you are talking to). Nothing
/// for a bad port, for unbalanced brackets and for a host with blanks or control characters.
std::optional<Endpoint> parse_server_endpoint(std::string_view text);

/// A host that a person may write: name, IPv4 or IPv6 literal without brackets (with zone).
bool is_valid_host(std::string_view host) noexcept;

/// IPv4 or IPv6 literal without brackets; a zone ("fe80::1%eth0") is accepted.
bool is_ip_literal(std::string_view host) noexcept;
bool is_ipv6_literal(std::string_view host) noexcept;

/// Names compare without case and without the final dot of a fully qualified name.
bool same_host(std::string_view a, std::string_view b) noexcept;
bool same_endpoint(const Endpoint& a, const Endpoint& b) noexcept;

/// A key for maps: equal for all spellings that same_endpoint() calls equal.
std::string endpoint_key(const Endpoint& endpoint);

}  // namespace slotwise::base
