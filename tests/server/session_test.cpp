// What every connection is told first, on real servers: user, database, names, protocol, TLS.
#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// All lines of CLIENT LIST of a node that come from the client called "billing".
std::vector<std::string> our_lines(kit::Server& server) {
  std::vector<std::string> lines;
  const std::string list = server.command("CLIENT", "LIST").str();
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t end = list.find('\n', at);
    std::string line = list.substr(at, end - at);
    if (line.find(" name=billing ") != std::string::npos) lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("an ACL user, on every node of a cluster") {
  kit::Cluster cluster({.primaries = 3, .user = "app", .password = "p@ss:w/rd"});
  const Client client = Client::connect(cluster.uri());
  for (int i = 0; i < 30; ++i)
    client.set("key" + std::to_string(i), "v");
  CHECK(client.dbsize() == 30);
  Config wrong = Config::parse(cluster.uri());
  wrong.credentials.password = "not-it";
  const Error e = error_of([&] { return Client::connect(wrong).dbsize(); });
  CHECK(e.code() == ErrorCode::auth_failed);
  CHECK(std::string(e.what()).find("not-it") == std::string::npos);
}

TEST_CASE("client name, library name and protocol are told to the server") {
  kit::Cluster cluster({.primaries = 1});
  Config config = Config::parse(cluster.uri());
  config.client_name = "billing";
  const Client client = Client::connect(config);
  client.set("k", "v");
  const bool has_setinfo = cluster.binaries().is_valkey(8) || cluster.binaries().is_redis(7, 2);
  for (const std::string& line : our_lines(cluster.server(0))) {
    INFO(line);
    CHECK(line.find("resp=3") != std::string::npos);
    if (!has_setinfo) continue;
    CHECK(line.find("lib-name=slotwise") != std::string::npos);
    CHECK(line.find(std::string("lib-ver=") + std::string(version())) != std::string::npos);
  }
  CHECK_FALSE(our_lines(cluster.server(0)).empty());
}

TEST_CASE("RESP2 on request gives the same values") {
  kit::Cluster cluster({.primaries = 1});
  Config config = Config::parse(cluster.uri());
  config.protocol = 2;
  config.client_name = "billing";
  const Client client = Client::connect(config);
  (void)client.hset("h", "f", "v");
  CHECK(client.hgetall("h").at("f") == "v");
  CHECK_FALSE(client.get("none"));
  for (const std::string& line : our_lines(cluster.server(0))) {
    CHECK(line.find("resp=2") != std::string::npos);
  }
  CHECK_FALSE(our_lines(cluster.server(0)).empty());
}

TEST_CASE("numbered databases in a cluster, where the server has them") {
  kit::ClusterOptions options{.primaries = 3};
  const bool has_them = kit::ServerBinaries::find().has_cluster_databases();
  if (has_them) options.config.emplace_back("cluster-databases", "16");
  kit::Cluster cluster(options);
  Config config = Config::parse(cluster.uri());
  config.database = 3;
  if (!has_them) {
    const Error e = error_of([&] { return Client::connect(config).dbsize(); });
    CHECK(e.message().find("`db`") != std::string_view::npos);
    return;
  }
  const Client third = Client::connect(config);
  const Client zeroth = Client::connect(cluster.uri());
  for (int i = 0; i < 30; ++i)
    third.set("key" + std::to_string(i), "v");
  CHECK(third.dbsize() == 30);
  CHECK(zeroth.dbsize() == 0);
  CHECK_FALSE(zeroth.get("key1"));
}

TEST_CASE("TLS: nodes are verified, on both ways of a call") {
  kit::Cluster cluster({.primaries = 3, .tls = true});
  const Client client = Client::connect(cluster.uri());
  for (int i = 0; i < 200; ++i)
    client.set("key" + std::to_string(i), std::string(1000, 'x'));
  CHECK(client.get("key7") == std::string(1000, 'x'));
  const std::string large(3'000'000, 'y');
  client.set("large", large);
  CHECK(client.get("large") == large);
  CHECK(client.async().get("large").wait().value() == large);
  std::vector<Task<std::optional<std::string>>> tasks;
  for (int i = 0; i < 200; ++i)
    tasks.push_back(client.async().get("key" + std::to_string(i)));
  for (auto& task : tasks)
    CHECK(task.wait().value()->size() == 1000);

  Config unknown_ca = Config::parse(cluster.uri());
  unknown_ca.tls.ca_file.clear();
  unknown_ca.timeout = 2s;
  const Error e = error_of([&] { return Client::connect(unknown_ca).dbsize(); });
  CHECK(e.code() == ErrorCode::tls_failed);
}

TEST_CASE("one server without a cluster: any keys together, any database") {
  kit::Server server;
  const std::string address = server.address().host + ":" + std::to_string(server.address().port);
  const Client client = Client::connect("valkey://" + address + "/2");
  client.mset({{"a", "1"}, {"b", "2"}});
  CHECK(client.command<std::vector<std::string>>("MGET", "a", "b") ==
        std::vector<std::string>{"1", "2"});
  CHECK(client.dbsize() == 2);
  CHECK(Client::connect("valkey://" + address).dbsize() == 0);
  Pipeline p = client.pipeline();
  (void)p.incr("a");
  const auto b = p.incr("b");
  CHECK(p.exec()[b].value() == 3);
}

TEST_CASE("the server comes back: a single server is found again by itself") {
  kit::Server server;
  const std::string address = server.address().host + ":" + std::to_string(server.address().port);
  Config config = Config::parse("valkey://" + address);
  config.timeout = 10s;
  const Client client = Client::connect(config);
  client.set("k", "v");
  server.kill(SIGKILL);
  Task<std::optional<std::string>> task = client.async().get("k");
  server.restart();
  CHECK(task.wait().has_value());
  client.set("k", "v");
  CHECK(client.get("k") == "v");
}
