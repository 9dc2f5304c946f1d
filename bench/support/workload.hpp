// What is asked of the servers: the same keys, values and mix for every side, made beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/deployment.hpp"

namespace slotwise::bench {

struct Operation {
  std::uint32_t key = 0;
  std::uint8_t node = 0;
  bool set = false;  ///< else GET
};

struct WorkloadOptions {
  std::size_t value_size = 64;
  /// Three characters. "{s}" puts all keys into one slot. Workloads with values of different sizes
  /// need different ones: they set each other's keys.
  std::string prefix = "key";
  bool one_node = false;  ///< only keys of the first node
};

/// 80 % GET and 20 % SET of keys of 16 bytes, all of which exist.
///
/// Thread rule: nothing changes after construction; any thread may read.
class Workload {
 public:
  /// Makes it and sets the keys.
  Workload(Deployment& deployment, const WorkloadOptions& options);

  static constexpr std::size_t operation_count = 8192;  ///< a power of two

  /// The i-th operation; they repeat.
  const Operation& operation(std::size_t i) const noexcept {
    return operations_[i % operation_count];
  }
  std::string_view key(const Operation& operation) const noexcept {
    return {keys_.data() + std::size_t{operation.key} * key_size, key_size};
  }
  const std::string& value() const noexcept { return value_; }

 private:
  static constexpr std::size_t key_size = 16;

  std::string keys_;  // one behind the other
  std::string value_;
  std::vector<Operation> operations_;
};

}  // namespace slotwise::bench
