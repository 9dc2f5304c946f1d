#include "support/workload.hpp"

#include <fmt/format.h>

#include <random>

namespace slotwise::bench {

namespace {

constexpr std::size_t key_count = 4096;

}  // namespace

Workload::Workload(Deployment& deployment, const WorkloadOptions& options)
    : value_(options.value_size, 'v') {
  std::vector<std::uint8_t> nodes;
  for (std::size_t number = 0; nodes.size() < key_count; ++number) {
    const std::string name = fmt::format("{}:{:012}", options.prefix, number);
    const auto node = deployment.node_of(name);
    if (options.one_node && node != 0) continue;
    keys_ += name;
    nodes.push_back(node);
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < key_count; ++i)
    names.emplace_back(keys_.data() + i * key_size, key_size);
  deployment.fill(names, value_);

  std::mt19937 random(20260000);  // NOLINT: the same operations in every run, on purpose
  for (std::size_t i = 0; i < operation_count; ++i) {
    const auto key = static_cast<std::uint32_t>(random() % key_count);
    operations_.push_back({.key = key, .node = nodes[key], .set = random() % 5 == 0});
  }
}

}  // namespace slotwise::bench
