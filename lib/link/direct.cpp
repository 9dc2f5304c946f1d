#include "link/direct.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace slotwise::link {
namespace {

// A connection that was idle for longer is looked at before use: the server may have closed it.
// Looking costs a system call, so it is not done between the calls of a busy caller. A read that is
// lost is sent again; a write is not, so less is taken on trust.
constexpr auto trusted_for_reads = std::chrono::milliseconds(5);
constexpr auto trusted_for_writes = std::chrono::microseconds(200);
constexpr std::size_t read_at_once = 16 * 1024;
constexpr std::chrono::milliseconds least_wait(1);

}  // namespace

DirectConnection::DirectConnection(DirectPool& pool, std::size_t slot, Established established)
    : pool_(pool),
      slot_(slot),
      stream_(std::move(established.stream)),
      parser_(std::move(established.parser)) {
  run = [](net::Task* task) {
    auto* self = static_cast<DirectConnection*>(task);
    self->pool_.destroy(*self);
  };
  // No interest in data, that is the user's business: only the end of the connection is watched.
  // Failing to watch is harmless: still_good() notices later.
  (void)pool_.loop_.add(*this, stream_.fd(), EPOLLRDHUP);
}

DirectConnection::~DirectConnection() {
  pool_.loop_.remove(*this);
}

void DirectConnection::on_events(std::uint32_t /*events*/) {
  // A user that is reading gets to see the end by itself, after the last bytes.
  pool_.loop_.remove(*this);
  pool_.doom(*this, false);
}

Error DirectConnection::broken(std::string why, bool sent) {
  usable_ = false;
  return Error(ErrorCode::connection_lost, sent ? Outcome::unknown : Outcome::not_sent,
               std::move(why));
}

/// Reads what came while nobody used the connection. Pushes are fine; anything else is not.
bool DirectConnection::still_good() {
  const net::io_result got =
      stream_.read(parser_->prepare(read_at_once), net::io_mode::nonblocking);
  parser_->commit(got.bytes);
  if (got.bytes > 0) return only_pushes_left();
  return got.status == net::io_status::want_read;
}

/// False: bytes are there that belong to no call.
bool DirectConnection::only_pushes_left() {
  while (parser_->buffered() > 0) {
    Reply ignored;
    if (parser_->next(ignored) != resp::Status::push) return false;
  }
  return true;
}

Exchange DirectConnection::exchange(std::string_view bytes, bool careful, TimePoint now,
                                    TimePoint deadline, milliseconds silence_limit,
                                    ReplyView& reply) {
  if (went_bad_while_idle(careful, now)) [[unlikely]] {
    return {Exchange::Status::failed, broken("the node closed the idle connection", false)};
  }
  stream_.set_blocking_timeout(std::min<net::duration>(silence_limit, deadline - now));
  owes_ = true;
  const net::io_result put = stream_.write(std::span<const char>(bytes), net::io_mode::blocking);
  if (put.status != net::io_status::ok) [[unlikely]] {
    return {Exchange::Status::failed, not_written(put)};
  }
  const net::io_result got = stream_.read(parser_->prepare(read_at_once), net::io_mode::blocking);
  parser_->commit(got.bytes);
  if (got.bytes == 0) [[unlikely]] {
    return not_read(got, deadline);
  }
  if (next_reply(true, reply) == resp::Status::reply) [[likely]] {
    last_used_ = now;
    note_reply(true);
    if (!reply.is_error()) successes_.add();
    return {};
  }
  Exchange rest = receive(deadline, silence_limit, true, reply);
  if (rest.status == Exchange::Status::reply && !reply.is_error()) successes_.add();
  return rest;
}

std::optional<Error> DirectConnection::send(std::string_view bytes, bool careful, TimePoint now,
                                            TimePoint deadline, milliseconds silence_limit,
                                            std::size_t& sent) {
  if (went_bad_while_idle(careful, now))
    return broken("the node closed the idle connection", false);
  stream_.set_blocking_timeout(std::min<net::duration>(silence_limit, deadline - now));
  owes_ = true;
  const net::io_result put = stream_.write(std::span<const char>(bytes), net::io_mode::blocking);
  sent = put.bytes;
  if (put.status == net::io_status::ok) return std::nullopt;
  return not_written(put);
}

Exchange DirectConnection::receive(TimePoint deadline, milliseconds silence_limit, bool last,
                                   ReplyView& reply) {
  for (;;) {
    // It may have come with the one before it.
    const bool amid = parser_->buffered() > 0;
    if (amid) {
      const resp::Status status = next_reply(last, reply);
      if (status == resp::Status::reply) {
        note_reply(last);
        return {};
      }
      if (status == resp::Status::error) {
        return {Exchange::Status::failed,
                Error(ErrorCode::protocol, Outcome::unknown,
                      "not a RESP reply: " + std::string(parser_->protocol_error()))};
      }
    }
    const TimePoint now = Clock::now();
    if (amid && now >= deadline) {
      return {Exchange::Status::expired,
              Error(ErrorCode::timeout, Outcome::unknown, "the deadline passed amid the reply")};
    }
    // What lies in the socket already is taken even when the time is up.
    last_used_ = now;
    stream_.set_blocking_timeout(std::clamp<net::duration>(
        deadline - now, least_wait, std::max<net::duration>(silence_limit, least_wait)));
    const net::io_result got = stream_.read(parser_->prepare(read_at_once), net::io_mode::blocking);
    parser_->commit(got.bytes);
    if (got.bytes == 0) return not_read(got, deadline);
  }
}

