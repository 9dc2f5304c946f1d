// The URI under which slotwise is told of the kit's servers.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace slotwise::kit {

struct UriParts {
  std::string scheme{};  ///< "", "cluster" or "sentinel"
  bool tls = false;
  std::string user{};
  std::string password{};
  std::vector<std::string> hosts{};  ///< "host:port"
  std::string path{};                ///< the sentinels' name of the primary
  std::vector<std::pair<std::string, std::string>> options{};  ///< query
};

/// "valkeys+cluster://app:p%40ss@a:1,b:2?ca=/x", in which all that needs it is percent-encoded.
std::string make_uri(const UriParts& parts);

}  // namespace slotwise::kit
