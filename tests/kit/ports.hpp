// Free ports and own loopback networks, without races between tests that run in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace slotwise::kit {

/// A TCP port that no other process using the kit will take while this object lives.
///
/// A bind probe alone is a race: two tests find the same port free before either server binds it,
/// and a port of a killed server looks free although its test will start it again. So a port is
/// held by flock on a file of its own in a folder shared by all tests of this user; the kernel
/// drops the lock with the process. On top of the lock the port is probed on all addresses,
/// against programs that know nothing of the kit. Ports lie below the kernel's range for outgoing
/// connections, so that none of those can sit on a port whose server is down for a moment.
class Port {
 public:
  Port() = default;
  Port(Port&& other) noexcept;
  Port& operator=(Port&& other) noexcept;
  ~Port();

  std::uint16_t number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ != 0; }

  /// Somewhere in the range of tests (12000 and up) or of labs (10000-11999). A lab's ports are
  /// held only while its command runs; the separate range keeps tests off them afterwards.
  static Port reserve();
  static Port reserve_for_lab();
  /// This very one; an empty Port if somebody else holds it. Used when a lab is taken up again.
  static Port try_reserve(std::uint16_t number);

 private:
  Port(std::uint16_t number, int lock_fd) : number_(number), lock_fd_(lock_fd) {}

  std::uint16_t number_ = 0;
  int lock_fd_ = -1;
};

/// A /24 of loopback that no other process using the kit will take: 127.A.B.1 to 127.A.B.254.
/// Gives nodes addresses of their own, so that "restart on another address" means an address.
class LoopbackNet {
 public:
  LoopbackNet() = default;
  LoopbackNet(LoopbackNet&& other) noexcept;
  LoopbackNet& operator=(LoopbackNet&& other) noexcept;
  ~LoopbackNet();

  static LoopbackNet reserve();
  /// Takes up a net by its prefix ("127.3.7."); not checked against other holders.
  static LoopbackNet of(std::string prefix);

  explicit operator bool() const noexcept { return !prefix_.empty(); }
  /// "127.3.7."
  const std::string& prefix() const noexcept { return prefix_; }
  /// n in 1..254
  std::string address(int n) const;
  /// One that this object has not given yet.
  std::string next();
  void skip_to(int n) noexcept { last_ = n; }

 private:
  std::string prefix_;
  int lock_fd_ = -1;
  int last_ = 0;
};

}  // namespace slotwise::kit
