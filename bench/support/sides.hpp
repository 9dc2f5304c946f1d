// The clients that are compared. Each takes the deployment and the workload by reference, so both
// must live longer.
#pragma once

#include <cstddef>
#include <memory>

#include "support/deployment.hpp"
#include "support/side.hpp"
#include "support/workload.hpp"

namespace slotwise::bench {

using SidePtr = std::unique_ptr<Side>;

// --- slotwise, used as an application uses it ------------------------------------------------

/// So many threads, one shared Client; each call blocks.
SidePtr slotwise_sync(const Deployment& deployment, const Workload& workload, int threads);
/// So many calls in flight; each completion starts the next from its callback.
SidePtr slotwise_async(const Deployment& deployment, const Workload& workload,
                       std::size_t in_flight);
/// So many coroutines, each of which awaits one call after another.
SidePtr slotwise_coroutines(const Deployment& deployment, const Workload& workload,
                            std::size_t coroutines);
SidePtr slotwise_pipeline(const Deployment& deployment, const Workload& workload,
                          std::size_t commands);
enum class Large { get, set };
/// One thread, one key with a value of so many bytes.
SidePtr slotwise_large(const Deployment& deployment, Large what, std::size_t value_size);

// --- baselines ---------------------------------------------------------------------------------

/// Raw hiredis, blocking: each thread has a connection of its own to each node.
SidePtr hiredis_sync(const Deployment& deployment, const Workload& workload, int threads);
SidePtr hiredis_pipeline(const Deployment& deployment, const Workload& workload,
                         std::size_t commands);
SidePtr hiredis_large(const Deployment& deployment, Large what, std::size_t value_size);
/// Raw hiredis async on libev's epoll, one connection a node, no cluster logic.
SidePtr hiredis_async(const Deployment& deployment, const Workload& workload,
                      std::size_t in_flight);
/// What the machine allows: prepared bytes out, replies skipped, one connection a node.
SidePtr floor_async(const Deployment& deployment, const Workload& workload, std::size_t in_flight);
/// `valkey-benchmark --cluster`, one connection a node, so deep pipelines that as many are in
/// flight. Its keys are its own, the mix and the sizes are the workload's.
SidePtr valkey_benchmark(const Deployment& deployment, const Workload& workload,
                         std::size_t in_flight);

// How many operations share one look at the clock, for all sides of a kind.
inline constexpr unsigned time_every_sync = 8;
inline constexpr unsigned time_every_async = 64;
inline constexpr unsigned time_every_paced = 16;

}  // namespace slotwise::bench
