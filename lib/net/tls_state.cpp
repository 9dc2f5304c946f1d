#include "net/tls_state.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "net/address.hpp"

namespace slotwise::net {
namespace {

// --- BIO over recv()/send(): OpenSSL's own would use read()/write(), which can neither be told
// per call not to wait nor be kept from raising SIGPIPE.

int bio_read(::BIO* bio, char* into, int size) {
  auto* state = static_cast<TlsState*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ::ssize_t n = 0;
  do {
    n = ::recv(state->fd, into, static_cast<std::size_t>(size), state->flags);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      BIO_set_retry_read(bio);
    } else {
      state->sys = errno;
    }
    return -1;
  }
  if (n == 0) state->eof = true;
  if (state->first_size < state->first.size()) {
    const std::size_t take =
        std::min(static_cast<std::size_t>(n), state->first.size() - state->first_size);
    std::memcpy(state->first.data() + state->first_size, into, take);
    state->first_size += take;
  }
  return static_cast<int>(n);
}

int bio_write(::BIO* bio, const char* data, int size) {
  auto* state = static_cast<TlsState*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ::ssize_t n = 0;
  do {
    n = ::send(state->fd, data, static_cast<std::size_t>(size), state->flags | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      BIO_set_retry_write(bio);
    } else {
      state->sys = errno;
    }
    return -1;
  }
  return static_cast<int>(n);
}

long bio_ctrl(::BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return static_cast<TlsState*>(BIO_get_data(bio))->eof ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

::BIO_METHOD* bio_method() {
  static ::BIO_METHOD* const method = [] {
    ::BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "slotwise socket");
    if (m != nullptr) {
      BIO_meth_set_read(m, bio_read);
      BIO_meth_set_write(m, bio_write);
      BIO_meth_set_ctrl(m, bio_ctrl);
    }
    return m;
  }();
  return method;
}

// --- words

std::string printable(const unsigned char* data, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned char c = data[i];
    if (c == '\r' || c == '\n') break;
    text += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
  }
  return text;
}

std::string name_text(const ::X509_NAME* name) {
  char* text = X509_NAME_oneline(name, nullptr, 0);
  std::string result = text != nullptr ? text : "";
  OPENSSL_free(text);
  return result.empty() ? "(empty)" : result;
}

std::string alternative_name(const ::GENERAL_NAME* name) {
  if (name->type == GEN_DNS) {
    const ::ASN1_STRING* text = name->d.dNSName;
    return "DNS:" + printable(ASN1_STRING_get0_data(text),
                              static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  if (name->type == GEN_IPADD) {
    const ::ASN1_STRING* bytes = name->d.iPAddress;
    ::sockaddr_in v4{};
    ::sockaddr_in6 v6{};
    std::optional<address> ip;
    if (ASN1_STRING_length(bytes) == 4) {
      v4.sin_family = AF_INET;
      std::memcpy(&v4.sin_addr, ASN1_STRING_get0_data(bytes), 4);
      ip = address::from(reinterpret_cast<::sockaddr*>(&v4), sizeof v4);
    } else if (ASN1_STRING_length(bytes) == 16) {
      v6.sin6_family = AF_INET6;
      std::memcpy(&v6.sin6_addr, ASN1_STRING_get0_data(bytes), 16);
      ip = address::from(reinterpret_cast<::sockaddr*>(&v6), sizeof v6);
    }
    return "IP:" + (ip ? ip->ip() : std::string("(malformed)"));
  }
  return {};
}

// "DNS:a.test, IP:127.0.0.1", or the common name of a certificate without such names.
std::string names_of(::X509* cert) {
  std::string result;
  std::size_t more = 0;
  auto* names =
      static_cast<::GENERAL_NAMES*>(X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const std::string one = alternative_name(sk_GENERAL_NAME_value(names, i));
    if (one.empty()) continue;
    if (result.size() > 300) {
      ++more;
      continue;
    }
    if (!result.empty()) result += ", ";
    result += one;
  }
  GENERAL_NAMES_free(names);
  if (more > 0) result += " and " + std::to_string(more) + " more";
  if (result.empty())
    result = "no alternative names, subject " + name_text(X509_get_subject_name(cert));
  return result;
}

bool unexpected_eof(unsigned long code) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return ERR_GET_LIB(code) == ERR_LIB_SSL &&
         ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  return false;
#endif
}

}  // namespace

