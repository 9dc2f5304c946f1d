#include "kit/temp_dir.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "slotwise-kit-";

fs::path parent_folder() {
  const char* set = std::getenv("TMPDIR");
  std::error_code error;
  const fs::path memory = "/dev/shm";
  if ((set == nullptr || *set == '\0') && ::access(memory.c_str(), W_OK | X_OK) == 0) {
    const auto space = fs::space(memory, error);
    if (!error && space.available >= 1U << 30) return memory;
  }
  return fs::temp_directory_path();
}

int open_owner_file(const fs::path& dir, int flags) {
  return ::open((dir / ".owner").c_str(), flags | O_CLOEXEC, 0600);
}

bool should_keep() {
  const char* keep = std::getenv("SLOTWISE_KEEP");
  return keep != nullptr && *keep != '\0' && std::strcmp(keep, "0") != 0;
}

void remove_if_abandoned(const fs::path& dir) {
  std::error_code ignored;
  // A folder is locked shortly after it is made; young ones may be in between.
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(dir, ignored);
  if (ignored || age < std::chrono::minutes(1) || fs::exists(dir / ".keep", ignored)) return;
  const int fd = open_owner_file(dir, O_RDWR);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(dir, ignored);
  ::close(fd);
}

void sweep_abandoned() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent_folder(), ignored)) {
    if (entry.path().filename().string().starts_with(prefix) && entry.is_directory(ignored)) {
      remove_if_abandoned(entry.path());
    }
  }
}

}  // namespace

TempDir::TempDir(std::string_view label) : owner_pid_(::getpid()) {
  static std::once_flag swept;
  std::call_once(swept, sweep_abandoned);

  std::string name =
      (parent_folder() / fmt::format("{}{}-{}-XXXXXX", prefix, label, ::getpid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("cannot make {}: {}", name, std::strerror(errno)));
  }
  path_ = name;
  lock_fd_ = open_owner_file(path_, O_RDWR | O_CREAT);
  if (lock_fd_ >= 0) ::flock(lock_fd_, LOCK_EX | LOCK_NB);
}

TempDir::TempDir(TempDir&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      owner_pid_(other.owner_pid_) {}

TempDir::~TempDir() {
  if (path_.empty()) return;
  if (owner_pid_ == ::getpid()) {
    if (should_keep()) {
      std::ofstream(path_ / ".keep").put('\n');
      std::fprintf(stderr, "kept %s\n", path_.c_str());
    } else {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    }
  }
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

}  // namespace slotwise::kit
