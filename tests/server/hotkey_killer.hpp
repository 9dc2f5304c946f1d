// Connections that break while a test uses them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kit/cluster.hpp"

namespace slotwise::test {

/// Kills a random connection of the clients of this name at a random node, again and again, at
/// random moments.
class Killer {
 public:
  Killer(kit::Cluster& cluster, const std::string& client_name)
      : cluster_(cluster), mark_(" name=" + client_name + " "), thread_([this] { run(); }) {}
  ~Killer() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int killed() const { return killed_; }

 private:
  void run() {
    std::mt19937 random(std::random_device{}());
    while (!stop_) {
      const auto nodes = cluster_.primaries();
      kit::Server& server = cluster_.server(nodes[random() % nodes.size()]);
      std::vector<std::string> ids;
      const std::string list(server.command("CLIENT", "LIST").text);
      for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = (std::min)(list.find('\n', at), list.size());
        const std::string line = list.substr(at, end - at);
        if (line.find(mark_) != std::string::npos) {
          ids.push_back(line.substr(3, line.find(' ') - 3));
        }
        at = end + 1;
      }
      if (!ids.empty()) {
        server.command("CLIENT", "KILL", "ID", ids[random() % ids.size()]);
        ++killed_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    }
  }

  kit::Cluster& cluster_;
  const std::string mark_;
  std::atomic<bool> stop_{false};
  std::atomic<int> killed_{0};
  std::thread thread_;
};

}  // namespace slotwise::test
