#include "support/deployment.hpp"

#include <time.h>

#include <stdexcept>

#include <slotwise/slot.hpp>

namespace slotwise::bench {

Deployment::Deployment(bool tls)
    // A node that is out of breath on a busy machine must not be taken for dead.
    : cluster_({.primaries = static_cast<int>(node_count),
                .node_timeout = kit::milliseconds(30000),
                .tls = tls}),
      node_of_slot_(slot_count) {
  for (const auto& node : cluster_.nodes()) {
    addresses_.at(node.index) = node.address;
    for (const auto& range : node.slots) {
      for (int slot = range.first; slot <= range.last; ++slot) {
        node_of_slot_.at(static_cast<std::size_t>(slot)) = static_cast<std::uint8_t>(node.index);
      }
    }
  }
}

std::string Deployment::ca_file() const {
  return cluster_.ca() == nullptr ? std::string() : cluster_.ca()->ca_file().string();
}

std::string Deployment::benchmark_program() const {
  return (cluster_.binaries().server.parent_path() / "valkey-benchmark").string();
}

std::uint8_t Deployment::node_of(std::string_view key) const {
  return node_of_slot_[slot(key)];
}

void Deployment::fill(const std::vector<std::string_view>& keys, const std::string& value) {
  std::array<std::vector<std::vector<std::string>>, node_count> commands;
  for (const auto key : keys)
    commands.at(node_of(key)).push_back({"SET", std::string(key), value});
  for (std::size_t node = 0; node < node_count; ++node) {
    for (const auto& reply : cluster_.server(node).pipeline(commands.at(node))) {
      if (reply.is_error()) throw std::runtime_error(reply.to_string());
    }
  }
}

double Deployment::cpu_seconds() const {
  double sum = 0;
  for (std::size_t node = 0; node < node_count; ++node) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(cluster_.server(node).process().pid, &clock) != 0 ||
        clock_gettime(clock, &time) != 0) {
      throw std::runtime_error("cannot read a server's CPU time");
    }
    sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return sum;
}

}  // namespace slotwise::bench
