// Theme 5: every node of a TLS cluster is verified by its own name, and nothing is downgraded.
#include <fmt/format.h>

#include "kit/cluster.hpp"
#include "kit/dns_responder.hpp"
#include "kit/server.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// Each node's certificate has its own hostname and nothing else.
kit::ClusterOptions named_only(std::shared_ptr<kit::DnsResponder> dns) {
  return {.primaries = 3,
          .hostnames = true,
          .dns = std::move(dns),
          .tls = true,
          .certificate = [](std::size_t node, kit::CertificateOptions& certificate) {
            certificate.dns = {fmt::format("n{}.lab.test", node + 1)};
            certificate.ips.clear();
          }};
}

void use_all_nodes(const Client& client) {
  for (int i = 0; i < 30; ++i)
    client.set(fmt::format("key{}", i), "v");
  CHECK(client.dbsize() == 30);
}

}  // namespace

TEST_CASE("B26: the map gives names, and each node is verified by its own") {
  const auto dns = std::make_shared<kit::DnsResponder>();
  kit::Cluster cluster(named_only(dns));
  use_all_nodes(Client::connect(cluster.uri()));
}

TEST_CASE("B26: the map gives addresses with hostnames beside them: the hostname is verified") {
  const auto dns = std::make_shared<kit::DnsResponder>();
  auto options = named_only(dns);
  options.preferred_endpoint_type = "ip";
  kit::Cluster cluster(std::move(options));
  const Client client = Client::connect(cluster.uri());
  use_all_nodes(client);
  for (const auto& node : client.topology().nodes)
    CHECK(node.endpoint.starts_with("127.0.0.1:"));
}

TEST_CASE("B26: addresses only, and certificates with names only") {
  kit::Cluster cluster({.primaries = 3,
                        .tls = true,
                        .certificate = [](std::size_t, kit::CertificateOptions& certificate) {
                          certificate.dns = {"cache.example.test"};
                          certificate.ips.clear();
                        }});
  Config config = Config::parse(cluster.uri());
  config.timeout = 1s;
  SECTION("is refused, and the error names what was expected and what came") {
    const Error e = error_of([&] { return Client::connect(config).dbsize(); });
    INFO(e.what());
    CHECK(e.code() == ErrorCode::tls_failed);
    CHECK(e.outcome() == Outcome::not_sent);
    CHECK(e.message().find("127.0.0.1") != std::string_view::npos);
    CHECK(e.message().find("cache.example.test") != std::string_view::npos);
  }
  SECTION("a name for all nodes is a way") {
    config.tls.server_name = "cache.example.test";
    use_all_nodes(Client::connect(config));
  }
  SECTION("a wrong one is not") {
    config.tls.server_name = "other.example.test";
    const Error e = error_of([&] { return Client::connect(config).dbsize(); });
    CHECK(e.code() == ErrorCode::tls_failed);
    CHECK(e.message().find("other.example.test") != std::string_view::npos);
  }
  SECTION("switching the check of names off is a way, and is asked for") {
    config.tls.verify_name = false;
    use_all_nodes(Client::connect(config));
  }
}

TEST_CASE("B28: TLS to a port that does not speak it, and the other way round") {
  Config config;
  config.timeout = 1500ms;
  config.connect_timeout = 500ms;
  const auto start = Clock::now();
  SECTION("TLS to a plain server, which waits silently") {
    const kit::Server server;
    config.endpoints = {{server.address().host, server.address().port}};
    config.tls.enabled = true;
    config.tls.verify_chain = config.tls.verify_name = false;
    const Error e = error_of([&] { return Client::connect(config).get("foo"); });
    INFO(e.what());
    CHECK((e.code() == ErrorCode::tls_failed || e.code() == ErrorCode::connect_failed));
    CHECK(e.outcome() == Outcome::not_sent);
  }
  SECTION("TLS to somebody who answers at once in plain text") {
    ScriptedNode node;
    config.endpoints = {{node.host(), node.port()}};
    config.tls.enabled = true;
    config.tls.verify_chain = config.tls.verify_name = false;
    const Error e = error_of([&] { return Client::connect(config).get("foo"); });
    INFO(e.what());
    CHECK((e.code() == ErrorCode::tls_failed || e.code() == ErrorCode::connect_failed));
  }
  SECTION("plain to a TLS server") {
    const kit::TempDir folder("b28");
    const auto ca = std::make_shared<const kit::CertificateAuthority>(folder.path());
    const kit::Server server({.ca = ca});
    config.endpoints = {{server.address().host, server.address().port}};
    const Error e = error_of([&] { return Client::connect(config).get("foo"); });
    INFO(e.what());
    CHECK(e.outcome() == Outcome::not_sent);
  }
  CHECK(ms_since(start) < 2500);
}
