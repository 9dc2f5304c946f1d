#include "routing/node.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace slotwise::routing {
namespace {

// Idle connections for blocking commands that are kept for the next one.
constexpr std::size_t kept_exclusive = 8;

// A read does not wait longer than this for a connection that is being made: others can serve it.
constexpr std::chrono::milliseconds reader_patience(100);
// How long a replica that cannot serve, or be reached, is passed over.
constexpr std::chrono::milliseconds reader_pause(1000);

}  // namespace

Node::Node(const Surroundings& surroundings, NodeEvents& events, NodeIdentity identity)
    : around_(surroundings),
      events_(events),
      identity_(std::move(identity)),
      measures_(surroundings.config.read_from == ReadFrom::lowest_latency),
      main_(surroundings.loop, surroundings.resolver, *this, *this),
      direct_(surroundings.loop,
              std::min<std::size_t>(
                  static_cast<std::size_t>(std::max(0, surroundings.config.direct_connections)),
                  link::DirectPool::max_size)) {
  tidy_task_.node = this;
  tidy_task_.run = &Node::run_tidy;
}

Node::~Node() {
  if (tidy_task_.queued) around_.loop.undefer(&tidy_task_);
}

link::LinkSettings Node::link_settings(const link::Link& link) {
  const Config& config = around_.config;
  link::LinkSettings s;
  s.endpoint.host = identity_.endpoint.host;
  s.endpoint.port = identity_.endpoint.port;
  if (config.use_announced_ips && !identity_.announced_ip.empty() &&
      identity_.announced_ip != identity_.endpoint.host) {
    s.endpoint.announced_ips.push_back(identity_.announced_ip);
  }
  // The node's own name is what its certificate has, also when it is reached by its ip.
  s.endpoint.tls_name = !identity_.hostname.empty() ? identity_.hostname : identity_.endpoint.host;
  s.connect.tls = around_.tls;
  s.connect.socket.keepalive = config.tcp_keepalive.count() > 0;
  s.connect.socket.keepalive_idle = std::max(
      std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(config.tcp_keepalive));
  s.handshake.protocol = config.protocol;
  s.handshake.credentials =
      config.credentials_provider ? config.credentials_provider() : config.credentials;
  s.handshake.client_name = config.client_name;
  s.handshake.database = config.database;
  s.handshake.ask_node_id = config.mode == Mode::cluster;
  s.handshake.expected_node_id = identity_.id;
  const bool reads = &link == reader_.get();
  s.handshake.readonly = reads && config.mode == Mode::cluster;
  if (config.mode == Mode::sentinel) {
    s.handshake.role = reads               ? link::RequiredRole::replica
                       : identity_.primary ? link::RequiredRole::primary
                                           : link::RequiredRole::any;
  }
  s.handshake.announce_redirect = config.mode == Mode::single;
  s.limits.max_depth = config.max_reply_depth;
  s.limits.max_bulk_bytes = config.max_reply_bytes;
  s.limits.max_reply_bytes = config.max_reply_bytes;
  s.connect_timeout = config.connect_timeout;
  s.silence_limit = config.attempt_timeout;
  s.health_check_interval = config.health_check_interval;
  s.reconnect_pause_min = config.retry_backoff_min;
  s.reconnect_pause_max = config.retry_backoff_max;
  return s;
}

void Node::update(NodeIdentity identity) {
  const bool moved =
      !(identity.endpoint == identity_.endpoint) || identity.announced_ip != identity_.announced_ip;
  identity_ = std::move(identity);
  retired_ = false;
  if (moved) reset_backoff();
  // A node that was learned from a redirect or a seed gets its id later. If the connection that is
  // open proves to be somebody else's, it must not be used for this node.
  if (!identity_.id.empty() && !main_.node_id().empty() && main_.node_id() != identity_.id) {
    close_all(Error(ErrorCode::wrong_node, Outcome::unknown,
                    "the address belongs to another node now: expected node id " + identity_.id +
                        ", it answered " + main_.node_id()));
  }
}

void Node::submit(Request& request) {
  request.node = this;
  if (request.on_replica) {
    prepare_reader();
    return reader_->submit(request);
  }
  if (!request.blocking) return main_.submit(request);
  link::Link& link = exclusive_link();
  link.set_silence_limit(request.block_time.count() == 0
                             ? milliseconds(0)
                             : request.block_time + around_.config.attempt_timeout +
                                   around_.config.blocking_margin);
  link.submit(request);
}

