// A share of one processor for some processes, by a control group (version 1 or 2).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace slotwise::bench {

/// Takes the limit away when it is destroyed; by then the processes must have ended.
class CpuLimit {
 public:
  /// Null where no control group can be written; `why` then says so.
  static std::unique_ptr<CpuLimit> make(const std::vector<int>& processes, double processors,
                                        std::string& why);
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

 private:
  CpuLimit() = default;
  std::vector<std::filesystem::path> groups_;  // one for each process
};

}  // namespace slotwise::bench
