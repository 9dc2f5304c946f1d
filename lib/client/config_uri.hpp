// A URI taken apart: scheme, credentials, endpoints, path, query. Knows no setting by name.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/config.hpp>

namespace slotwise::client {

struct UriParts {
  Mode mode = Mode::single;
  bool tls = false;
  Credentials credentials;
  std::vector<Endpoint> endpoints;
  std::vector<std::string> path;                           ///< decoded segments
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order
  /// False if a piece of a password may have slipped into path or query, because somebody forgot
  /// to encode it: then no piece of the URI goes into a message.
  bool may_show = true;
};

/// Throws Error(invalid_argument). No message holds anything that could be a password.
UriParts split_uri(std::string_view uri);

[[noreturn]] void bad_uri(const std::string& text);

/// A piece of a URI as a message quotes it, or an empty text: if `may_show` is false, if it is long
/// or has special characters, or if it says "password" and so may hold one, after a forgotten '='.
std::string quoted(std::string_view piece, bool may_show, std::size_t longest = 32);

/// %XX for everything but letters, digits and `extra`.
std::string percent_encode(std::string_view text, std::string_view extra);

/// Reads "host", "host:port", "[v6]", "[v6]:port" or a bare IPv6 literal.
std::optional<Endpoint> parse_host_port(std::string_view text, std::uint16_t default_port);

}  // namespace slotwise::client