void tls_state_free::operator()(TlsState* state) const noexcept {
  delete state;
}

bool TlsState::attach(int socket_fd) {
  fd = socket_fd;
  ::BIO_METHOD* method = bio_method();
  ::BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return false;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);  // takes the reference
  return true;
}

int keep_verify_reason(int ok, ::X509_STORE_CTX* store) {
  if (ok == 1) return 1;
  auto* ssl =
      static_cast<::SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* state = ssl != nullptr ? static_cast<TlsState*>(SSL_get_app_data(ssl)) : nullptr;
  if (state == nullptr || !state->verify_reason.empty()) return 0;

  const int code = X509_STORE_CTX_get_error(store);
  ::X509* leaf = X509_STORE_CTX_get0_cert(store);
  ::X509* current = X509_STORE_CTX_get_current_cert(store);
  if (leaf != nullptr &&
      (code == X509_V_ERR_HOSTNAME_MISMATCH || code == X509_V_ERR_IP_ADDRESS_MISMATCH)) {
    state->verify_reason =
        "expected \"" + state->expected + "\", but the certificate is for " + names_of(leaf);
    return 0;
  }
  state->verify_reason = X509_verify_cert_error_string(code);
  if (current != nullptr) {
    state->verify_reason += " (subject " + name_text(X509_get_subject_name(current)) + ", issuer " +
                            name_text(X509_get_issuer_name(current)) + ")";
  }
  return 0;
}

std::string openssl_reason(const char* otherwise) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return otherwise;
  // Not ERR_reason_error_string() for errno values: it has no text for them.
  if (ERR_SYSTEM_ERROR(code)) return errno_text(ERR_GET_REASON(code));
  const char* text = ERR_reason_error_string(code);
  return text != nullptr ? text : otherwise;
}

error handshake_error(const TlsState& state) {
  if (!state.verify_reason.empty()) {
    ERR_clear_error();
    return {errc::tls, "TLS certificate rejected: " + state.verify_reason};
  }
  const unsigned long code = ERR_peek_last_error();
  // A TLS record starts with its type: 0x14 to 0x17.
  if (state.first_size > 0 && (state.first[0] < 0x14 || state.first[0] > 0x17)) {
    ERR_clear_error();
    // OpenSSL may have stopped after five bytes; the rest of the line makes the better message.
    auto text = state.first;
    std::size_t size = state.first_size;
    const ::ssize_t more = ::recv(state.fd, text.data() + size, text.size() - size, MSG_DONTWAIT);
    if (more > 0) size += static_cast<std::size_t>(more);
    return {errc::tls, "TLS handshake failed: the server does not speak TLS here, it answered \"" +
                           printable(text.data(), size) + "\""};
  }
  const bool cut = state.sys == EPIPE || state.sys == ECONNRESET;
  if (cut || (state.sys == 0 && (code == 0 || unexpected_eof(code)))) {
    ERR_clear_error();
    return {errc::tls,
            "TLS handshake failed: the server closed the connection (does it speak TLS on this "
            "port?)",
            state.sys};
  }
  if (state.sys != 0) {
    ERR_clear_error();
    return {errc::tls, "TLS handshake failed: " + errno_text(state.sys), state.sys};
  }
  const bool alert =
      ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET;
  const std::string reason = openssl_reason("unknown reason");
  return {errc::tls,
          (alert ? "TLS handshake refused by the server: " : "TLS handshake failed: ") + reason};
}

}  // namespace slotwise::net
