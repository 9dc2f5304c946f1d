// Baseline (4): raw hiredis async on its libev adapter, one connection a node, no cluster logic.
#include <hiredis/adapters/libev.h>
#include <hiredis/async.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/drive.hpp"
#include "support/hiredis_handles.hpp"
#include "support/sides.hpp"

namespace slotwise::bench {

namespace {

constexpr const char* name = "hiredis async";

class HiredisAsync : public Side {
 public:
  HiredisAsync(const Deployment& deployment, const Workload& workload, std::size_t in_flight)
      : workload_(workload),
        in_flight_(in_flight),
        tls_(hiredis_tls(deployment)),
        loop_(ev_loop_new(EVBACKEND_EPOLL)) {
    if (loop_ == nullptr) fail(name, "no epoll loop");
    for (std::size_t node = 0; node < node_count; ++node)
      connect(node, deployment.address(node));
    while (connected_ < node_count && trouble_.empty())
      ev_run(loop_, EVRUN_ONCE);
    check();
  }

  ~HiredisAsync() override {
    for (auto* connection : connections_) {
      if (connection != nullptr) redisAsyncFree(connection);
    }
    ev_loop_destroy(loop_);
  }

  Counts run(double seconds) override {
    return run_threads(1, seconds, rate_ > 0 ? time_every_paced : time_every_async,
                       [this](int /*thread*/, const Stop& stop, ThreadCounts& counts) {
                         stop_ = &stop;
                         counts_ = &counts;
                         if (rate_ > 0) {
                           run_open_loop();
                         } else {
                           run_lanes();
                         }
                         check();
                       });
  }
  void set_rate(double rate) override { rate_ = rate; }

 private:
  /// Of one call; lives until its reply came.
  struct Lane {
    HiredisAsync* side = nullptr;
    bool set = false;
    bool timed = false;
    Clock::time_point start{};
  };

  void connect(std::size_t node, const kit::Address& address) {
    auto* connection = redisAsyncConnect(address.host.c_str(), address.port);
    if (connection == nullptr) fail(name, "no memory");
    connections_.at(node) = connection;
    connection->data = this;
    if (connection->err != 0) fail(name, connection->errstr);
    if (tls_ != nullptr && redisInitiateSSLWithContext(&connection->c, tls_.get()) != REDIS_OK) {
      fail(name, connection->c.errstr);
    }
    redisLibevAttach(loop_, connection);
    redisAsyncSetConnectCallback(connection, [](const redisAsyncContext* context, int status) {
      auto& side = *static_cast<HiredisAsync*>(context->data);
      if (status == REDIS_OK) {
        ++side.connected_;
      } else {
        side.lost(context);
      }
    });
    redisAsyncSetDisconnectCallback(connection, [](const redisAsyncContext* context, int status) {
      if (status != REDIS_OK) static_cast<HiredisAsync*>(context->data)->lost(context);
    });
  }

  /// hiredis frees the connection afterwards.
  void lost(const redisAsyncContext* context) {
    if (trouble_.empty()) trouble_ = context->errstr;
    for (auto*& connection : connections_) {
      if (connection == context) connection = nullptr;
    }
  }
  void check() const {
    if (!trouble_.empty()) fail(name, trouble_);
  }

  void run_lanes() {
    lanes_.assign(in_flight_, Lane{.side = this});
    for (auto& lane : lanes_)
      start(lane, counts_->latencies.due(), Clock::time_point());
    while (pending_ > 0 && trouble_.empty())
      ev_run(loop_, EVRUN_ONCE);
  }

  void run_open_loop() {
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    const itimerspec every{.it_interval = {0, Ticks::interval.count() * 1000},
                           .it_value = {0, Ticks::interval.count() * 1000}};
    timerfd_settime(timer, 0, &every, nullptr);
    Ticks ticks(rate_);
    ticks_ = &ticks;
    ev_io watcher;
    ev_io_init(
        &watcher,
        [](struct ev_loop* /*loop*/, ev_io* io, int /*events*/) {
          std::uint64_t expirations = 0;
          if (read(io->fd, &expirations, sizeof(expirations)) < 0) return;
          static_cast<HiredisAsync*>(io->data)->start_what_is_due();
        },
        timer, EV_READ);
    watcher.data = this;
    ev_io_start(loop_, &watcher);
    while (!stop_->over() && trouble_.empty())
      ev_run(loop_, EVRUN_ONCE);
    ev_io_stop(loop_, &watcher);
    close(timer);
    while (pending_ > 0 && trouble_.empty())
      ev_run(loop_, EVRUN_ONCE);
    ticks_ = nullptr;
  }

  void start_what_is_due() {
    while (Clock::now() >= ticks_->next()) {
      for (std::size_t n = ticks_->advance(); n > 0; --n)
        start(*new Lane{.side = this}, counts_->latencies.due(), ticks_->now());
    }
  }

  void start(Lane& lane, bool timed, Clock::time_point due) {
    const auto& operation = workload_.operation(next_++);
    lane.set = operation.set;
    lane.timed = timed;
    if (timed) lane.start = due == Clock::time_point() ? Clock::now() : due;
    HiredisWords words(workload_, operation);
    auto* connection = connections_.at(operation.node);
    if (connection == nullptr ||
        redisAsyncCommandArgv(connection, &HiredisAsync::replied, &lane, words.count, words.argv(),
                              words.argvlen()) != REDIS_OK) {
      if (trouble_.empty()) trouble_ = "the command was not taken";
      return;
    }
    ++pending_;
  }

  static void replied(redisAsyncContext* /*context*/, void* raw, void* data) {
    auto& lane = *static_cast<Lane*>(data);
    auto& side = *lane.side;
    --side.pending_;
    side.count(lane, static_cast<const redisReply*>(raw));
    if (side.rate_ > 0) {
      delete &lane;
    } else if (!side.stop_->over() && side.trouble_.empty()) {
      side.start(lane, side.counts_->latencies.due(), Clock::time_point());
    }
  }

  void count(const Lane& lane, const redisReply* reply) {
    if (reply == nullptr) {
      if (trouble_.empty()) trouble_ = "a reply is missing";
      return;
    }
    try {  // no exception through C
      check_hiredis(reply, lane.set, workload_.value().size());
    } catch (const std::exception& error) {
      trouble_ = error.what();
      return;
    }
    ++counts_->operations;
    if (lane.timed) counts_->latencies.add(microseconds_since(lane.start));
  }

  const Workload& workload_;
  std::size_t in_flight_;
  HiredisTls tls_;
  struct ev_loop* loop_;
  std::array<redisAsyncContext*, node_count> connections_{};
  std::size_t connected_ = 0;
  std::string trouble_;
  double rate_ = 0;

  // Of the run.
  const Stop* stop_ = nullptr;
  ThreadCounts* counts_ = nullptr;
  Ticks* ticks_ = nullptr;
  std::vector<Lane> lanes_;
  std::size_t next_ = 0;
  std::size_t pending_ = 0;
};

}  // namespace

SidePtr hiredis_async(const Deployment& deployment, const Workload& workload,
                      std::size_t in_flight) {
  return std::make_unique<HiredisAsync>(deployment, workload, in_flight);
}

}  // namespace slotwise::bench
