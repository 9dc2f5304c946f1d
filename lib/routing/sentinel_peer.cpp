#include "routing/sentinel_peer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "resp/encoder.hpp"

namespace slotwise::routing {
namespace {

using topology::SentinelEvent;
using topology::SentinelReport;
using Words = std::vector<std::string_view>;

// A connection on which a sentinel would tell of a failover is asked at least so often whether it
// lives.
constexpr milliseconds longest_silence(5000);
// Lets a connect that takes too long fail with its own, better reason.
constexpr milliseconds after_connect(20);

}  // namespace

SentinelPeer::SentinelPeer(const Surroundings& surroundings, SentinelPeerEvents& events,
                           topology::SentinelHandle handle, Endpoint endpoint)
    : around_(surroundings),
      events_(events),
      handle_(handle),
      endpoint_(std::move(endpoint)),
      link_(surroundings.loop, surroundings.resolver, *this, *this) {
  const std::string& name = around_.config.sentinel_name;
  const std::array<Words, part_count> commands{Words{"SENTINEL", "MYID"},
                                               {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name},
                                               {"SENTINEL", "MASTER", name},
                                               {"SENTINEL", "SENTINELS", name},
                                               {"SENTINEL", "REPLICAS", name}};
  std::array<std::size_t, part_count> sizes{};
  for (std::size_t i = 0; i < part_count; ++i) {
    const std::size_t before = bytes_.size();
    resp::append_command(bytes_, commands[i]);
    sizes[i] = bytes_.size() - before;
  }
  std::string_view rest = bytes_;
  for (std::size_t i = 0; i < part_count; ++i) {
    questions_[i].bytes = rest.substr(0, sizes[i]);
    rest.remove_prefix(sizes[i]);
  }

  // In RESP3 the answer to SUBSCRIBE is a push; the one reply is that of the PING behind it.
  resp::append_command(subscribe_bytes_,
                       Words{"SUBSCRIBE", "+switch-master", "+sdown", "-sdown", "+odown", "+slave",
                             "+reboot", "+promoted-slave", "+failover-state-send-slaveof-noone",
                             "-failover-abort-slave-timeout", "-failover-abort-no-good-slave"});
  resp::append_command(subscribe_bytes_, Words{"PING"});
  subscription_.bytes = subscribe_bytes_;
}

SentinelPeer::~SentinelPeer() {
  close();
}

link::LinkSettings SentinelPeer::link_settings(const link::Link& /*link*/) {
  const Config& config = around_.config;
  link::LinkSettings s;
  s.endpoint.host = endpoint_.host;
  s.endpoint.port = endpoint_.port;
  s.endpoint.tls_name = endpoint_.host;
  s.connect.tls = around_.sentinel_tls;
  s.connect.socket.keepalive = config.tcp_keepalive.count() > 0;
  s.connect.socket.keepalive_idle = std::max(
      std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(config.tcp_keepalive));
  s.handshake.credentials = config.sentinel_credentials;
  s.handshake.client_name = config.client_name;
  s.limits.max_depth = config.max_reply_depth;
  s.connect_timeout = s.silence_limit = config.sentinel_timeout;
  s.health_check_interval = config.health_check_interval.count() == 0
                                ? longest_silence
                                : std::min(config.health_check_interval, longest_silence);
  s.reconnect_pause_min = config.retry_backoff_min;
  s.reconnect_pause_max = config.retry_backoff_max;
  return s;
}

void SentinelPeer::ask() {
  if (closed_) return;
  ask_again_ = open_ > 0;
  if (!ask_again_) submit_questions();
}

void SentinelPeer::submit_questions() {
  link_.reset_backoff();  // rounds have a pace of their own
  open_ = part_count;
  for (Question& question : questions_) {
    question.answer.reset();
    question.deadline = around_.loop.now() + around_.config.sentinel_timeout + after_connect;
  }
  for (Question& question : questions_)
    link_.submit(question);
}

void SentinelPeer::close() {
  if (std::exchange(closed_, true)) return;
  link_.close(Error(ErrorCode::cancelled, Outcome::not_sent, "the client was closed"));
}

// --- answers ---------------------------------------------------------------------------------

void SentinelPeer::answered(link::Call& call, Result<Reply>&& answer) {
  if (&call == &subscription_) {
    subscribing_ = false;
    if (answer && !answer->is_error()) hear(true);
    return;
  }
  static_cast<Question&>(call).answer.emplace(std::move(answer));
  if (--open_ > 0 || closed_) return;
  if (std::exchange(ask_again_, false)) return submit_questions();
  events_.on_report(*this, read());
}

SentinelReport SentinelPeer::read() const {
  for (const Question& question : questions_) {
    if (!*question.answer) return SentinelReport::failure(question.answer->error());
  }
  return topology::read_sentinel({.my_id = **questions_[my_id].answer,
                                  .address = **questions_[address].answer,
                                  .master = **questions_[master].answer,
                                  .sentinels = **questions_[sentinels].answer,
                                  .replicas = **questions_[replicas].answer});
}

void SentinelPeer::on_reply(link::Link& /*link*/, link::Call& call, ReplyView& reply) {
  answered(call, reply.take());
}

void SentinelPeer::on_call_failed(link::Link& /*link*/, link::Call& call, const Error& error) {
  answered(call, error);
}

void SentinelPeer::on_call_expired(link::Link& /*link*/, link::Call& call, bool /*sent*/) {
  answered(call, Error(ErrorCode::timeout, Outcome::not_sent,
                       "no answer within " +
                           std::to_string(around_.config.sentinel_timeout.count()) + " ms"));
}

// --- events ----------------------------------------------------------------------------------

void SentinelPeer::hear(bool yes) {
  if (hears_ == yes) return;
  hears_ = yes;
  if (!closed_) events_.on_hearing(*this, yes);
}

void SentinelPeer::on_push(link::Link& /*link*/, Reply&& push) {
  const auto parts = push.elements();
  if (closed_ || parts.size() != 3 || parts[0].text() != "message") return;
  const SentinelEvent event =
      topology::read_sentinel_event(parts[1].text(), parts[2].text(), around_.config.sentinel_name);
  if (event != SentinelEvent::other) events_.on_event(*this, event);
}

void SentinelPeer::on_ready(link::Link& link) {
  around_.observer.counters.connects.add();
  if (around_.observer.listening()) {
    around_.observer.tell(Event::Kind::connected, name(), "sentinel");
  }
  if (link.protocol() != 3 || subscribing_) return;
  subscribing_ = true;
  subscription_.deadline = around_.loop.now() + around_.config.sentinel_timeout;
  link.submit(subscription_);
}

void SentinelPeer::on_down(link::Link& /*link*/, const Error& error, bool was_ready) {
  auto& counters = around_.observer.counters;
  (was_ready ? counters.disconnects : counters.connect_failures).add();
  if (around_.observer.listening() && !closed_) {
    around_.observer.tell(was_ready ? Event::Kind::disconnected : Event::Kind::connect_failed,
                          name(), "sentinel: " + std::string(error.message()));
  }
  hear(false);
}

}  // namespace slotwise::routing
