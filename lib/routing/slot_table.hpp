// Slot -> node, as the hot path reads it.
//
// Thread rule: get() from any thread; set() and set_all() by the loop's thread. One load, no
// version, no count: nodes live as long as the client (see node.hpp), so a pointer read here is
// always valid. A slot that is changed under a reader's feet sends one command to the old owner,
// which answers MOVED.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <slotwise/slot.hpp>

namespace slotwise::routing {

class Node;

class SlotTable {
 public:
  Node* get(std::uint16_t slot) const noexcept {
    return owners_[slot].load(std::memory_order_acquire);
  }
  void set(std::uint16_t slot, Node* node) noexcept {
    if (owners_[slot].load(std::memory_order_relaxed) != node) {
      owners_[slot].store(node, std::memory_order_release);
    }
  }
  void set_all(Node* node) noexcept {
    for (int slot = 0; slot < slot_count; ++slot)
      set(static_cast<std::uint16_t>(slot), node);
  }

 private:
  std::array<std::atomic<Node*>, slot_count> owners_{};
};

}  // namespace slotwise::routing
