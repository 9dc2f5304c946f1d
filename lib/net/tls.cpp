#include "net/tls.hpp"

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/address.hpp"
#include "net/tls_state.hpp"

namespace slotwise::net {
namespace {

struct ctx_free {
  void operator()(::SSL_CTX* ctx) const noexcept { SSL_CTX_free(ctx); }
};
using ctx_ptr = std::unique_ptr<::SSL_CTX, ctx_free>;

error bad(std::string text) {
  return {errc::settings, "TLS: " + std::move(text)};
}

error check_readable(const char* what, const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return {};
  return bad(std::string("cannot read ") + what + " '" + path + "': " + errno_text(errno));
}

// OpenSSL looks a certificate up under "<hash>.<n>" and says nothing about a folder without any.
bool is_hashed_name(const char* name) {
  return std::strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] != '\0' &&
         std::strspn(name + 9, "0123456789") == std::strlen(name + 9);
}

error check_ca_dir(const std::string& path) {
  ::DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return bad("cannot read CA folder '" + path + "': " + errno_text(errno));
  bool found = false;
  while (const ::dirent* entry = ::readdir(dir))
    found = found || is_hashed_name(entry->d_name);
  ::closedir(dir);
  if (found) return {};
  return bad("CA folder '" + path +
             "' has no certificate under a hashed name; run \"openssl rehash\" on it");
}

error load_trust(::SSL_CTX* ctx, const tls_settings& s) {
  if (s.ca_file.empty() && s.ca_dir.empty()) {
    if (SSL_CTX_set_default_verify_paths(ctx) == 1) return {};
    return bad("cannot use the system's certificate store: " + openssl_reason("unknown reason"));
  }
  if (!s.ca_file.empty()) {
    if (error e = check_readable("CA file", s.ca_file)) return e;
    if (SSL_CTX_load_verify_file(ctx, s.ca_file.c_str()) != 1) {
      return bad("CA file '" + s.ca_file + "': " + openssl_reason("no certificate in it"));
    }
  }
  if (!s.ca_dir.empty()) {
    if (error e = check_ca_dir(s.ca_dir)) return e;
    if (SSL_CTX_load_verify_dir(ctx, s.ca_dir.c_str()) != 1) {
      return bad("CA folder '" + s.ca_dir + "': " + openssl_reason("unknown reason"));
    }
  }
  return {};
}

struct password_question {
  const tls_settings& settings;
  bool asked = false;
};

// Always installed: OpenSSL's default would ask on the terminal and block there.
int give_password(char* into, int size, int, void* user) {
  auto* question = static_cast<password_question*>(user);
  question->asked = true;
  if (!question->settings.key_password) return -1;
  try {
    std::string password = question->settings.key_password();
    int length = -1;
    if (password.size() <= static_cast<std::size_t>(size)) {
      // OpenSSL takes the length, not a terminator.
      // NOLINTNEXTLINE(bugprone-not-null-terminated-result)
      std::memcpy(into, password.data(), password.size());
      length = static_cast<int>(password.size());
    }
    OPENSSL_cleanse(password.data(), password.size());
    return length;
  } catch (...) {  // must not pass through C code
    return -1;
  }
}

error load_key(::SSL_CTX* ctx, const tls_settings& s) {
  const std::string& path = s.key_file.empty() ? s.cert_file : s.key_file;
  if (error e = check_readable("key file", path)) return e;
  password_question question{s};
  SSL_CTX_set_default_passwd_cb(ctx, give_password);
  SSL_CTX_set_default_passwd_cb_userdata(ctx, &question);
  const bool loaded = SSL_CTX_use_PrivateKey_file(ctx, path.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(ctx, nullptr);
  SSL_CTX_set_default_passwd_cb(ctx, nullptr);
  if (loaded) return {};
  const unsigned long code = ERR_peek_error();
  const bool mismatch = ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH;
  const std::string reason = openssl_reason("no key in it");
  if (mismatch) {
    return bad("key file '" + path + "' does not belong to certificate '" + s.cert_file + "'");
  }
  if (question.asked) {
    return bad("key file '" + path + "' is encrypted and " +
               (s.key_password ? "the password given is wrong" : "no password was given"));
  }
  return bad("key file '" + path + "': " + reason);
}

error load_identity(::SSL_CTX* ctx, const tls_settings& s) {
  if (s.cert_file.empty()) {
    if (s.key_file.empty()) return {};
    return bad("key file '" + s.key_file + "' given without a certificate file");
  }
  if (error e = check_readable("certificate file", s.cert_file)) return e;
  if (SSL_CTX_use_certificate_chain_file(ctx, s.cert_file.c_str()) != 1) {
    return bad("certificate file '" + s.cert_file + "': " + openssl_reason("no certificate in it"));
  }
  if (error e = load_key(ctx, s)) return e;
  if (SSL_CTX_check_private_key(ctx) != 1) {
    ERR_clear_error();
    return bad("key does not belong to certificate '" + s.cert_file + "'");
  }
  return {};
}

error configure(::SSL_CTX* ctx, const tls_settings& s) {
  SSL_CTX_set_min_proto_version(
      ctx, s.min_version == tls_version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  // One recv() for many small records instead of two for each.
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_default_read_buffer_len(ctx, 64 * 1024);
  if (!s.ciphers.empty() && SSL_CTX_set_cipher_list(ctx, s.ciphers.c_str()) != 1) {
    return bad("ciphers '" + s.ciphers + "': " + openssl_reason("not understood"));
  }
  if (!s.ciphersuites.empty() && SSL_CTX_set_ciphersuites(ctx, s.ciphersuites.c_str()) != 1) {
    return bad("ciphersuites '" + s.ciphersuites + "': " + openssl_reason("not understood"));
  }
  if (s.verify != tls_verify::none) {
    if (error e = load_trust(ctx, s)) return e;
  }
  return load_identity(ctx, s);
}

ctx_ptr build(const tls_settings& settings, error& err) {
  ERR_clear_error();
  ctx_ptr ctx{SSL_CTX_new(TLS_client_method())};
  if (ctx == nullptr) {
    err = bad("OpenSSL gives no context: " + openssl_reason("out of memory"));
    return nullptr;
  }
  err = configure(ctx.get(), settings);
  ERR_clear_error();
  return err ? nullptr : std::move(ctx);
}

// "[::1]" -> "::1", "fe80::1%eth0" -> "fe80::1", "node.test." -> "node.test"
std::string bare_name(std::string_view name) {
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  if (name.find(':') != std::string_view::npos) name = name.substr(0, name.find('%'));
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  return std::string(name);
}

bool expect_name(::SSL* ssl, const std::string& name, bool verify_name) {
  const bool is_ip = address::parse(name, 0).has_value();
  if (!is_ip && SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) return false;  // RFC 6066: names
  if (!verify_name) return true;
  if (is_ip) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, name.c_str()) == 1;
}

}  // namespace

std::shared_ptr<TlsContext> TlsContext::make(tls_settings settings, error& err) {
  std::shared_ptr<TlsContext> result{new TlsContext(std::move(settings))};
  const std::scoped_lock lock{result->mutex_};
  err = result->reload_locked();
  return err ? nullptr : result;
}

TlsContext::~TlsContext() {
  SSL_CTX_free(ctx_);
}

std::vector<TlsContext::file_stamp> TlsContext::stamps() const {
  std::vector<file_stamp> result;
  for (const std::string* path :
       {&settings_.ca_file, &settings_.ca_dir, &settings_.cert_file, &settings_.key_file}) {
    if (path->empty()) continue;
    struct ::stat info {};
    file_stamp stamp;
    if (::stat(path->c_str(), &info) == 0) {
      stamp = {info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size, info.st_ino};
    }
    result.push_back(stamp);
  }
  return result;
}

error TlsContext::reload_locked() {
  stamps_ = stamps();  // before reading: a change meanwhile is seen by the next look
  error err;
  ctx_ptr fresh = build(settings_, err);
  reload_error_ = err;
  if (err) return err;
  SSL_CTX_free(ctx_);  // live connections hold references of their own
  ctx_ = fresh.release();
  return {};
}

error TlsContext::reload() {
  const std::scoped_lock lock{mutex_};
  return reload_locked();
}

error TlsContext::last_reload_error() const {
  const std::scoped_lock lock{mutex_};
  return reload_error_;
}

tls_handle TlsContext::new_session(int fd, std::string_view name, error& err) {
  tls_handle state{new TlsState};
  {
    const std::scoped_lock lock{mutex_};
    if (stamps() != stamps_) (void)reload_locked();  // failed: the old certificates serve on
    ERR_clear_error();
    state->ssl = SSL_new(ctx_);
  }
  state->expected = bare_name(settings_.server_name.empty() ? name : settings_.server_name);
  if (state->ssl == nullptr || !state->attach(fd) ||
      !expect_name(state->ssl, state->expected, settings_.verify == tls_verify::full)) {
    err = bad("cannot start a session for \"" + state->expected +
              "\": " + openssl_reason("out of memory"));
    return nullptr;
  }
  SSL_set_app_data(state->ssl, state.get());
  SSL_set_connect_state(state->ssl);
  const bool verify = settings_.verify != tls_verify::none;
  SSL_set_verify(state->ssl, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                 verify ? keep_verify_reason : nullptr);
  return state;
}

}  // namespace slotwise::net
