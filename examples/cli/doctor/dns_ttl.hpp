// How long DNS answers may be kept.
//
// Thread rule: use it from one thread at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/doctor/facts.hpp"

namespace slotwise::cli {

/// Asks DNS for the addresses (A and AAAA) of all names at once, and gives the shortest TTL of
/// each. `servers` ("ip" or "ip:port") are asked instead of the system's. A resolver that caches
/// gives what is left of the TTL.
std::vector<NameFacts> look_up(const std::vector<std::string>& names,
                               const std::vector<std::string>& servers,
                               std::chrono::milliseconds limit);

}  // namespace slotwise::cli
