// Names to addresses by c-ares inside the loop. Thread rule: loop thread.
//
// Invariants
//  1. Nothing is cached: every query asks anew (hosts file, then DNS). c-ares's own cache is off.
//     A name in the hosts file is not asked in DNS, not even for the family that is missing there.
//  2. A callback never runs inside resolve(): also an IP literal is answered at the end of the
//     iteration.
//  3. A query that was cancelled or destroyed is never called again; c-ares finishes it unseen.
//  4. A changed /etc/resolv.conf is used by the next query.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.hpp"
#include "net/error.hpp"
#include "net/loop.hpp"

namespace slotwise::net {

struct resolver_settings {
  std::string dns_servers{};  // "ip[:port],[ip6]:port,..."; empty: the system's
  // First wait for an answer; c-ares doubles it in the following tries.
  std::chrono::milliseconds try_timeout{800};
  int tries = 4;
  // How long the second family is waited for when one is there (RFC 8305, "resolution delay").
  std::chrono::milliseconds family_delay{50};
};

class Resolver;
struct ResolveRequest;

// What a query has found. It may come in two parts: the addresses of one family, and later those
// of the other when that answer was slow.
struct resolve_result {
  std::vector<address> addresses;  // families interleaved, IPv6 first
  bool last = true;
  error err;  // only in the last part, only if no part had an address
};

class ResolveHandler {
 public:
  // May start, cancel or destroy any query, this one included.
  virtual void on_resolved(resolve_result result) = 0;

 protected:
  ~ResolveHandler() = default;
};

// One running question; belongs to whoever asks and can be used again after the last part.
class Query {
 public:
  explicit Query(ResolveHandler& handler) noexcept : handler_(&handler) {}
  ~Query() { cancel(); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool running() const noexcept { return request_ != nullptr; }
  void cancel() noexcept;

 private:
  friend class Resolver;
  friend struct ResolveRequest;
  ResolveHandler* handler_;
  ResolveRequest* request_ = nullptr;
};

class AresChannel;

class Resolver {
 public:
  explicit Resolver(Loop& loop, resolver_settings settings = {});
  ~Resolver();  // running queries are dropped without a call
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // An invalid dns_servers list shows here and as the error of every query.
  const error& settings_error() const noexcept { return settings_error_; }

  // `host` may be a name or an IP literal (brackets and scope id allowed). At `deadline` the
  // query ends with errc::timed_out.
  void resolve(Query& query, std::string_view host, std::uint16_t port, time_point deadline);

 private:
  friend struct ResolveRequest;
  struct conf_stamp {
    std::int64_t seconds = -1, nanoseconds = 0, size = 0;
    std::uint64_t inode = 0;
    bool operator==(const conf_stamp&) const = default;
  };
  static conf_stamp look_at_conf();
  AresChannel* dns_channel(error& err);
  AresChannel* files_channel(error& err);
  void retire(ResolveRequest& request) noexcept;

  Loop& loop_;
  resolver_settings settings_;
  error settings_error_;
  conf_stamp conf_;
  // The last one is current; older ones (of an older resolv.conf) go when their questions end.
  std::vector<std::unique_ptr<AresChannel>> dns_;
  std::unique_ptr<AresChannel> files_;
  std::vector<std::unique_ptr<ResolveRequest>> requests_;
};

}  // namespace slotwise::net
