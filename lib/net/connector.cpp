#include "net/connector.hpp"

#include <algorithm>
#include <deque>

namespace slotwise::net {
namespace {

constexpr std::size_t reasons_shown = 8;

bool contains(const std::vector<address>& list, const address& a) {
  return std::find(list.begin(), list.end(), a) != list.end();
}

}  // namespace

// One run of a connector. It ends in a deferred task; user code is called from there only.
class Connector::Race final : ResolveHandler {
 public:
  Race(Connector& owner, endpoint to, connect_settings settings, time_point deadline);
  ~Race();
  void begin();

 private:
  // Kept until the race is over, also when it has failed: it may be in its own on_events().
  struct Attempt final : Watcher {
    Attempt(Race& r, const address& a) : race(r), to(a) {}
    enum class stage : std::uint8_t { tcp, tls, over };
    void on_events(std::uint32_t) override { race.step(*this); }
    Race& race;
    address to;
    stage at = stage::tcp;
    Socket socket;  // until connected
    Stream stream;  // afterwards
  };
  struct Finish : Task {
    Race* race = nullptr;
  };

  void on_resolved(resolve_result result) override;
  void on_stagger();
  void on_deadline();
  void start_next();
  bool next_candidate(address& out);
  void launch(Attempt& attempt);
  void step(Attempt& attempt);
  void after_tcp(Attempt& attempt);
  void after_handshake(Attempt& attempt, io_result result);
  void won(Attempt& attempt);
  void lost(Attempt& attempt, errc code, std::string why, int sys);
  void drop(Attempt& attempt) noexcept;
  void give_up_if_nothing_is_left();
  void finish(error err);
  void report();
  const std::string& tls_name() const { return to_.tls_name.empty() ? to_.host : to_.tls_name; }
  Loop& loop() const { return owner_.loop_; }

  Connector& owner_;
  endpoint to_;
  connect_settings settings_;
  time_point started_;
  time_point deadline_at_;

  Query query_{*this};
  bool resolving_ = true;
  error resolve_error_;
  std::deque<address> from_dns_;
  std::deque<address> announced_;
  bool announced_may_join_ = false;
  std::vector<address> last_resort_;
  std::vector<address> seen_;  // every candidate once

  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::size_t live_ = 0;
  std::size_t failed_ = 0;
  std::size_t failed_tls_ = 0;
  std::string reasons_;
  int last_sys_ = 0;

