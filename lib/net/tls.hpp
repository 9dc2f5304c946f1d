// TLS settings and the context made from them. Thread rule: TlsContext is safe from any thread.
//
// Invariants
//  1. Chain and name are verified unless the settings say otherwise; there is no way back to plain
//     text and no retry without verification.
//  2. A reload that fails (a key that does not match yet, a half-written file) leaves the old
//     certificates in use; it is tried again as soon as one of the files changes again.
//  3. Live connections keep the context they were made with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/error.hpp"
#include "net/tls_handle.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace slotwise::net {

enum class tls_version : std::uint8_t { tls_1_2, tls_1_3 };

enum class tls_verify : std::uint8_t {
  full,   // chain and name
  chain,  // chain only: any node of the same CA is believed
  none,   // encrypts, but does not know with whom
};

struct tls_settings {
  std::string ca_file{};  // PEM, one or more certificates
  std::string ca_dir{};   // folder with hashed names (openssl rehash)
  // With neither of the two: the system's store.
  std::string cert_file{};                      // client certificate (chain), PEM
  std::string key_file{};                       // its key; empty: it is in cert_file
  std::function<std::string()> key_password{};  // called when the key is encrypted
  tls_version min_version = tls_version::tls_1_2;
  tls_verify verify = tls_verify::full;
  std::string server_name{};   // SNI and verified name for every node, instead of its own
  std::string ciphers{};       // TLS 1.2 list in OpenSSL's syntax; empty: OpenSSL's default
  std::string ciphersuites{};  // the same for TLS 1.3
};

class TlsContext {
 public:
  // Null with `err` set when a setting cannot be used.
  static std::shared_ptr<TlsContext> make(tls_settings settings, error& err);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The client side of one connection over `fd` to the node called `name` (a host name or an IP
  // literal; the settings' server_name wins). Looks first whether the files have changed. `fd`
  // stays the caller's.
  tls_handle new_session(int fd, std::string_view name, error& err);

  error reload();  // now, whether the files look changed or not

  // Why the last reload on change did not work; empty when it did.
  error last_reload_error() const;

 private:
  struct file_stamp {
    std::int64_t seconds = 0, nanoseconds = 0, size = 0;
    std::uint64_t inode = 0;
    bool operator==(const file_stamp&) const = default;
  };
  explicit TlsContext(tls_settings settings) : settings_(std::move(settings)) {}
  std::vector<file_stamp> stamps() const;
  error reload_locked();

  const tls_settings settings_;
  mutable std::mutex mutex_;  // guards what follows; never held across network I/O
  ::ssl_ctx_st* ctx_ = nullptr;
  std::vector<file_stamp> stamps_;
  error reload_error_;
};

}  // namespace slotwise::net