link::Link& Node::exclusive_link() {
  for (auto& e : exclusive_) {
    if (e->link.calls() == 0 && !e->outdated) return e->link;
  }
  exclusive_.push_back(std::make_unique<Exclusive>(around_, *this));
  exclusive_.back()->link.close_when_expired(true);
  return exclusive_.back()->link;
}

// --- reads from a replica ---------------------------------------------------------------------

void Node::prepare_reader() {
  if (reader_ == nullptr) {
    reader_ = std::make_unique<link::Link>(around_.loop, around_.resolver, *this, *this);
  }
  if (reader_->connected_or_trying() || around_.loop.now() < reader_not_before_) return;
  reader_asked_ = around_.loop.now();
  reader_->connect();
}

bool Node::reader_usable() const noexcept {
  if (retired_ || around_.loop.now() < reader_not_before_) return false;
  if (reader_ == nullptr || reader_->ready()) return true;
  if (reader_->failing()) return false;
  return !reader_->connected_or_trying() || around_.loop.now() < reader_asked_ + reader_patience;
}

link::Call* Node::take_stalled_reads() noexcept {
  if (reader_ == nullptr || reader_->ready()) return nullptr;
  pass_over_reader();
  return reader_->take_unsent();
}

void Node::pass_over_reader() noexcept {
  reader_not_before_ = around_.loop.now() + reader_pause;
}

std::chrono::microseconds Node::round_trip() const noexcept {
  return identity_.primary || reader_ == nullptr ? main_.round_trip() : reader_->round_trip();
}

const std::string& Node::availability_zone() const noexcept {
  if (reader_ != nullptr && !reader_->availability_zone().empty()) {
    return reader_->availability_zone();
  }
  return main_.availability_zone().empty() ? identity_.zone : main_.availability_zone();
}

// --- connections ------------------------------------------------------------------------------

void Node::reauthenticate() {
  const Credentials fresh = around_.config.credentials_provider
                                ? around_.config.credentials_provider()
                                : around_.config.credentials;
  main_.reauthenticate(fresh);
  if (reader_ != nullptr) reader_->reauthenticate(fresh);
  for (auto& e : exclusive_)
    e->outdated = true;
  direct_.doom_all(false);
  tidy();
}

void Node::grow_direct() {
  // A node that cannot be reached is the main link's business, which waits between its attempts.
  if (retired_ || opening_direct_ != nullptr || !direct_.has_room() || !main_.ready()) {
    growing_.store(opening_direct_ != nullptr);
    return;
  }
  opening_direct_ = std::make_unique<link::Link>(around_.loop, around_.resolver, *this, *this);
  opening_direct_->connect();
}

void Node::close_all(const Error& why) {
  direct_.doom_all(true);
  if (opening_direct_ != nullptr) opening_direct_->close(why);
  // By index: a call that comes back may be submitted again and add a link.
  for (std::size_t i = 0; i < exclusive_.size(); ++i)
    exclusive_[i]->link.close(why);
  if (reader_ != nullptr) reader_->close(why);
  main_.close(why);
}

void Node::drop_idle(const Error& why) {
  direct_.doom_all(false);
  if (main_.ready() && main_.calls() == 0) main_.close(why);
}

void Node::retire() {
  retired_ = true;
  tidy();
}

bool Node::quiet() const noexcept {
  return main_.calls() == 0 && !main_.connected_or_trying() && direct_.empty() &&
         opening_direct_ == nullptr && exclusive_.empty() &&
         (reader_ == nullptr || !reader_->connected_or_trying());
}

std::size_t Node::connections() const noexcept {
  std::size_t n = direct_.size() + (main_.ready() ? 1 : 0);
  n += reader_ != nullptr && reader_->ready() ? 1 : 0;
  for (const auto& e : exclusive_)
    n += e->link.ready() ? 1 : 0;
  return n;
}

Endpoint Node::peer() const {
  // The address in use, for redirects that name no host; a name is as good if it is all we know.
  const std::string text = main_.peer();
  const std::size_t colon = text.rfind(':');
  if (text.empty() || colon == std::string::npos) return identity_.endpoint;
  Endpoint e;
  e.host = text.substr(0, colon);
  if (e.host.size() > 2 && e.host.front() == '[') e.host = e.host.substr(1, e.host.size() - 2);
  e.port = identity_.endpoint.port;
  return e;
}

