// Pipelines: from the caller's thread to the nodes, in place or through the loop.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/commands/scripts.hpp>

#include "client/batch_split.hpp"
#include "client/core.hpp"

namespace slotwise::detail {
namespace {

// More than this goes through the loop: it reads while it writes, and frees what is written.
constexpr std::size_t most_bytes_in_place = 256 * 1024;
constexpr std::size_t most_commands_in_place = 4096;

using Share = routing::Batch::Share;

/// The batch's shares for the length of one run. Gives the connections back, whatever happens.
class Shares {
 public:
  explicit Shares(std::vector<Share>& all) noexcept : all_(all) {}
  ~Shares() {
    for (Share& share : used()) {
      share.node->release_direct(*share.connection);
      share.members.clear();
      share.bytes.clear();
      share.failure.reset();
      share.careful = false;
      share.sent = 0;
    }
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  std::span<Share> used() noexcept { return {all_.data(), count_}; }
  /// The share of this node; null: there is none yet.
  Share* find(const routing::Node* node) noexcept {
    for (Share& share : used()) {
      if (share.node == node) return &share;
    }
    return nullptr;
  }
  /// So that add() cannot fail: a connection is in somebody's hands then.
  void make_room() {
    if (count_ == all_.size()) all_.emplace_back();
  }
  Share& add(routing::Node& node, link::DirectConnection& connection) noexcept {
    Share& share = all_[count_++];
    share.node = &node;
    share.connection = &connection;
    return share;
  }

 private:
  std::vector<Share>& all_;
  std::size_t count_ = 0;
};

bool fits_in_place(const routing::Batch::Member& m, Mode mode) noexcept {
  return !m.answered && m.fan_out == nullptr && !m.blocking && !m.wants_ping &&
         m.read_from == ReadFrom::primary &&
         (m.target == routing::Target::slot || mode != Mode::cluster);
}

}  // namespace

std::optional<Error> Core::prepare(routing::Batch::Member& member, const CallSpec& call,
                                   const CallOptions& options) {
  Plan plan;
  if (!plan_simple(plan, call, options, config_)) {
    if (auto error = make_plan(plan, call, options, config_, learned_)) return error;
  }
  if (plan.way == Plan::Way::learn) {
    return Error(ErrorCode::refused, Outcome::not_sent,
                 "the library does not know the command \"" + std::string(call.words[0]) +
                     "\": call it once outside of a pipeline, then its keys are known");
  }
  HotKeySampler::count(hot_keys_.get(), plan, call);
  static_cast<routing::Kind&>(member) = plan;
  member.read_from = read_from_of(plan, options, config_);
  if (call.script != nullptr) member.script_body = call.script->shared_body();
  if (plan.way == Plan::Way::by_slot) {
    member.fan_out = routing::FanOut::by_slot(*plan.info, call.words);
  } else if (plan.way != Plan::Way::one) {
    member.fan_out = routing::FanOut::everywhere(*plan.info, plan.way == Plan::Way::all_nodes);
  }
  member.info = plan.info;
  member.deadline = deadline_of(plan, options, config_, {});  // a duration until run()
  return std::nullopt;
}

void Core::run(routing::Batch& batch, std::atomic<std::uint32_t>& finished) {
  batch.seal();
  std::optional<Error> error;
  if (forked()) {
    error = error_after_fork();
  } else if (in_loop_thread()) {
    error = Error(ErrorCode::refused, Outcome::not_sent,
                  "exec() inside a callback would stop the thread that completes it");
  } else if (!accept(batch.size())) {
    error = refusal();
  }
  if (error) return batch.refuse_rest(*error);
  commands_.add(batch.size());
  const routing::TimePoint now = routing::Clock::now();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    routing::TimePoint& deadline = batch.at(i).deadline;
    if (deadline != routing::TimePoint::max()) deadline = now + deadline.time_since_epoch();
  }
  const InPlace in_place = run_in_place(batch, now);
  if (in_place != InPlace::done) {
    BatchRun(*this, batch, in_place == InPlace::to_be_judged, finished).run();
  }
  call_ended(nullptr, batch.size());
}

/// The whole batch on the caller's thread: a write and a read or two for each node. If something
/// was unusual, the loop judges what was seen.
Core::InPlace Core::run_in_place(routing::Batch& batch, routing::TimePoint now) {
  const ModeSwitch::Caller caller(mode_);
  if (!caller.in_place() || batch.size() > most_commands_in_place) return InPlace::no;
  Shares shares(batch.shares());
  if (batch.bytes().size() > most_bytes_in_place) return InPlace::no;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    routing::Batch::Member& member = batch.at(i);
    if (!fits_in_place(member, config_.mode)) return InPlace::no;
    Engine& engine = engine_of(member.slot);
    member.node = engine.dispatcher().node_for(member.slot);
    if (member.node == nullptr || closed_.load(std::memory_order_relaxed)) return InPlace::no;
    Share* share = shares.find(member.node);
    if (share == nullptr) {
      shares.make_room();
      link::DirectConnection* connection = member.node->acquire_direct();
      if (connection == nullptr) {
        engine.want_direct(*member.node);
        return InPlace::no;
      }
      share = &shares.add(*member.node, *connection);
    }
    share->members.push_back(i);
    share->careful = share->careful || !member.retry_safe;
  }
  const bool one_node = shares.used().size() == 1;
  const routing::TimePoint deadline = batch.at(0).deadline;  // all have the same
  for (Share& share : shares.used()) {
    if (!one_node) {
      for (const std::size_t i : share.members)
        share.bytes.append(batch.bytes_of(batch.at(i)));
    }
    const auto rest = share.bytes.rest();
    const std::string_view bytes =
        one_node ? batch.bytes() : std::string_view(rest.data(), rest.size());
    share.failure = share.connection->send(bytes, share.careful, now, deadline,
                                           config_.attempt_timeout, share.sent);
  }
  bool plain = true;
  for (Share& share : shares.used())
    plain = receive(batch, share.members, *share.connection, share.failure, share.sent, deadline) &&
            plain;
  if (plain) {
    for (Share& share : shares.used())
      share.connection->count_successes(share.members.size());
    return InPlace::done;
  }
  return InPlace::to_be_judged;
}

/// What came from one node, into the batch's results. False: something of it is to be judged.
bool Core::receive(routing::Batch& batch, const std::vector<std::size_t>& members,
                   link::DirectConnection& connection, std::optional<Error>& failure,
                   std::size_t sent, routing::TimePoint deadline) {
  bool plain = true;
  bool expired = false;
  std::size_t position = 0;
  for (const std::size_t i : members) {
    routing::Batch::Member& member = batch.at(i);
    const std::size_t begin = std::exchange(position, position + member.size);
    if (!failure) {
      ReplyView reply;
      link::Exchange exchange =
          connection.receive(deadline, config_.attempt_timeout, i == members.back(), reply);
      if (exchange.status == link::Exchange::Status::reply) {
        plain = plain && !reply.is_error();
        batch.results().put(i, reply);
        continue;
      }
      failure = std::move(exchange.error);
      expired = exchange.status == link::Exchange::Status::expired;
    }
    plain = false;
    batch.results().put(i,
                        failure->with_outcome(begin < sent ? Outcome::unknown : Outcome::not_sent));
    member.expired = expired;
  }
  return plain;
}

}  // namespace slotwise::detail
