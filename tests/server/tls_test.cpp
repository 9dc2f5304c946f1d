// TLS as an application meets it: whose certificate, for which name, and certificates that change.
#include "kit/server.hpp"
#include "kit/temp_dir.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

struct Authority {
  kit::TempDir dir;
  std::shared_ptr<const kit::CertificateAuthority> ca =
      std::make_shared<kit::CertificateAuthority>(dir.path());

  kit::ServerOptions server(kit::CertificateOptions certificate = {}) const {
    return {.ca = ca, .certificate = std::move(certificate)};
  }
  Config config(const kit::Server& server) const {
    Config config;
    config.endpoints = {{server.address().host, server.address().port}};
    config.tls.enabled = true;
    config.tls.ca_file = ca->ca_file();
    config.timeout = 3s;
    return config;
  }
};

bool says(const Error& error, std::string_view text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

}  // namespace

TEST_CASE("TLS: a certificate for another name is refused, and the error has both names") {
  const Authority authority;
  const kit::Server server(authority.server({.dns = {"cache.example.test"}}));
  Config config = authority.config(server);
  const Error e = error_of([&] { return Client::connect(config).dbsize(); });
  CHECK(e.code() == ErrorCode::tls_failed);
  CHECK(e.did_not_run());
  INFO(e.what());
  CHECK(says(e, server.address().host));
  CHECK(says(e, "cache.example.test"));

  config.tls.server_name = "cache.example.test";
  CHECK(Client::connect(config).dbsize() == 0);
  config.tls.server_name.clear();
  config.tls.verify_name = false;
  CHECK(Client::connect(config).dbsize() == 0);
}

TEST_CASE("TLS: a certificate that is out of date is refused") {
  const Authority authority;
  using std::chrono::hours;
  const kit::Server server(
      authority.server({.ips = {"127.0.0.1"}, .valid_from = hours(-48), .valid_to = hours(-24)}));
  const Error e = error_of([&] { return Client::connect(authority.config(server)).dbsize(); });
  CHECK(e.code() == ErrorCode::tls_failed);
  CHECK(says(e, "expired"));
}

TEST_CASE("TLS: no fall back to plain text, in neither direction") {
  const Authority authority;
  const kit::Server secure(authority.server());
  Config plain;
  plain.endpoints = {{secure.address().host, secure.address().port}};
  plain.timeout = 1s;
  CHECK_THROWS_AS(Client::connect(plain), Error);
  const kit::Server open;
  Config config = authority.config(open);
  config.timeout = 1s;
  config.connect_timeout = 300ms;
  const Error e = error_of([&] { return Client::connect(config).dbsize(); });
  INFO(e.what());
  CHECK(e.did_not_run());
  CHECK(says(e, "TLS"));
  CHECK(open.log_tail().find("Connection with TLS") == std::string::npos);
}

TEST_CASE("TLS: client certificates, and a renewed one is used without a restart") {
  const Authority authority;
  kit::ServerOptions options = authority.server();
  options.config.emplace_back("tls-auth-clients", "yes");
  kit::Server server(options);
  Config config = authority.config(server);
  config.timeout = 1s;
  CHECK_THROWS_AS(Client::connect(config).dbsize(), Error);  // none to show

  using std::chrono::hours;
  const kit::CertificateOptions name{.file_stem = "client", .common_name = "billing"};
  const kit::Certificate own = authority.ca->issue(name);
  config.tls.cert_file = own.cert_file;
  config.tls.key_file = own.key_file;
  const Client client = Client::connect(config);
  client.set("k", "v");

  kit::CertificateOptions expired = name;
  expired.valid_from = hours(-48);
  expired.valid_to = hours(-24);
  authority.ca->issue(expired);
  CHECK(client.get("k") == "v");  // live connections stay
  server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  CHECK_THROWS_AS(client.get("k"), Error);
  authority.ca->issue(name);
  CHECK(client.get("k") == "v");
}
