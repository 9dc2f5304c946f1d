// What the client counts. Thread rule: add() by the loop's thread only (or with add_shared() by
// any); read() from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace slotwise::observe {

/// Written by one thread, read by any: no locked instruction.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Written by any thread.
class SharedCounter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// All counters of one client, written on its loop's thread unless the name says otherwise.
struct Counters {
  Counter succeeded;
  Counter failed;
  Counter moved;
  Counter asked;
  Counter retries;
  Counter refreshes;
  Counter connects;
  Counter connect_failures;
  Counter disconnects;
};

}  // namespace slotwise::observe
