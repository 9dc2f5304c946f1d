// How long a client works on a new map.
#pragma once

#include <cstddef>
#include <string_view>

namespace slotwise::bench {

/// Prints the milliseconds of processor time between the question for a map and its use, of the
/// quickest of `rounds` and of the median; for serve_large_map, where every answer is another map.
int print_refresh_time(std::string_view uri, std::size_t rounds);

}  // namespace slotwise::bench
