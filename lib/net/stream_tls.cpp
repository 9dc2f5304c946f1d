// The TLS half of Stream.
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "net/fork.hpp"
#include "net/stream.hpp"
#include "net/tls_state.hpp"

namespace slotwise::net {
namespace {

constexpr std::size_t record_size = 16 * 1024;  // the most that one TLS record holds

int clamp_size(std::size_t size) noexcept {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

bool Stream::has_pending() const noexcept {
  // SSL_has_pending() also counts the first half of a record; after a read that found nothing
  // whole it would send the caller round in circles, hence drained_.
  return ssl_ != nullptr && !drained_ && !broken_ && SSL_has_pending(ssl_) == 1;
}

const char* Stream::tls_version() const noexcept {
  return ssl_ != nullptr ? SSL_get_version(ssl_) : "";
}

io_result Stream::handshake(io_mode mode) {
  if (ssl_ == nullptr) return {};
  if (broken_) return {0, io_status::failed};
  tls_->flags = mode == io_mode::nonblocking ? MSG_DONTWAIT : 0;
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl_);
  if (returned == 1) return {};
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
      return {0, mode == io_mode::nonblocking ? io_status::want_read : io_status::timed_out};
    case SSL_ERROR_WANT_WRITE:
      return {0, mode == io_mode::nonblocking ? io_status::want_write : io_status::timed_out};
    default:
      broken_ = true;
      error_ = handshake_error(*tls_);
      return {0, io_status::failed};
  }
}

io_result Stream::tls_read(std::span<char> into, io_mode mode) {
  if (broken_) return {0, io_status::failed};
  if (into.empty()) return {};
  tls_->flags = mode == io_mode::nonblocking ? MSG_DONTWAIT : 0;
  ERR_clear_error();
  const int returned = SSL_read(ssl_, into.data(), clamp_size(into.size()));
  if (returned > 0) {
    drained_ = false;
    return {static_cast<std::size_t>(returned), io_status::ok};
  }
  drained_ = true;
  return tls_result(returned, mode, "TLS read failed: ");
}

io_result Stream::tls_write(std::span<const char> data, io_mode mode) {
  if (broken_) return {0, io_status::failed};
  tls_->flags = mode == io_mode::nonblocking ? MSG_DONTWAIT : 0;
  io_result result;
  while (result.bytes < data.size()) {  // one record a turn (SSL_MODE_ENABLE_PARTIAL_WRITE)
    ERR_clear_error();
    const int returned =
        SSL_write(ssl_, data.data() + result.bytes, clamp_size(data.size() - result.bytes));
    if (returned <= 0) {
      result.status = tls_result(returned, mode, "TLS write failed: ").status;
      break;
    }
    result.bytes += static_cast<std::size_t>(returned);
  }
  return result;
}

io_result Stream::tls_write_parts(std::span<const ::iovec> parts, io_mode mode) {
  // Small parts are put together into whole records: each record costs a header, a tag and a
  // system call. Large parts go in place. What is offered in a turn depends only on the bytes
  // that are left, so a retry offers at least what the interrupted attempt did, as OpenSSL asks.
  char stage[record_size];
  io_result result;
  std::size_t skip = 0;  // bytes of parts[0] that are already taken
  while (!parts.empty()) {
    const auto* base = static_cast<const char*>(parts[0].iov_base) + skip;
    std::span<const char> turn{base, parts[0].iov_len - skip};
    if (turn.size() < record_size && parts.size() > 1) {
      std::size_t fill = 0;
      for (std::size_t i = 0; i < parts.size() && fill < record_size; ++i) {
        const std::size_t from = i == 0 ? skip : 0;
        const std::size_t take = std::min(parts[i].iov_len - from, record_size - fill);
        if (take == 0) continue;
        std::memcpy(stage + fill, static_cast<const char*>(parts[i].iov_base) + from, take);
        fill += take;
      }
      turn = {stage, fill};
    }
    const io_result wrote = tls_write(turn, mode);
    result.bytes += wrote.bytes;
    result.status = wrote.status;
    if (wrote.status != io_status::ok) break;
    std::size_t advance = wrote.bytes + skip;
    while (!parts.empty() && advance >= parts[0].iov_len) {
      advance -= parts[0].iov_len;
      parts = parts.subspan(1);
    }
    skip = advance;
  }
  return result;
}

io_result Stream::tls_result(int returned, io_mode mode, const char* what) {
  const bool waits = mode == io_mode::nonblocking;
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
      return {0, waits ? io_status::want_read : io_status::timed_out};
    case SSL_ERROR_WANT_WRITE:
      return {0, waits ? io_status::want_write : io_status::timed_out};
    case SSL_ERROR_ZERO_RETURN:
      return {0, io_status::eof};
    default:
      break;
  }
  broken_ = true;
  if (tls_->sys != 0) {
    ERR_clear_error();
    error_ = {errc::system, what + errno_text(tls_->sys), tls_->sys};
    return {0, io_status::failed};
  }
  if (tls_->eof) {  // closed without close_notify: RESP says itself where a reply ends
    ERR_clear_error();
    error_ = {errc::eof, "the server closed the connection"};
    return {0, io_status::eof};
  }
  // With TLS 1.3 the server's word about our certificate arrives here, after the handshake.
  error_ = {errc::tls, what + openssl_reason("unknown reason")};
  return {0, io_status::failed};
}

void Stream::say_goodbye() noexcept {
  // One close_notify if it can be sent without waiting; the peer's is not waited for.
  if (broken_ || generation_ != fork_generation() || SSL_is_init_finished(ssl_) == 0) return;
  tls_->flags = MSG_DONTWAIT;
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

}  // namespace slotwise::net
