// What a request carries once something went wrong: the last error, the path it took, and its
// place among those that wait for their next attempt.
//
// Thread rule: the loop's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <slotwise/error.hpp>

#include "net/loop.hpp"
#include "routing/request.hpp"

namespace slotwise::routing {

class Dispatcher;

struct Trouble {
  Trouble(Dispatcher& d, Request& r) noexcept : dispatcher(d), request(r) {}
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;

  Dispatcher& dispatcher;
  Request& request;
  net::Timer timer{&Trouble::wake, this};
  std::optional<Error> last;
  std::string unreachable;  // the last node that could not be connected, with the reason
  std::string path;         // "a:1 MOVED -> b:2 CLUSTERDOWN -> ..."
  int pauses = 0;
  bool wakes_on_map = false;  // a new map may change where it goes
  bool waiting = false;
  Trouble* next = nullptr;  // the list of those that wait
  Trouble* previous = nullptr;

  static void wake(void* self);
};

/// The requests that wait, in the order in which they began to. Loop thread.
class WaitingRoom {
 public:
  void add(Trouble& t) noexcept {
    t.waiting = true;
    t.next = nullptr;
    t.previous = tail_;
    (tail_ != nullptr ? tail_->next : head_) = &t;
    tail_ = &t;
  }
  void remove(Trouble& t) noexcept {
    if (!t.waiting) return;
    t.waiting = false;
    (t.previous != nullptr ? t.previous->next : head_) = t.next;
    (t.next != nullptr ? t.next->previous : tail_) = t.previous;
  }
  Trouble* head() const noexcept { return head_; }

 private:
  Trouble* head_ = nullptr;
  Trouble* tail_ = nullptr;
};

}  // namespace slotwise::routing
