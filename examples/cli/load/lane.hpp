// One call after the other: the unit that a load is made of.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include <slotwise/client.hpp>

#include "cli/load/load.hpp"

namespace slotwise::cli {

/// Thread rule: one thread at a time drives a lane; which one may change from call to call.
class Load::Lane {
 public:
  Lane(Load& load, int number);

  /// Makes the next command; false when the load ends, and then the lane has ended.
  bool prepare();
  std::span<const std::string_view> words() const noexcept { return {words_.data(), word_count_}; }
  /// Counts the result. False: it was an error that came at once, so pause.
  bool completed(const Result<Reply>& result);

  /// Asynchronous: makes calls until one does not complete at once; its callback drives on.
  void drive();

 private:
  /// Who goes on after a call, the loop in drive() or the callback? Whichever is second. Without
  /// this a call that completes at once would recurse, call by call, until the stack is full.
  enum class Turn : std::uint8_t { calling, completed, left };

  std::uint64_t random() noexcept;

  Load& load_;
  const Async async_;
  std::uint64_t random_state_;
  std::array<char, 64> key_{};
  std::array<std::string_view, 3> words_;
  std::size_t word_count_ = 0;
  std::uint16_t slot_ = 0;
  std::chrono::steady_clock::time_point sent_{};
  bool pause_ = false;
  std::atomic<Turn> turn_{Turn::calling};
};

}  // namespace slotwise::cli
