// The servers, in a process of their own: outside valgrind, and not in the counts.
#pragma once

#include <cstddef>

namespace slotwise::bench {

/// A real cluster with three primaries. Prints its URI and serves until stdin ends.
int serve_cluster();
/// The same with scripted nodes, of which a machine can have hundreds. A GET is answered with 64
/// bytes, one of a key that begins with "silent" not at all.
int serve_scripted(std::size_t nodes);
/// One scripted node that tells of a cluster of so many nodes, half of them replicas, where each
/// range has so many slots; in every answer each tenth range has another owner.
int serve_large_map(std::size_t nodes, std::size_t slots_of_range);

}  // namespace slotwise::bench
