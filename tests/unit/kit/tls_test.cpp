#include "kit/tls.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdio>

#include "kit/temp_dir.hpp"

namespace kit = slotwise::kit;
using namespace std::chrono_literals;

namespace {

using X509Owner = std::unique_ptr<X509, decltype(&X509_free)>;

X509Owner load(const std::filesystem::path& file) {
  std::FILE* in = std::fopen(file.c_str(), "rb");
  REQUIRE(in != nullptr);
  X509* certificate = PEM_read_X509(in, nullptr, nullptr, nullptr);
  std::fclose(in);
  REQUIRE(certificate != nullptr);
  return {certificate, &X509_free};
}

int verify(const std::filesystem::path& ca_file, const kit::Certificate& files) {
  const auto ca = load(ca_file);
  const auto certificate = load(files.cert_file);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, ca.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, certificate.get(), nullptr);
  X509_verify_cert(context);
  const int result = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return result;
}

}  // namespace

TEST_CASE("certificates carry the names asked for and are signed by their CA") {
  const kit::TempDir dir;
  const kit::CertificateAuthority ca(dir.path());
  const auto files = ca.issue({.dns = {"n1.lab.test", "other.test"}, .ips = {"127.0.1.1", "::1"}});
  CHECK(verify(ca.ca_file(), files) == X509_V_OK);
  const auto certificate = load(files.cert_file);
  CHECK(X509_check_host(certificate.get(), "n1.lab.test", 0, 0, nullptr) == 1);
  CHECK(X509_check_host(certificate.get(), "n2.lab.test", 0, 0, nullptr) == 0);
  CHECK(X509_check_ip_asc(certificate.get(), "127.0.1.1", 0) == 1);
  CHECK(X509_check_ip_asc(certificate.get(), "::1", 0) == 1);
  CHECK(X509_check_ip_asc(certificate.get(), "127.0.1.2", 0) == 0);
}

TEST_CASE("expired, future and foreign certificates are told apart") {
  const kit::TempDir dir;
  const kit::CertificateAuthority ca(dir.path() / "a");
  const kit::CertificateAuthority other(dir.path() / "b");
  const auto expired = ca.issue({.file_stem = "old", .valid_from = -48h, .valid_to = -24h});
  CHECK(verify(ca.ca_file(), expired) == X509_V_ERR_CERT_HAS_EXPIRED);
  const auto future = ca.issue({.file_stem = "new", .valid_from = 24h, .valid_to = 48h});
  CHECK(verify(ca.ca_file(), future) == X509_V_ERR_CERT_NOT_YET_VALID);
  CHECK(verify(other.ca_file(), ca.issue({})) != X509_V_OK);

  const kit::CertificateAuthority again(dir.path() / "a");  // taken up, not made anew
  CHECK(verify(ca.ca_file(), again.issue({.file_stem = "again"})) == X509_V_OK);
}
