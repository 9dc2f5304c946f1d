#include "hotkey/cpu_limit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

namespace slotwise::bench {

namespace {

namespace fs = std::filesystem;

// Short, so that a server is stopped often and briefly rather than for 75 ms at a time.
constexpr int period_us = 20'000;

struct Controller {
  fs::path root;
  bool version_2 = false;
};

bool write_line(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << '\n' << std::flush;
  return static_cast<bool>(out);
}

std::string read_all(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

bool has_word(const std::string& text, const std::string& word, char separator) {
  std::istringstream words(text);
  for (std::string w; std::getline(words, w, separator);) {
    while (!w.empty() && w.back() == '\n')
      w.pop_back();
    if (w == word) return true;
  }
  return false;
}

/// Where processor time is shared out on this machine.
std::optional<Controller> find_controller() {
  std::ifstream mounts("/proc/mounts");
  std::optional<Controller> found;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string root;
    std::string type;
    std::string options;
    words >> device >> root >> type >> options;
    if (type == "cgroup" && has_word(options, "cpu", ',')) return Controller{root, false};
    if (type == "cgroup2" &&
        has_word(read_all(fs::path(root) / "cgroup.controllers"), "cpu", ' ')) {
      found = Controller{root, true};
    }
  }
  return found;
}

bool limit(const Controller& controller, const fs::path& group, double processors) {
  const int quota = static_cast<int>(period_us * processors);
  if (controller.version_2) {
    write_line(controller.root / "cgroup.subtree_control", "+cpu");
    return write_line(group / "cpu.max", fmt::format("{} {}", quota, period_us));
  }
  return write_line(group / "cpu.cfs_period_us", std::to_string(period_us)) &&
         write_line(group / "cpu.cfs_quota_us", std::to_string(quota));
}

}  // namespace

std::unique_ptr<CpuLimit> CpuLimit::make(const std::vector<int>& processes, double processors,
                                         std::string& why) {
  const auto controller = find_controller();
  if (!controller) {
    why = "this machine has no control group for processor time";
    return nullptr;
  }
  auto made = std::unique_ptr<CpuLimit>(new CpuLimit());
  for (const int process : processes) {
    fs::path group = controller->root / fmt::format("slotwise-bench-{}", process);
    std::error_code error;
    fs::create_directory(group, error);
    if (error) {
      why = fmt::format("cannot make {}: {}", group.string(), error.message());
      return nullptr;
    }
    made->groups_.push_back(group);
    if (!limit(*controller, group, processors) ||
        !write_line(group / "cgroup.procs", std::to_string(process))) {
      why = fmt::format("cannot write the limits of {}", group.string());
      return nullptr;
    }
  }
  return made;
}

CpuLimit::~CpuLimit() {
  for (const fs::path& group : groups_) {
    // The kernel lets a group go a moment after its last process.
    for (int i = 0; i < 200 && ::rmdir(group.c_str()) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace slotwise::bench
