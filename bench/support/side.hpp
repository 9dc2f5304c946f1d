// One client in a comparison, and what is counted while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slotwise::bench {

/// Latencies of some of the operations: reading a clock may cost more than an operation in a deep
/// window. One in `every` is timed, the same for all sides of a shape.
class Latencies {
 public:
  explicit Latencies(unsigned every) : every_(every) {}

  /// True if the operation that starts now is to be timed.
  bool due() noexcept {
    if (++since_ < every_) return false;
    since_ = 0;
    return true;
  }
  void add(double microseconds) { microseconds_.push_back(static_cast<float>(microseconds)); }
  void add(const Latencies& other) {
    microseconds_.insert(microseconds_.end(), other.microseconds_.begin(),
                         other.microseconds_.end());
  }
  std::vector<float>& microseconds() noexcept { return microseconds_; }

 private:
  unsigned every_;
  unsigned since_ = 0;
  std::vector<float> microseconds_;
};

/// Of one run.
struct Counts {
  std::uint64_t operations = 0;  ///< whose replies came, and were right in kind
  double seconds = 0;            ///< from the first call to the last reply
  double p50_us = 0;             ///< 0: not measured
  double p99_us = 0;
};

/// A client, connected and ready. One run after another, from one thread.
class Side {
 public:
  Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  virtual ~Side() = default;

  /// Offers load for about so long and waits for all replies. Throws if one is missing, an error,
  /// or of another kind than asked for: a run with such a reply says nothing about speed.
  virtual Counts run(double seconds) = 0;

  /// From now on so many operations a second are offered, whatever the replies do, and a latency
  /// counts from the moment at which its operation was due. 0: as fast as replies come.
  virtual void set_rate(double operations_per_second);

  /// The client runs in a process of its own, a child of this one.
  virtual bool is_child_process() const { return false; }
};

}  // namespace slotwise::bench
