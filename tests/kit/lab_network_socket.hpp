// One line there and one line back over a socket file. Not for users: see LabNetwork.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace slotwise::kit {

/// The address of a socket file in a folder, however long that folder's path is: the kernel takes
/// 107 characters, so the folder is named by a descriptor.
class SocketFile {
 public:
  SocketFile(const std::filesystem::path& dir, const std::string& name);
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  const ::sockaddr* data() const noexcept { return reinterpret_cast<const ::sockaddr*>(&address_); }
  ::socklen_t size() const noexcept { return sizeof address_; }

 private:
  int dir_fd_;
  ::sockaddr_un address_{};
};

/// Without the end of line; what came so far when the limit passes or the other side ends.
std::string read_line(int fd, std::chrono::milliseconds limit);
void write_line(int fd, std::string line);

}  // namespace slotwise::kit
