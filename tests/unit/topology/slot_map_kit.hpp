// A small cluster for the tests of SlotMap.
#pragma once

#include <cstdint>
#include <string>

#include "topology/slot_map.hpp"
#include "view_kit.hpp"

namespace slotwise::topology::testing {

inline constexpr int foo = 12182;
inline const FakeNode a{"127.0.0.1", 7000, id('a'), ""};
inline const FakeNode b{"127.0.0.1", 7001, id('b'), ""};
inline const FakeNode c{"127.0.0.1", 7002, id('c'), ""};
inline const FakeNode d{"127.0.0.1", 7003, id('d'), ""};
inline const Endpoint at_b{"127.0.0.1", 7001};
inline const Endpoint at_d{"127.0.0.1", 7003};

inline ClusterView three(std::uint64_t ea, std::uint64_t eb, std::uint64_t ec) {
  return view_of({{0, 5460, {a}}, {5461, 10922, {b}}, {10923, 16383, {c}}},
                 {{a, ea}, {b, eb}, {c, ec}});
}
inline ClusterView all_at(const FakeNode& node) {
  return view_of({{0, 16383, {node}}});
}

inline std::string owner(const SlotMap& map, int slot) {
  const MapNode* node = map.current()->owner(static_cast<std::uint16_t>(slot));
  return node == nullptr ? "nobody" : node->info.endpoint.to_string();
}
inline NodeHandle handle(const SlotMap& map, char digit) {
  const MapNode* node = map.current()->find_by_id(id(digit));
  return node == nullptr ? no_node : node->handle;
}

}  // namespace slotwise::topology::testing
