// Asks the nodes of a deployment what the doctor wants to know. Changes nothing.
//
// Thread rule: use it from one thread.
#pragma once

#include <chrono>

#include <slotwise/client.hpp>

#include "cli/doctor/facts.hpp"

namespace slotwise::cli {

/// Waits for each node for `limit` at most, for all of them at once. What a node does not tell is
/// itself a fact. `config` is what the client was made from.
Facts gather(const Client& client, const Config& config, std::chrono::milliseconds limit);

/// The same for a URI of sentinels: asks each of them, and the primary and the replicas that they
/// name, by clients of its own.
Facts gather_by_sentinels(const Config& config, std::chrono::milliseconds limit);

}  // namespace slotwise::cli
