// A folder for one test, removed at its end.
#pragma once

#include <filesystem>
#include <string_view>

namespace slotwise::kit {

/// A new folder `slotwise-kit-...`, in memory where there is room.
///
/// Where: $TMPDIR if set; else /dev/shm if it has 1 GB free; else the system's temporary folder.
/// Cluster nodes write and sync their nodes.conf at every change, which on a busy disk makes a test
/// of seconds one of minutes.
///
/// Removed by the destructor, and kept (its path is printed to stderr) when the environment has
/// SLOTWISE_KEEP=1. A test that was killed cannot remove its folder, so each new TempDir also
/// removes folders whose maker is gone: the maker holds a lock that the kernel drops with it.
class TempDir {
 public:
  explicit TempDir(std::string_view label = "test");
  ~TempDir();
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  int lock_fd_ = -1;
  int owner_pid_ = 0;
};

}  // namespace slotwise::kit
