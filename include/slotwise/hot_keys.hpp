// The keys that a client uses most.
#pragma once

#include <string>

namespace slotwise {

/// One key of Client::hot_keys(), over about the last ten seconds.
struct HotKey {
  std::string key;        ///< of a longer one only the first 1,024 bytes
  double share = 0;       ///< of all calls with a key, 0 to 1; an estimate that is not too high
  double per_second = 0;  ///< calls of this client
  std::string node;       ///< "host:port" that owns its slot now; empty if nobody does
};

}  // namespace slotwise
