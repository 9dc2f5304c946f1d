// Baselines (1), (2) and (3): raw hiredis, blocking, and its pipelines.
#include <string>
#include <vector>

#include "support/drive.hpp"
#include "support/hiredis_handles.hpp"
#include "support/sides.hpp"

namespace slotwise::bench {

namespace {

constexpr const char* name = "raw hiredis";

using Connections = std::array<HiredisConnection, node_count>;

Connections connect_all(const Deployment& deployment) {
  Connections connections;
  for (std::size_t node = 0; node < node_count; ++node)
    connections.at(node) = hiredis_connect(deployment.address(node));
  return connections;
}

void call(redisContext* connection, HiredisWords words, bool set, std::size_t value_size) {
  const HiredisReply reply(static_cast<redisReply*>(
      redisCommandArgv(connection, words.count, words.argv(), words.argvlen())));
  if (reply == nullptr) fail(name, connection->errstr);
  check_hiredis(reply.get(), set, value_size);
}

class Sync : public Side {
 public:
  Sync(const Deployment& deployment, const Workload& workload, int threads)
      : workload_(workload), threads_(threads) {
    for (int i = 0; i < threads; ++i)
      connections_.push_back(connect_all(deployment));
  }

  Counts run(double seconds) override {
    return run_threads(threads_, seconds, rate_ > 0 ? 1 : time_every_sync,
                       [this](int thread, const Stop& stop, ThreadCounts& counts) {
                         auto& connections = connections_[static_cast<std::size_t>(thread)];
                         std::size_t next = static_cast<std::size_t>(thread) * 251;
                         call_until_over(stop, counts, rate_ / threads_, 1, [&] {
                           const auto& operation = workload_.operation(next++);
                           call(connections[operation.node].get(), {workload_, operation},
                                operation.set, workload_.value().size());
                         });
                       });
  }
  void set_rate(double rate) override { rate_ = rate; }

 private:
  const Workload& workload_;
  int threads_;
  std::vector<Connections> connections_;  // of each thread
  double rate_ = 0;
};

class Pipelines : public Side {
 public:
  Pipelines(const Deployment& deployment, const Workload& workload, std::size_t commands)
      : workload_(workload),
        commands_(commands),
        connection_(hiredis_connect(deployment.address(workload.operation(0).node))) {}

  Counts run(double seconds) override {
    return run_threads(1, seconds, time_every_sync,
                       [this](int /*thread*/, const Stop& stop, ThreadCounts& counts) {
                         std::size_t next = 0;
                         call_until_over(stop, counts, 0, static_cast<unsigned>(commands_), [&] {
                           exchange(next);
                           next += commands_;
                         });
                       });
  }

 private:
  void exchange(std::size_t first) const {
    for (std::size_t i = 0; i < commands_; ++i) {
      HiredisWords words(workload_, workload_.operation(first + i));
      redisAppendCommandArgv(connection_.get(), words.count, words.argv(), words.argvlen());
    }
    for (std::size_t i = 0; i < commands_; ++i) {
      void* raw = nullptr;
      if (redisGetReply(connection_.get(), &raw) != REDIS_OK) fail(name, connection_->errstr);
      const HiredisReply reply(static_cast<redisReply*>(raw));
      check_hiredis(reply.get(), workload_.operation(first + i).set, workload_.value().size());
    }
  }

  const Workload& workload_;
  std::size_t commands_;
  HiredisConnection connection_;
};

class LargeValue : public Side {
 public:
  LargeValue(const Deployment& deployment, Large what, std::size_t size)
      : what_(what),
        value_(size, 'v'),
        connection_(hiredis_connect(deployment.address(deployment.node_of(key_)))) {
    call(connection_.get(), {key_, &value_}, true, size);
  }

  Counts run(double seconds) override {
    const bool set = what_ == Large::set;
    return run_threads(1, seconds, 1, [&](int /*thread*/, const Stop& stop, ThreadCounts& counts) {
      call_until_over(stop, counts, 0, 1, [&] {
        call(connection_.get(), {key_, set ? &value_ : nullptr}, set, value_.size());
      });
    });
  }

 private:
  static constexpr std::string_view key_ = "key:of_many_bytes";

  Large what_;
  std::string value_;
  HiredisConnection connection_;
};

}  // namespace

HiredisConnection hiredis_connect(const kit::Address& address) {
  HiredisConnection connection(redisConnect(address.host.c_str(), address.port));
  if (connection == nullptr) fail(name, "no memory");
  if (connection->err != 0) fail(name, connection->errstr);
  return connection;
}

HiredisTls hiredis_tls(const Deployment& deployment) {
  if (!deployment.tls()) return nullptr;
  redisInitOpenSSL();
  redisSSLContextError error{};
  HiredisTls tls(redisCreateSSLContext(deployment.ca_file().c_str(), nullptr, nullptr, nullptr,
                                       nullptr, &error));
  if (tls == nullptr) fail(name, redisSSLContextGetError(error));
  return tls;
}

void check_hiredis(const redisReply* reply, bool set, std::size_t value_size) {
  const bool right = set ? reply->type == REDIS_REPLY_STATUS
                         : reply->type == REDIS_REPLY_STRING && reply->len == value_size;
  if (right) return;
  fail(name, reply->type == REDIS_REPLY_ERROR ? std::string_view(reply->str, reply->len)
                                              : "a reply of another kind or size");
}

SidePtr hiredis_sync(const Deployment& deployment, const Workload& workload, int threads) {
  return std::make_unique<Sync>(deployment, workload, threads);
}

SidePtr hiredis_pipeline(const Deployment& deployment, const Workload& workload,
                         std::size_t commands) {
  return std::make_unique<Pipelines>(deployment, workload, commands);
}

SidePtr hiredis_large(const Deployment& deployment, Large what, std::size_t value_size) {
  return std::make_unique<LargeValue>(deployment, what, value_size);
}

}  // namespace slotwise::bench