  Timer stagger_ = Timer::calling<&Race::on_stagger>(this);
  Timer deadline_ = Timer::calling<&Race::on_deadline>(this);
  Finish finish_;
  bool finished_ = false;
  connect_result result_;
};

Connector::Race::Race(Connector& owner, endpoint to, connect_settings settings, time_point deadline)
    : owner_(owner), to_(std::move(to)), settings_(std::move(settings)), deadline_at_(deadline) {
  finish_.race = this;
  finish_.run = [](Task* task) { static_cast<Finish*>(task)->race->report(); };
}

Connector::Race::~Race() {
  for (auto& attempt : attempts_)
    loop().remove(*attempt);
  loop().undefer(&finish_);
}

void Connector::Race::begin() {
  started_ = loop().refresh_now();
  loop().arm(deadline_, deadline_at_);
  for (const std::string& ip : to_.announced_ips) {
    const auto parsed = address::parse(ip, to_.port);
    if (!parsed || contains(seen_, *parsed)) continue;  // a name in its place: not our business
    seen_.push_back(*parsed);
    announced_.push_back(*parsed);
  }
  if (!announced_.empty()) loop().arm(stagger_, started_ + settings_.stagger);
  owner_.resolver_.resolve(query_, to_.host, to_.port, deadline_at_);
}

void Connector::Race::on_resolved(resolve_result result) {
  if (finished_) return;
  resolving_ = !result.last;
  if (result.err) {
    resolve_error_ = std::move(result.err);
    announced_may_join_ = true;
  }
  for (const address& found : result.addresses) {
    const auto twin = std::find(announced_.begin(), announced_.end(), found);
    if (twin != announced_.end()) {
      announced_.erase(twin);  // DNS says the same: it takes its place there
    } else if (contains(seen_, found)) {
      continue;
    } else {
      seen_.push_back(found);
    }
    from_dns_.push_back(found);
  }
  // With an attempt under way the next one waits for its failure or for the stagger timer.
  if (live_ == 0) {
    start_next();
  } else if (!stagger_.armed()) {
    loop().arm(stagger_, loop().refresh_now());
  }
}

void Connector::Race::on_stagger() {
  announced_may_join_ = true;
  start_next();
}

bool Connector::Race::next_candidate(address& out) {
  const auto avoided = [&](const address& a) { return contains(to_.avoid, a); };
  for (auto* list : {&announced_, &from_dns_}) {
    // The first address that DNS gives goes first, then what the cluster announced, then the rest.
    if (list == &announced_ && !announced_may_join_ && (resolving_ || !from_dns_.empty())) continue;
    while (!list->empty()) {
      out = list->front();
      list->pop_front();
      if (!avoided(out)) return true;
      last_resort_.push_back(out);
    }
  }
  if (live_ > 0 || resolving_ || !announced_.empty() || last_resort_.empty()) return false;
  out = last_resort_.front();
  last_resort_.erase(last_resort_.begin());
  return true;
}

void Connector::Race::start_next() {
  address next;
  while (!finished_ && next_candidate(next)) {
    Attempt& attempt = *attempts_.emplace_back(std::make_unique<Attempt>(*this, next));
    ++live_;
    launch(attempt);
    if (attempt.at == Attempt::stage::over) continue;  // failed at once: the next one now
    loop().arm(stagger_, loop().refresh_now() + settings_.stagger);
    return;
  }
  if (!finished_) give_up_if_nothing_is_left();
}

void Connector::Race::launch(Attempt& attempt) {
  error err;
  attempt.socket = Socket::tcp(attempt.to.family(), err);
  if (!err) err = attempt.socket.apply(settings_.socket);
  if (err) return lost(attempt, errc::connect, err.text, err.sys);
  int sys = 0;
  switch (attempt.socket.start_connect(attempt.to, sys)) {
    case Socket::progress::failed:
      return lost(attempt, errc::connect, errno_text(sys), sys);
    case Socket::progress::connected:
    case Socket::progress::in_progress:
      break;  // writable at once when connected
  }
  sys = loop().add(attempt, attempt.socket.fd(), EPOLLOUT);
  if (sys != 0) lost(attempt, errc::connect, "cannot be watched: " + errno_text(sys), sys);
}

void Connector::Race::step(Attempt& attempt) {
  if (finished_ || attempt.at == Attempt::stage::over) return;
  if (attempt.at == Attempt::stage::tcp) {
    after_tcp(attempt);
  } else {
    after_handshake(attempt, attempt.stream.handshake(io_mode::nonblocking));
  }
  if (!finished_ && attempt.at == Attempt::stage::over) {
    announced_may_join_ = true;
    start_next();
  }
}

void Connector::Race::after_tcp(Attempt& attempt) {
  int sys = 0;
  if (attempt.socket.finish_connect(sys) == Socket::progress::failed) {
    return lost(attempt, errc::connect, errno_text(sys), sys);
  }
  if (error err = attempt.socket.set_blocking(true)) {
    return lost(attempt, errc::connect, err.text, err.sys);
  }
  if (settings_.tls == nullptr) {
    attempt.stream = Stream(std::move(attempt.socket), attempt.to);
    return won(attempt);
  }
  error err;
  auto session = settings_.tls->new_session(attempt.socket.fd(), tls_name(), err);
  if (session == nullptr) return lost(attempt, errc::tls, err.text, err.sys);
  attempt.stream = Stream(std::move(attempt.socket), attempt.to, std::move(session));
  attempt.at = Attempt::stage::tls;
  after_handshake(attempt, attempt.stream.handshake(io_mode::nonblocking));
}

void Connector::Race::after_handshake(Attempt& attempt, io_result result) {
  switch (result.status) {
    case io_status::ok:
      return won(attempt);
    case io_status::want_read:
      (void)loop().modify(attempt, EPOLLIN);
      return;
    case io_status::want_write:
      (void)loop().modify(attempt, EPOLLOUT);
      return;
    default: {
      const error err = attempt.stream.last_error();
      return lost(attempt, errc::tls, err.text, err.sys);
    }
  }
}

void Connector::Race::won(Attempt& attempt) {
  loop().remove(attempt);
  attempt.at = Attempt::stage::over;
  result_.stream = std::move(attempt.stream);
  finish({});
}

// `why` by value: it may belong to the attempt, which is dropped first.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void Connector::Race::lost(Attempt& attempt, errc code, std::string why, int sys) {
  drop(attempt);
  announced_may_join_ = true;
  --live_;
  ++failed_;
  if (code == errc::tls) ++failed_tls_;
  last_sys_ = sys;
  if (failed_ > reasons_shown) return;
  if (!reasons_.empty()) reasons_ += "; ";
  reasons_ += attempt.to.to_string() + ": " + why;
}

