// What one TLS connection carries besides its socket; shared by stream_tls.cpp and tls.cpp only.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <string>

#include "net/error.hpp"
#include "net/tls_handle.hpp"

namespace slotwise::net {

// The address of a TlsState is known to its BIO and to OpenSSL's verify callback: it never moves.
struct TlsState {
  TlsState() = default;
  ~TlsState() { SSL_free(ssl); }
  TlsState(const TlsState&) = delete;
  TlsState& operator=(const TlsState&) = delete;

  // Gives the SSL a BIO over `fd`. False: out of memory.
  bool attach(int socket_fd);

  ::SSL* ssl = nullptr;
  int fd = -1;
  int flags = 0;  // MSG_DONTWAIT or 0, set before each call into OpenSSL
  int sys = 0;    // errno of the last failed recv() or send()
  bool eof = false;
  std::string expected;       // the name or ip that the certificate must have
  std::string verify_reason;  // filled by the verify callback

  // First bytes that the peer sent: when they are not TLS, the error can quote them.
  std::array<unsigned char, 96> first{};
  std::size_t first_size = 0;
};

// X509 verify callback that keeps the reason, in words, in the TlsState.
int keep_verify_reason(int ok, ::X509_STORE_CTX* store);

// Why the handshake failed. Reads and empties OpenSSL's error queue.
error handshake_error(const TlsState& state);

// Newest entry of OpenSSL's error queue in words, or `otherwise`; empties the queue.
std::string openssl_reason(const char* otherwise);

}  // namespace slotwise::net
