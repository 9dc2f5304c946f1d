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
class WaitingRoom;

struct Trouble {
  Trouble(Dispatcher& d, Request& r) noexcept : dispatcher(d), request(r) {}
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;

  Dispatcher& dispatcher;
  Request& request;
  net::Timer timer{&Trouble::wake, this};
  std::optional<Error> last;
  std::string unreachable;  // the last node that could not be connected, with the reason
  int pauses = 0;
  bool wakes_on_map = false;    // a new map may change where it goes
  bool paused = false;          // it waits, or waited, because something did not work
  bool costs_budget = false;    // the attempt under way took from the retry budget
  WaitingRoom* room = nullptr;  // where it waits
  Trouble* next = nullptr;      // in that room
  Trouble* previous = nullptr;

  static void wake(void* self);

  /// One attempt more has ended so: "a:1 MOVED".
  void add_step(std::string step);
  /// "a:1 MOVED -> b:2 connect_failed (12 times) -> ..."; empty if there was none.
  std::string path() const;

 private:
  std::string earlier_steps_;
  std::string step_;
  int times_ = 0;  // in a row
};

/// Requests that wait, in the order in which they began to. Loop thread.
class WaitingRoom {
 public:
  void add(Trouble& t) noexcept {
    t.room = this;
    t.next = nullptr;
    t.previous = tail_;
    (tail_ != nullptr ? tail_->next : head_) = &t;
    tail_ = &t;
  }
  static void remove(Trouble& t) noexcept {
    if (t.room != nullptr) t.room->take_out(t);
  }
  Trouble* head() const noexcept { return head_; }

 private:
  void take_out(Trouble& t) noexcept {
    t.room = nullptr;
    (t.previous != nullptr ? t.previous->next : head_) = t.next;
    (t.next != nullptr ? t.next->previous : tail_) = t.previous;
  }

  Trouble* head_ = nullptr;
  Trouble* tail_ = nullptr;
};

}  // namespace slotwise::routing