bool DirectConnection::went_bad_while_idle(bool careful, TimePoint now) {
  const net::duration trusted = careful ? net::duration(trusted_for_writes) : trusted_for_reads;
  return now - last_used_ > trusted && !still_good();
}

void DirectConnection::note_reply(bool last) noexcept {
  if (last) owes_ = false;
  replies_.add();
}

Error DirectConnection::not_written(const net::io_result& put) {
  return broken(put.status == net::io_status::timed_out
                    ? "the node took no bytes for too long"
                    : "the connection broke while writing: " + stream_.last_error().text,
                put.bytes > 0);
}

Exchange DirectConnection::not_read(const net::io_result& got, TimePoint deadline) {
  if (got.status == net::io_status::timed_out) {
    const bool expired = Clock::now() >= deadline;
    return {expired ? Exchange::Status::expired : Exchange::Status::failed,
            Error(expired ? ErrorCode::timeout : ErrorCode::connection_lost, Outcome::unknown,
                  "the node was silent while it owed a reply")};
  }
  return {Exchange::Status::failed,
          broken(got.status == net::io_status::eof
                     ? "the node closed the connection"
                     : "the connection broke: " + stream_.last_error().text,
                 true)};
}

/// A reply as it lies; pushes are passed over. Bytes behind the last one belong to no call, and end
/// the connection's use.
resp::Status DirectConnection::next_reply(bool last, ReplyView& reply) {
  if (!parser_->next_scalar(reply)) {
    resp::Status status = resp::Status::push;
    while (status == resp::Status::push)
      status = parser_->next(whole_);
    if (status != resp::Status::reply) return status;
    reply = ReplyView(whole_);
  }
  if (last && parser_->buffered() > 0) [[unlikely]] {
    Reply kept = reply.take();  // the next look into the parser ends the view
    whole_ = std::move(kept);
    reply = ReplyView(whole_);
    if (!only_pushes_left()) usable_ = false;
  }
  return resp::Status::reply;
}

// --- the pool --------------------------------------------------------------------------------

DirectPool::~DirectPool() {
  doom_all(true);
}

DirectConnection* DirectPool::acquire() noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    if (idle_[i].load(std::memory_order_relaxed) == nullptr) continue;
    if (DirectConnection* taken = idle_[i].exchange(nullptr)) return taken;
  }
  return nullptr;
}

void DirectPool::release(DirectConnection& connection) noexcept {
  std::atomic<DirectConnection*>& slot = idle_[connection.slot_];
  const std::atomic<bool>& doomed = doomed_[connection.slot_];
  if (!connection.whole_.is_nil()) connection.whole_ = Reply();
  if (connection.usable_ && !connection.owes_ && !doomed.load()) {
    // doom() marks first and looks into the slot then; we store first and look at the mark then:
    // one of the two sees the other, and the exchange decides who takes the connection out. From
    // the store on the connection may be gone; what the exchange gives is ours again.
    slot.store(&connection);
    if (!doomed.load()) return;
    DirectConnection* taken = slot.exchange(nullptr);
    if (taken != nullptr) loop_.post(taken);
    return;
  }
  loop_.post(&connection);
}

void DirectPool::add(Established established) {
  for (std::size_t i = 0; i < size_; ++i) {
    const bool used = std::any_of(connections_.begin(), connections_.end(),
                                  [&](const auto& c) { return c->slot_ == i; });
    if (used) continue;
    connections_.push_back(std::make_unique<DirectConnection>(*this, i, std::move(established)));
    count_.store(connections_.size());
    doomed_[i].store(false);
    idle_[i].store(connections_.back().get());
    return;
  }
}

void DirectPool::doom(DirectConnection& connection, bool cut) noexcept {
  doomed_[connection.slot_].store(true);
  if (cut) connection.stream_.shutdown_now();
  if (idle_[connection.slot_].exchange(nullptr) == &connection) destroy(connection);
}

void DirectPool::doom_all(bool cut) noexcept {
  for (std::size_t i = connections_.size(); i-- > 0;)
    doom(*connections_[i], cut);
}

void DirectPool::destroy(DirectConnection& connection) noexcept {
  replies_of_closed_ += connection.replies();
  successes_of_closed_ += connection.successes();
  std::erase_if(connections_, [&](const auto& c) { return c.get() == &connection; });
  count_.store(connections_.size());
}

std::uint64_t DirectPool::replies() const noexcept {
  std::uint64_t sum = replies_of_closed_;
  for (const auto& c : connections_)
    sum += c->replies();
  return sum;
}

std::uint64_t DirectPool::successes() const noexcept {
  std::uint64_t sum = successes_of_closed_;
  for (const auto& c : connections_)
    sum += c->successes();
  return sum;
}

}  // namespace slotwise::link
