#include "tls_support.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace net_test {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("test certificates: ") + what);
}

void set_name(::X509_NAME* name, const std::string& common_name) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
}

void extend(::X509* cert, ::X509* issuer, int nid, const std::string& value) {
  ::X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  ::X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  require(extension != nullptr, value.c_str());
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make(const std::string& common_name, const std::string& names, int days, bool ca,
                 const Certificate* issuer) {
  Certificate result;
  result.key.reset(EVP_EC_gen("P-256"));
  result.cert.reset(X509_new());
  ::X509* cert = result.cert.get();
  require(cert != nullptr && result.key != nullptr, "key");
  X509_set_version(cert, 2);
  static long serial = 1000;
  ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -10L * 24 * 3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), days * 24L * 3600);
  X509_set_pubkey(cert, result.key.get());
  set_name(X509_get_subject_name(cert), common_name);
  ::X509* parent = issuer != nullptr ? issuer->cert.get() : cert;
  X509_set_issuer_name(cert, X509_get_subject_name(parent));
  extend(cert, parent, NID_basic_constraints, ca ? "critical,CA:TRUE" : "CA:FALSE");
  if (ca) extend(cert, parent, NID_key_usage, "critical,keyCertSign,cRLSign");
  if (!names.empty()) extend(cert, parent, NID_subject_alt_name, names);
  ::EVP_PKEY* signer = issuer != nullptr ? issuer->key.get() : result.key.get();
  require(X509_sign(cert, signer, EVP_sha256()) > 0, "signature");
  return result;
}

std::string text_of(::BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string result(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return result;
}

}  // namespace

std::string Certificate::pem() const {
  ::BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, cert.get());
  return text_of(bio);
}

std::string Certificate::key_pem(const std::string& password) const {
  ::BIO* bio = BIO_new(BIO_s_mem());
  const ::EVP_CIPHER* cipher = password.empty() ? nullptr : EVP_aes_128_cbc();
  PEM_write_bio_PKCS8PrivateKey(bio, key.get(), cipher, password.c_str(),
                                static_cast<int>(password.size()), nullptr, nullptr);
  return text_of(bio);
}

Certificate make_ca(const std::string& common_name) {
  return make(common_name, "", 30, true, nullptr);
}

Certificate make_leaf(const Certificate& issuer, const std::string& common_name,
                      const std::string& names, int days) {
  return make(common_name, names, days, false, &issuer);
}

Certificate make_self_signed(const std::string& common_name, const std::string& names) {
  return make(common_name, names, 30, false, nullptr);
}

Folder::Folder() {
  char pattern[] = "/tmp/slotwise-net-XXXXXX";
  path_ = ::mkdtemp(pattern);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& content) const {
  const std::string path = path_ + "/" + name;
  // A new file that replaces the old one, as rotation tools do it.
  std::ofstream(path + ".new") << content;
  std::filesystem::rename(path + ".new", path);
  return path;
}

void echo(::SSL* ssl) {
  char buffer[16384];
  for (;;) {
    const int n = SSL_read(ssl, buffer, sizeof buffer);
    if (n <= 0) return;
    for (int done = 0; done < n;) {
      const int wrote = SSL_write(ssl, buffer + done, n - done);
      if (wrote <= 0) return;
      done += wrote;
    }
  }
}

TlsServer::TlsServer(const Certificate& identity) : TlsServer(identity, options{}) {}

TlsServer::TlsServer(const Certificate& identity, options o)
    : ctx_(SSL_CTX_new(TLS_server_method())), options_(std::move(o)) {
  if (!options_.serve) options_.serve = echo;
  SSL_CTX_use_certificate(ctx_.get(), identity.cert.get());
  SSL_CTX_use_PrivateKey(ctx_.get(), identity.key.get());
  if (options_.max_version != 0) SSL_CTX_set_max_proto_version(ctx_.get(), options_.max_version);
  if (options_.client_ca != nullptr) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx_.get()), options_.client_ca->cert.get());
    SSL_CTX_set_verify(ctx_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  server_ = std::make_unique<Server>([this](int fd) { handle(fd); }, options_.ip, options_.port);
}

void TlsServer::handle(int fd) {
  const std::unique_ptr<::SSL, openssl_free> ssl{SSL_new(ctx_.get())};
  SSL_set_fd(ssl.get(), fd);
  if (SSL_accept(ssl.get()) != 1) {
    ERR_clear_error();
    return;
  }
  {
    const std::scoped_lock lock{mutex_};
    const char* name = SSL_get_servername(ssl.get(), TLSEXT_NAMETYPE_host_name);
    names_.emplace_back(name != nullptr ? name : "");
    if (::X509* peer = SSL_get1_peer_certificate(ssl.get())) {
      char text[256];
      X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, text, sizeof text);
      clients_.emplace_back(text);
      X509_free(peer);
    }
  }
  options_.serve(ssl.get());
  SSL_shutdown(ssl.get());
  ERR_clear_error();
}

std::vector<std::string> TlsServer::names() const {
  const std::scoped_lock lock{mutex_};
  return names_;
}

std::vector<std::string> TlsServer::clients() const {
  const std::scoped_lock lock{mutex_};
  return clients_;
}

}  // namespace net_test