void Connector::Race::drop(Attempt& attempt) noexcept {
  loop().remove(attempt);
  attempt.at = Attempt::stage::over;
  attempt.socket.close();
  attempt.stream.close();
}

void Connector::Race::give_up_if_nothing_is_left() {
  if (live_ > 0 || resolving_ || !announced_.empty() || !from_dns_.empty()) return;
  if (attempts_.empty()) return finish(std::move(resolve_error_));
  finish({failed_tls_ == failed_ ? errc::tls : errc::connect,
          "cannot connect to " + host_port(to_.host, to_.port), last_sys_});
}

void Connector::Race::on_deadline() {
  if (finished_) return;
  const auto given = std::chrono::ceil<std::chrono::milliseconds>(deadline_at_ - started_).count();
  for (auto& attempt : attempts_) {
    if (attempt->at == Attempt::stage::over) continue;
    lost(*attempt, errc::timed_out,
         attempt->at == Attempt::stage::tcp
             ? "no answer to the TCP connect"
             : "no end of the TLS handshake; does that port speak TLS?",
         0);
  }
  if (resolving_ && !resolve_error_) {
    resolve_error_ = {errc::timed_out, "no address for " + to_.host + ": no answer from DNS"};
  }
  finish({errc::timed_out, "cannot connect to " + host_port(to_.host, to_.port) + " within " +
                               std::to_string(given) + " ms"});
}

void Connector::Race::finish(error err) {
  finished_ = true;
  if (err && err.code != errc::resolve) {
    if (failed_ > reasons_shown) {
      reasons_ += " and " + std::to_string(failed_ - reasons_shown) + " more";
    }
    if (resolve_error_) {
      if (!reasons_.empty()) reasons_ += "; ";
      reasons_ += resolve_error_.text;
    }
    if (!reasons_.empty()) err.text += ": " + reasons_;
  }
  result_.err = std::move(err);
  query_.cancel();
  loop().cancel(stagger_);
  loop().cancel(deadline_);
  for (auto& attempt : attempts_)
    drop(*attempt);
  loop().defer(&finish_);
}

void Connector::Race::report() {
  ConnectHandler& handler = owner_.handler_;
  connect_result result = std::move(result_);
  owner_.race_.reset();  // *this is gone
  handler.on_connect(std::move(result));
}

Connector::Connector(Loop& loop, Resolver& resolver, ConnectHandler& handler)
    : loop_(loop), resolver_(resolver), handler_(handler) {}

Connector::~Connector() = default;

void Connector::start(endpoint to, connect_settings settings, time_point deadline) {
  cancel();
  race_ = std::make_unique<Race>(*this, std::move(to), std::move(settings), deadline);
  race_->begin();
}

void Connector::cancel() noexcept {
  race_.reset();
}

bool Connector::running() const noexcept {
  return race_ != nullptr;
}

}  // namespace slotwise::net
