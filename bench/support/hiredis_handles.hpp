// Raw hiredis, closed by itself.
#pragma once

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>

#include <array>
#include <memory>
#include <string_view>

#include "support/deployment.hpp"
#include "support/workload.hpp"

namespace slotwise::bench {

struct HiredisFree {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  void operator()(redisSSLContext* context) const noexcept { redisFreeSSLContext(context); }
};
using HiredisConnection = std::unique_ptr<redisContext, HiredisFree>;
using HiredisReply = std::unique_ptr<redisReply, HiredisFree>;
using HiredisTls = std::unique_ptr<redisSSLContext, HiredisFree>;

/// Throws if it fails.
HiredisConnection hiredis_connect(const kit::Address& address);
/// Null without TLS.
HiredisTls hiredis_tls(const Deployment& deployment);

/// GET key, or SET key value, as hiredis wants to have it. Points into the workload.
struct HiredisWords {
  HiredisWords(std::string_view key, const std::string* value)
      : words{value != nullptr ? "SET" : "GET", key.data(), value != nullptr ? value->data() : ""},
        sizes{3, key.size(), value != nullptr ? value->size() : 0},
        count(value != nullptr ? 3 : 2) {}
  HiredisWords(const Workload& workload, const Operation& operation)
      : HiredisWords(workload.key(operation), operation.set ? &workload.value() : nullptr) {}

  // hiredis takes `const char**`, and does not write there.
  const char** argv() noexcept { return words.data(); }
  const std::size_t* argvlen() const noexcept { return sizes.data(); }

  std::array<const char*, 3> words;
  std::array<std::size_t, 3> sizes;
  int count;
};

/// Throws unless it is the value (GET) or OK (SET).
void check_hiredis(const redisReply* reply, bool set, std::size_t value_size);

}  // namespace slotwise::bench