/// Links must not be destroyed while they call: their ends are done in a deferred task.
void Node::tidy() {
  if (tidy_task_.queued) return;
  tidy_task_.queued = true;
  around_.loop.defer(&tidy_task_);
}

void Node::run_tidy(net::Task* task) {
  Node& self = *static_cast<TidyTask*>(task)->node;
  self.tidy_task_.queued = false;
  if (self.opening_direct_ != nullptr && !self.opening_direct_->connected_or_trying()) {
    self.opening_direct_.reset();
    self.growing_.store(false);
  }
  std::size_t idle = 0;
  std::erase_if(self.exclusive_, [&](const auto& e) {
    if (e->link.calls() != 0) return false;
    if (!e->link.connected_or_trying()) return true;
    return ++idle > kept_exclusive || self.retired_ || e->outdated;
  });
  if (!self.retired_) return;
  self.direct_.doom_all(false);
  const Error gone(ErrorCode::cancelled, Outcome::not_sent,
                   "the node is not part of the deployment any more");
  if (self.main_.calls() == 0) self.main_.close(gone);
  if (self.reader_ != nullptr && self.reader_->calls() == 0) self.reader_->close(gone);
}

// --- what links report ------------------------------------------------------------------------

void Node::on_reply(link::Link& link, link::Call& call, ReplyView& reply) {
  replies_.add();
  if (&link != &main_ || measures_ || retired_) [[unlikely]] {
    return on_other_reply(link, call, reply);
  }
  events_.on_reply(*this, static_cast<Request&>(call), reply);
}

/// One that tells something besides what is in it.
void Node::on_other_reply(link::Link& link, link::Call& call, ReplyView& reply) {
  if (retired_ || (&link != &main_ && &link != reader_.get() && link.calls() == 0)) tidy();
  // PING measures a connection only while it is silent.
  if (measures_) link.note_round_trip(around_.loop.now() - call.sent_at);
  events_.on_reply(*this, static_cast<Request&>(call), reply);
}

void Node::on_call_failed(link::Link& /*link*/, link::Call& call, const Error& error) {
  events_.on_failed(*this, static_cast<Request&>(call), error);
}

void Node::on_call_expired(link::Link& /*link*/, link::Call& call, bool sent) {
  events_.on_expired(*this, static_cast<Request&>(call), sent);
}

void Node::on_push(link::Link& /*link*/, Reply&& /*push*/) {
  // Nothing on these connections asks for pushes; what comes all the same is no reply.
}

void Node::on_stalled(link::Link& /*link*/) {
  events_.on_stalled(*this);
}

void Node::on_auth_refused(link::Link& /*link*/, const Reply& error) {
  events_.on_auth_refused(
      *this, Error(ErrorCode::auth_failed, Outcome::rejected,
                   "the node refused the new credentials, and goes on with the old ones: " +
                       std::string(error.text()))
                 .with_server_text(std::string(error.text()))
                 .with_node(name()));
}

void Node::on_ready(link::Link& link) {
  around_.observer.counters.connects.add();
  if (around_.observer.listening()) around_.observer.tell(Event::Kind::connected, name());
  if (&link == opening_direct_.get()) {
    link::Established established = link.release();
    if (!retired_) direct_.add(std::move(established));
    return tidy();
  }
  if (&link == &main_ || &link == reader_.get()) events_.on_up(*this);
}

void Node::on_down(link::Link& link, const Error& error, bool was_ready) {
  auto& counters = around_.observer.counters;
  (was_ready ? counters.disconnects : counters.connect_failures).add();
  if (around_.observer.listening()) {
    around_.observer.tell(was_ready ? Event::Kind::disconnected : Event::Kind::connect_failed,
                          name(), std::string(error.message()));
  }
  // Those for callers in place are not asked by PING. What cost the main connection may have cost
  // them too, and the next caller would wait for a dead one.
  if (&link == &main_ && was_ready) direct_.doom_all(false);
  if (&link == reader_.get() && !was_ready) {
    // The map has heard of it the first time; reads go elsewhere meanwhile.
    const bool news = around_.loop.now() >= reader_not_before_ + reader_pause;
    pass_over_reader();
    if (!news) return;
  } else if (&link != &main_) {
    tidy();
  }
  events_.on_down(*this, error, was_ready);
}

}  // namespace slotwise::routing
