// A DNS server on a loopback UDP port that answers what the test says.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support.hpp"

namespace net_test {

struct dns_answer {
  std::vector<std::string> ips{};  // of the family that was asked for
  int rcode = 0;                   // 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED
  bool silent = false;
  std::chrono::milliseconds delay{0};
};

class DnsServer {
 public:
  DnsServer();
  ~DnsServer();

  std::string address() const;  // "127.0.0.1:port"
  // One name, both families; a name that was never set is NXDOMAIN.
  void set(const std::string& name, dns_answer a, dns_answer aaaa = {});
  int questions(const std::string& name) const;  // A and AAAA both count

 private:
  struct record {
    dns_answer a;
    dns_answer aaaa;
    int questions = 0;
  };
  void run();
  void answer(const std::string& query, const ::sockaddr_in& from);

  net::Socket socket_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, record> records_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace net_test
