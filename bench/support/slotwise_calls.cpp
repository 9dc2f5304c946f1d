// slotwise as its synchronous users see it: calls that block, pipelines, large values.
#include <optional>
#include <string>

#include <slotwise/slotwise.hpp>

#include "support/drive.hpp"
#include "support/sides.hpp"

namespace slotwise::bench {

namespace {

constexpr const char* name = "slotwise";

void check_get(const std::optional<std::string>& value, std::size_t size) {
  if (!value || value->size() != size) fail(name, "GET gave another value than was set");
}

void check_set(bool done) {
  if (!done) fail(name, "SET was not done");
}

class Sync : public Side {
 public:
  Sync(const Deployment& deployment, const Workload& workload, int threads)
      : client_(Client::connect(deployment.uri())), workload_(workload), threads_(threads) {}

  Counts run(double seconds) override {
    return run_threads(threads_, seconds, rate_ > 0 ? 1 : time_every_sync,
                       [this](int thread, const Stop& stop, ThreadCounts& counts) {
                         std::size_t next = static_cast<std::size_t>(thread) * 251;
                         call_until_over(stop, counts, rate_ / threads_, 1,
                                         [&] { call(workload_.operation(next++)); });
                       });
  }
  void set_rate(double rate) override { rate_ = rate; }

 private:
  void call(const Operation& operation) const {
    const auto key = workload_.key(operation);
    if (operation.set) {
      check_set(client_.set(key, workload_.value()));
    } else {
      check_get(client_.get(key), workload_.value().size());
    }
  }

  Client client_;
  const Workload& workload_;
  int threads_;
  double rate_ = 0;
};

class Pipelines : public Side {
 public:
  Pipelines(const Deployment& deployment, const Workload& workload, std::size_t commands)
      : client_(Client::connect(deployment.uri())), workload_(workload), commands_(commands) {}

  Counts run(double seconds) override {
    return run_threads(1, seconds, time_every_sync,
                       [this](int /*thread*/, const Stop& stop, ThreadCounts& counts) {
                         auto pipeline = client_.pipeline();
                         std::size_t next = 0;
                         call_until_over(stop, counts, 0, static_cast<unsigned>(commands_), [&] {
                           exchange(pipeline, next);
                           next += commands_;
                         });
                       });
  }

 private:
  void exchange(Pipeline& pipeline, std::size_t first) const {
    for (std::size_t i = 0; i < commands_; ++i) {
      const auto& operation = workload_.operation(first + i);
      const auto key = workload_.key(operation);
      if (operation.set) {
        pipeline.set(key, workload_.value());
      } else {
        pipeline.get(key);
      }
    }
    auto results = pipeline.exec();
    if (results.size() != commands_) fail(name, "a pipeline gave too few results");
    for (std::size_t i = 0; i < commands_; ++i) {
      if (workload_.operation(first + i).set) {
        check_set(results.get<bool>(i).value());
      } else {
        check_get(results.get<std::optional<std::string>>(i).value(), workload_.value().size());
      }
    }
  }

  Client client_;
  const Workload& workload_;
  std::size_t commands_;
};

class LargeValue : public Side {
 public:
  LargeValue(const Deployment& deployment, Large what, std::size_t size)
      : client_(Client::connect(deployment.uri())), what_(what), value_(size, 'v') {
    check_set(client_.set(key_, value_));
  }

  Counts run(double seconds) override {
    return run_threads(1, seconds, 1,
                       [this](int /*thread*/, const Stop& stop, ThreadCounts& counts) {
                         call_until_over(stop, counts, 0, 1, [&] {
                           if (what_ == Large::set) {
                             check_set(client_.set(key_, value_));
                           } else {
                             check_get(client_.get(key_), value_.size());
                           }
                         });
                       });
  }

 private:
  static constexpr std::string_view key_ = "key:of_many_bytes";

  Client client_;
  Large what_;
  std::string value_;
};

}  // namespace

SidePtr slotwise_sync(const Deployment& deployment, const Workload& workload, int threads) {
  return std::make_unique<Sync>(deployment, workload, threads);
}

SidePtr slotwise_pipeline(const Deployment& deployment, const Workload& workload,
                          std::size_t commands) {
  return std::make_unique<Pipelines>(deployment, workload, commands);
}

SidePtr slotwise_large(const Deployment& deployment, Large what, std::size_t value_size) {
  return std::make_unique<LargeValue>(deployment, what, value_size);
}

}  // namespace slotwise::bench
