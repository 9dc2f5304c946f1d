#include "kit/uri.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

namespace slotwise::kit {

namespace {

std::string encoded(std::string_view text, std::string_view kept = "-._~/") {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || kept.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", byte);
    }
  }
  return result;
}

}  // namespace

std::string make_uri(const UriParts& parts) {
  std::string uri = parts.tls ? "valkeys" : "valkey";
  if (!parts.scheme.empty()) uri += "+" + parts.scheme;
  uri += "://";
  if (!parts.user.empty() || !parts.password.empty()) {
    uri += encoded(parts.user, "-._~") + ":" + encoded(parts.password, "-._~") + "@";
  }
  for (std::size_t i = 0; i < parts.hosts.size(); ++i)
    uri += (i == 0 ? "" : ",") + parts.hosts[i];
  if (!parts.path.empty()) uri += "/" + encoded(parts.path);
  char separator = '?';
  for (const auto& [name, value] : parts.options) {
    uri += fmt::format("{}{}={}", separator, name, encoded(value, "-._~/:"));
    separator = '&';
  }
  return uri;
}

}  // namespace slotwise::kit
