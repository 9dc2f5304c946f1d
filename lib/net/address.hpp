// An IP address with a port, as the kernel takes it. Value type, any thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slotwise::net {

class address {
 public:
  address() noexcept : any_{} {}

  // Takes what the kernel or the resolver gives; std::nullopt for a family other than IP.
  static std::optional<address> from(const ::sockaddr* sa, ::socklen_t size) noexcept;

  // An IP literal: "127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "fe80::1%2". Not a name.
  static std::optional<address> parse(std::string_view literal, std::uint16_t port);

  const ::sockaddr* data() const noexcept { return &any_.sa; }
  ::socklen_t size() const noexcept;
  int family() const noexcept { return any_.sa.sa_family; }  // AF_INET, AF_INET6; 0: none
  bool empty() const noexcept { return family() == AF_UNSPEC; }
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;

  std::string ip() const;         // "127.0.0.1", "::1", "fe80::1%2"
  std::string to_string() const;  // "127.0.0.1:6379", "[::1]:6379"

  // Same ip, port and scope.
  friend bool operator==(const address& a, const address& b) noexcept;

 private:
  union any {
    ::sockaddr sa;
    ::sockaddr_in v4;
    ::sockaddr_in6 v6;
  };
  any any_;
};

// "host:port", with brackets around an IPv6 literal.
std::string host_port(std::string_view host, std::uint16_t port);

}  // namespace slotwise::net
