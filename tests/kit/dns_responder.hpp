// A DNS server on a loopback UDP port that answers what the test says.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kit/connection.hpp"
#include "kit/sockets.hpp"

namespace slotwise::kit {

enum class DnsCode : std::uint8_t { ok = 0, servfail = 2, nxdomain = 3, refused = 5 };

/// What one name answers for one type of record. Default: NOERROR with no record at all.
struct DnsAnswer {
  std::vector<std::string> ips{};  ///< of the family that is asked for, in this order
  DnsCode code = DnsCode::ok;
  bool silent = false;  ///< no answer ever
  milliseconds delay{0};
  /// An hour by default: whoever caches where it should not will be found out.
  std::chrono::seconds ttl{3600};
};

/// Answers A and AAAA questions from a table that may change at any time; a name that is not in it
/// is NXDOMAIN, any other type of record of a known name an empty answer. Names are the same in
/// any case, with and without a dot at the end. An answer that is delayed holds up no other.
///
/// Thread rule: any thread may call; a change holds for all questions that arrive after it.
class DnsResponder {
 public:
  DnsResponder();
  ~DnsResponder();
  DnsResponder(const DnsResponder&) = delete;
  DnsResponder& operator=(const DnsResponder&) = delete;

  const Address& address() const noexcept { return address_; }

  /// The name's whole entry, both families. Throws kit::Error if an ip is not of its family.
  void set(std::string_view name, DnsAnswer a, DnsAnswer aaaa = {});
  void remove(std::string_view name);  ///< NXDOMAIN from now on
  DnsAnswer a(std::string_view name) const;
  DnsAnswer aaaa(std::string_view name) const;
  /// Questions for a name since the start, known or not; A and AAAA count as two.
  int questions(std::string_view name) const;
  int questions() const;  ///< all together

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    DnsAnswer a;
    DnsAnswer aaaa;
  };
  struct Letter {
    std::string bytes;
    ::sockaddr_in to{};
  };

  DnsAnswer look_up(const std::string& name, int type) const;
  void run();
  void answer(std::string_view query, const ::sockaddr_in& from);
  void send(const Letter& letter) const;
  int send_due();

  int fd_ = -1;
  Address address_;  // fixed after construction
  WakeUp wake_;
  std::multimap<Clock::time_point, Letter> delayed_;  // of the thread alone

  mutable std::mutex mutex_;
  bool stopping_ = false;                 // guarded by mutex_
  std::map<std::string, Entry> table_;    // guarded by mutex_; names in lower case
  std::map<std::string, int> questions_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace slotwise::kit
