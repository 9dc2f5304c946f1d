// The one table of what is compared with what, and of the bars.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/sides.hpp"

namespace slotwise::bench {

/// The servers and workloads that shapes run on, each made when it is first asked for.
class Bed {
 public:
  const Deployment& plain() { return deployment(plain_, false); }
  const Deployment& tls() { return deployment(tls_, true); }
  const Workload& small() { return workload(small_, plain_, {}); }
  const Workload& one_slot() { return workload(one_slot_, plain_, {.prefix = "{s}"}); }
  const Workload& one_node() { return workload(one_node_, plain_, {.one_node = true}); }
  const Workload& kilobyte() {
    return workload(kilobyte_, plain_, {.value_size = 1024, .prefix = "1kb"});
  }
  const Workload& small_tls() {
    tls();
    return workload(small_tls_, tls_, {});
  }

 private:
  static Deployment& deployment(std::unique_ptr<Deployment>& place, bool with_tls);
  const Workload& workload(std::unique_ptr<Workload>& place, std::unique_ptr<Deployment>& servers,
                           const WorkloadOptions& options);

  std::unique_ptr<Deployment> plain_;
  std::unique_ptr<Deployment> tls_;
  std::unique_ptr<Workload> small_;
  std::unique_ptr<Workload> one_slot_;
  std::unique_ptr<Workload> one_node_;
  std::unique_ptr<Workload> kilobyte_;
  std::unique_ptr<Workload> small_tls_;
};

using MakeSide = std::function<SidePtr(Bed&)>;

struct Rival {
  std::string name;
  double bar = 0;  ///< the least ratio ours / theirs; 0: reported only
  MakeSide make;
};

struct Shape {
  std::string name;   ///< for --shape
  std::string title;  ///< in tables
  MakeSide ours;
  std::vector<Rival> rivals;
  bool tls = false;
  double megabytes = 0;  ///< of one operation, where MB/s says more than operations
  /// Offers all sides half of what the slowest can, and compares p99 (so that above 1 is better
  /// for us, as everywhere).
  bool half_rate = false;
};

const std::vector<Shape>& shapes();

}  // namespace slotwise::bench
