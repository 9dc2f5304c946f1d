// Certificates made on the spot and a small TLS server for the tests of lib/net.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support.hpp"

namespace net_test {

struct openssl_free {
  void operator()(::X509* p) const { X509_free(p); }
  void operator()(::EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(::SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(::SSL* p) const { SSL_free(p); }
};

struct Certificate {
  std::unique_ptr<::X509, openssl_free> cert;
  std::unique_ptr<::EVP_PKEY, openssl_free> key;

  std::string pem() const;
  std::string key_pem(const std::string& password = "") const;
};

Certificate make_ca(const std::string& common_name);
// `names` as OpenSSL writes them: "DNS:a.test,IP:127.0.0.1"; empty: none. Valid from now on for
// `days` (negative: expired).
Certificate make_leaf(const Certificate& issuer, const std::string& common_name,
                      const std::string& names, int days = 1);
Certificate make_self_signed(const std::string& common_name, const std::string& names);

// A folder that goes with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  std::string write(const std::string& name, const std::string& content) const;  // gives the path
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TlsServer {
 public:
  struct options {
    const Certificate* client_ca = nullptr;  // asks for a client certificate of this CA
    std::function<void(::SSL*)> serve;       // default: echo until the client goes
    std::string ip = "127.0.0.1";
    std::uint16_t port = 0;
    int max_version = 0;
  };
  explicit TlsServer(const Certificate& identity);
  TlsServer(const Certificate& identity, options o);

  std::uint16_t port() const { return server_->port(); }
  int accepted() const { return server_->accepted(); }
  std::vector<std::string> names() const;    // SNI of each handshake, "" where none was sent
  std::vector<std::string> clients() const;  // common name of each client certificate

 private:
  void handle(int fd);
  std::unique_ptr<::SSL_CTX, openssl_free> ctx_;
  options options_;
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::vector<std::string> clients_;
  std::unique_ptr<Server> server_;  // last: its thread uses the rest
};

void echo(::SSL* ssl);

}  // namespace net_test
