// What the doctor looks at: each check reads the picture and says what it found. No check asks a
// server anything.
//
// Thread rule: pure functions.
#pragma once

#include "cli/doctor/finding.hpp"
#include "cli/doctor/picture.hpp"

namespace slotwise::cli {

/// All of them, in the order in which a reader wants them.
Findings examine(const Facts& facts);

// checks_nodes.cpp: is everybody there?
void check_reach(const Picture& picture, Findings& findings);
void check_slots(const Picture& picture, Findings& findings);
void check_bus(const Picture& picture, Findings& findings);
void check_seeds(const Picture& picture, Findings& findings);
void check_unknown(const Picture& picture, Findings& findings);
void check_versions(const Picture& picture, Findings& findings);

// checks_failover.cpp: who takes over when somebody dies?
void check_replicas(const Picture& picture, Findings& findings);
void check_votes(const Picture& picture, Findings& findings);
void check_placement(const Picture& picture, Findings& findings);
void check_full_coverage(const Picture& picture, Findings& findings);
void check_node_timeout(const Picture& picture, Findings& findings);
void check_names(const Picture& picture, Findings& findings);

// checks_sentinel.cpp: would sentinels see it, and agree?
void check_sentinels(const Picture& picture, Findings& findings);

// checks_data.cpp: what becomes of the data?
void check_persistence(const Picture& picture, Findings& findings);
void check_memory(const Picture& picture, Findings& findings);
void check_balance(const Picture& picture, Findings& findings);

/// cluster-node-timeout of the primaries in milliseconds, the longest; 0 if it is not known.
std::uint64_t node_timeout_ms(const Picture& picture);
/// How long a restart of the fullest primary is thought to take.
double restart_seconds(const Picture& picture);

}  // namespace slotwise::cli
