// The shapes of load whose cost is counted: N operations of one kind through the public client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/slotwise.hpp>

namespace slotwise::bench {

/// What a shape works on: 16-byte keys over all slots, 64-byte values. Made once, so that the
/// loops that are measured format nothing.
struct Data {
  std::vector<std::string> keys;
  std::string value;
  std::uint64_t in_flight = 1;  ///< of the asynchronous shapes
};

struct Shape {
  std::string_view name;
  /// Runs that many operations and returns when all are done. Throws Error, or std::runtime_error
  /// for a wrong value.
  void (*run)(Client& client, const Data& data, std::uint64_t operations);
  std::uint64_t in_flight = 1;  ///< unless the caller wants another number
  bool needs_keys = true;
};

/// All shapes, in the order in which they are shown.
const std::vector<Shape>& shapes();
const Shape* find_shape(std::string_view name);

/// Keys "key:000000000123", each of them written.
Data make_data(Client& client, std::size_t key_count);

}  // namespace slotwise::bench
