// What the doctor has to say.
//
// Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slotwise::cli {

enum class Level : std::uint8_t {
  ok,       ///< looked at, and good
  note,     ///< worth knowing; or could not be looked at
  warning,  ///< a failure will hurt more than it has to
  problem,  ///< something is broken, or the next failure will break it
};

struct Finding {
  Level level = Level::ok;
  std::string check;   ///< which check says it: "replicas"
  std::string what;    ///< what was seen
  std::string why;     ///< why it matters; empty for ok
  std::string action;  ///< what to do; empty for ok
};

/// Collects what one check after the other says.
class Findings {
 public:
  void ok(std::string check, std::string what) {
    all_.push_back({Level::ok, std::move(check), std::move(what), {}, {}});
  }
  void add(Level level, std::string check, std::string what, std::string why, std::string action) {
    all_.push_back({level, std::move(check), std::move(what), std::move(why), std::move(action)});
  }
  const std::vector<Finding>& all() const noexcept { return all_; }
  std::size_t count(Level level) const noexcept {
    std::size_t n = 0;
    for (const Finding& f : all_)
      n += f.level == level ? 1 : 0;
    return n;
  }
  /// Problems or warnings.
  bool trouble() const noexcept { return count(Level::problem) + count(Level::warning) > 0; }

 private:
  std::vector<Finding> all_;
};

}  // namespace slotwise::cli
