// One c-ares channel driven by the loop. Thread rule: loop thread. Only resolver.cpp uses it.
//
// c-ares calls back from inside its own functions; the callback given to ask() must therefore
// only take notes. The channel may not be destroyed from there.
#pragma once

#include <ares.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "net/error.hpp"
#include "net/loop.hpp"

namespace slotwise::net {

struct channel_settings {
  const char* lookups = "b";  // "f": hosts file, "b": DNS
  std::string servers{};      // "ip:port,[ip6]:port"; empty: the system's
  int try_timeout_ms = 0;
  int tries = 0;
};

class AresChannel {
 public:
  static std::unique_ptr<AresChannel> make(Loop& loop, const channel_settings& settings,
                                           error& err);
  ~AresChannel();  // pending questions are called back with ARES_EDESTRUCTION
  AresChannel(const AresChannel&) = delete;
  AresChannel& operator=(const AresChannel&) = delete;

  // May call back before it returns.
  void ask(const char* name, int family, ::ares_addrinfo_callback callback, void* argument);

  std::size_t pending() const noexcept { return pending_; }

 private:
  struct SocketWatcher final : Watcher {
    explicit SocketWatcher(AresChannel& o) noexcept : owner(o) {}
    void on_events(std::uint32_t events) override;
    AresChannel& owner;
    ::ares_socket_t fd = ARES_SOCKET_BAD;
  };
  struct Question;

  explicit AresChannel(Loop& loop) noexcept : loop_(loop) {}
  int open(const channel_settings& settings, int flags);
  int server_count() const;
  static void on_socket_state(void* self, ::ares_socket_t fd, int readable, int writable);
  static void on_answer(void* question, int status, int timeouts, ::ares_addrinfo* info);
  void watch(::ares_socket_t fd, std::uint32_t interest);
  void process(::ares_socket_t readable, ::ares_socket_t writable);
  void on_timer();
  void arm_timer();

  Loop& loop_;
  ::ares_channel channel_ = nullptr;
  std::vector<std::unique_ptr<SocketWatcher>> watchers_;  // unused ones have fd ARES_SOCKET_BAD
  Timer timer_ = Timer::calling<&AresChannel::on_timer>(this);
  std::size_t pending_ = 0;
};

// Why a question had no answer, in words.
const char* ares_status_text(int status) noexcept;

}  // namespace slotwise::net
