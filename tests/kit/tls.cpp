#include "kit/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

struct Deleter {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const noexcept { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

[[noreturn]] void fail(const std::string& doing) {
  char text[256] = "unknown error";
  if (const auto code = ERR_get_error(); code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error(fmt::format("cannot {}: {}", doing, text));
}

void need(bool ok, const std::string& doing) {
  if (!ok) fail(doing);
}

// P-256: made in well under a millisecond, where an RSA key takes a hundred.
Owned<EVP_PKEY> make_key() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  need(key != nullptr, "make a key");
  return key;
}

Owned<std::FILE> open_file(const fs::path& file, const char* mode) {
  Owned<std::FILE> opened(std::fopen(file.c_str(), mode));
  if (!opened) throw Error(fmt::format("cannot open {}", file.string()));
  return opened;
}

void write_key(const fs::path& file, EVP_PKEY* key) {
  const auto out = open_file(file, "wb");
  need(PEM_write_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
       "write " + file.string());
}

void write_certificate(const fs::path& file, X509* certificate) {
  const auto out = open_file(file, "wb");
  need(PEM_write_X509(out.get(), certificate) == 1, "write " + file.string());
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  need(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "add " + value);
}

/// All but the signature. `issuer` null: self-signed.
Owned<X509> make_certificate(EVP_PKEY* key, const std::string& common_name, X509* issuer,
                             std::chrono::seconds from, std::chrono::seconds to) {
  Owned<X509> certificate(X509_new());
  need(certificate != nullptr, "make a certificate");
  X509_set_version(certificate.get(), 2);  // X.509 v3
  std::uint64_t serial = 0;
  need(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "make a serial");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), from.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), to.count());
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), issuer != nullptr ? X509_get_subject_name(issuer) : name);
  return certificate;
}

std::string alternative_names(const CertificateOptions& options) {
  std::string names;
  for (const auto& dns : options.dns)
    names += (names.empty() ? "DNS:" : ",DNS:") + dns;
  for (const auto& ip : options.ips)
    names += (names.empty() ? "IP:" : ",IP:") + ip;
  return names;
}

}  // namespace

CertificateAuthority::CertificateAuthority(fs::path folder, std::string common_name)
    : folder_(std::move(folder)), ca_file_(folder_ / "ca.crt"), key_file_(folder_ / "ca.key") {
  if (fs::exists(ca_file_) && fs::exists(key_file_)) return;
  fs::create_directories(folder_);
  const auto key = make_key();
  const auto certificate = make_certificate(key.get(), common_name, nullptr,
                                            std::chrono::hours(-48), std::chrono::hours(24 * 365));
  X509* self = certificate.get();
  add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(self, self, NID_subject_key_identifier, "hash");
  need(X509_sign(self, key.get(), EVP_sha256()) > 0, "sign the CA");
  write_key(key_file_, key.get());
  write_certificate(ca_file_, self);
}

Certificate CertificateAuthority::issue(const CertificateOptions& options) const {
  const auto ca_in = open_file(ca_file_, "rb");
  const Owned<X509> ca(PEM_read_X509(ca_in.get(), nullptr, nullptr, nullptr));
  const auto key_in = open_file(key_file_, "rb");
  const Owned<EVP_PKEY> ca_key(PEM_read_PrivateKey(key_in.get(), nullptr, nullptr, nullptr));
  need(ca && ca_key, "read the CA in " + folder_.string());

  const auto key = make_key();
  const auto certificate = make_certificate(key.get(), options.common_name, ca.get(),
                                            options.valid_from, options.valid_to);
  add_extension(certificate.get(), ca.get(), NID_basic_constraints, "critical,CA:FALSE");
  // Nodes of a cluster are clients of each other.
  add_extension(certificate.get(), ca.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(certificate.get(), ca.get(), NID_authority_key_identifier, "keyid");
  if (const auto names = alternative_names(options); !names.empty()) {
    add_extension(certificate.get(), ca.get(), NID_subject_alt_name, names);
  }
  need(X509_sign(certificate.get(), ca_key.get(), EVP_sha256()) > 0, "sign " + options.file_stem);

  Certificate files{.cert_file = folder_ / (options.file_stem + ".crt"),
                    .key_file = folder_ / (options.file_stem + ".key")};
  write_key(files.key_file, key.get());
  write_certificate(files.cert_file, certificate.get());
  return files;
}

}  // namespace slotwise::kit
