// What a Cluster keeps of each node. Not for tests.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "kit/cluster.hpp"

namespace slotwise::kit {

struct Cluster::Node {
  std::string name;      // fixed once made, like all but the atomics and the id
  std::string hostname;  // announced; may be empty
  Port port;             // held with a port of its own, see Cluster::common_port_ else
  Port bus_port;
  std::uint16_t bus_number = 0;
  Port proxy_port;
  std::uint16_t proxy_number = 0;     // 0: no proxy
  std::unique_ptr<FaultProxy> proxy;  // null: no proxy, or it runs elsewhere
  std::unique_ptr<Server> server;
  std::atomic<bool> removed{false};

  std::mutex id_mutex;
  std::string id;  // guarded by id_mutex; empty until asked for
};

}  // namespace slotwise::kit
