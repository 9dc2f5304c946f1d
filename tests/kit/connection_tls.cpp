#include "kit/connection_tls.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace {

struct Deleter {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

std::string reason(const SSL* ssl, int result) {
  const int saved_errno = errno;
  if (const auto code = ERR_get_error(); code != 0) {
    char text[256];
    ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    return text;
  }
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_ZERO_RETURN:
      return "closed by the server";
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return "time limit passed";  // blocking socket: SO_RCVTIMEO
    default:
      return saved_errno != 0 ? std::strerror(saved_errno) : "closed by the server";
  }
}

SSL* ssl_of(redisContext* context) {
  return static_cast<SSL*>(context->privctx);
}

ssize_t failed(redisContext* context, int result) {
  const auto text = reason(ssl_of(context), result);
  context->err = REDIS_ERR_IO;
  const auto length = std::min(text.size(), sizeof context->errstr - 1);
  std::memcpy(context->errstr, text.data(), length);
  context->errstr[length] = '\0';
  return -1;
}

int clamp(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

ssize_t tls_read(redisContext* context, char* buffer, std::size_t size) {
  errno = 0;
  const int got = SSL_read(ssl_of(context), buffer, clamp(size));
  return got > 0 ? got : failed(context, got);
}

ssize_t tls_write(redisContext* context) {
  errno = 0;
  const int sent = SSL_write(ssl_of(context), context->obuf, clamp(sdslen(context->obuf)));
  return sent > 0 ? sent : failed(context, sent);
}

void tls_free(void* ssl) {
  SSL_free(static_cast<SSL*>(ssl));
}

void close_socket(redisContext* context) {
  if (context->fd >= 0) ::close(context->fd);
  context->fd = -1;
}

const redisContextFuncs tls_functions = {.close = close_socket,
                                         .free_privctx = tls_free,
                                         .async_read = nullptr,
                                         .async_write = nullptr,
                                         .read = tls_read,
                                         .write = tls_write};

Owned<SSL> make_ssl(const ClientTls& tls) {
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (!context) throw Error("cannot make a TLS context");
  if (!tls.ca_file.empty()) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (SSL_CTX_load_verify_locations(context.get(), tls.ca_file.c_str(), nullptr) != 1) {
      throw Error(fmt::format("cannot read {}", tls.ca_file));
    }
  }
  if (!tls.cert_file.empty() &&
      (SSL_CTX_use_certificate_chain_file(context.get(), tls.cert_file.c_str()) != 1 ||
       SSL_CTX_use_PrivateKey_file(context.get(), tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1)) {
    throw Error(fmt::format("cannot read {} and {}", tls.cert_file, tls.key_file));
  }
  Owned<SSL> ssl(SSL_new(context.get()));
  if (!ssl) throw Error("cannot make a TLS session");
  if (!tls.server_name.empty()) {
    SSL_set_tlsext_host_name(ssl.get(), tls.server_name.c_str());
    if (!tls.ca_file.empty()) SSL_set1_host(ssl.get(), tls.server_name.c_str());
  }
  return ssl;
}

}  // namespace

void start_tls_on(redisContext& context, const ClientTls& tls) {
  auto ssl = make_ssl(tls);
  SSL_set_fd(ssl.get(), context.fd);
  errno = 0;
  if (const int result = SSL_connect(ssl.get()); result != 1) {
    throw Error("TLS: " + reason(ssl.get(), result));
  }
  context.privctx = ssl.release();
  context.funcs = &tls_functions;
}

}  // namespace slotwise::kit
