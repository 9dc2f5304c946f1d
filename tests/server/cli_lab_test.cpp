#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kit/process.hpp"
#include "kit/temp_dir.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;
using namespace std::chrono_literals;

namespace {

/// Ends the lab whatever becomes of the test.
class LabFolder {
 public:
  ~LabFolder() {
    try {
      (void)run({"down"});
    } catch (...) {  // NOLINT: nothing more can be done
    }
  }
  std::string path() const { return (dir_.path() / "lab").string(); }
  CliResult run(std::vector<std::string> args) const {
    args.insert(args.begin(), "lab");
    args.insert(args.begin() + 2, {"--dir", path()});
    return run_cli(args, {}, 90s);
  }
  nlohmann::json status() const { return nlohmann::json::parse(run({"status", "--json"}).out); }
  bool anything_runs() const { return !kit::servers_working_in(path()).empty() || network_runs(); }
  /// The process with the proxies and the DNS.
  bool network_runs() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline", std::ios::binary);
      std::string words{std::istreambuf_iterator<char>(file), {}};
      std::replace(words.begin(), words.end(), '\0', ' ');
      if (words.find(fmt::format(" lab network --dir {} ", path())) != std::string::npos)
        return true;
    }
    return false;
  }

 private:
  kit::TempDir dir_{"cli-lab"};
};

nlohmann::json node(const nlohmann::json& status, const std::string& name) {
  for (const auto& n : status["nodes"]) {
    if (n["name"] == name) return n;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("lab: servers outlive the command, and everything can happen to them") {
  const LabFolder lab;
  const CliResult up = lab.run({"up", "--primaries", "3", "--replicas", "1"});
  INFO(up.err);
  REQUIRE(up.status == 0);
  REQUIRE(lines_of(up.out).size() == 1);
  const std::string uri = lines_of(up.out)[0];
  CHECK(uri.starts_with("valkey+cluster://"));
  CHECK(run_cli({"exec", "--uri", uri, "SET", "k", "v"}).out == "OK\n");
  CHECK(lab.run({"up"}).status == 1);  // it is there already

  auto status = lab.status();
  CHECK(status["uri"] == uri);
  CHECK(status["nodes"].size() == 6);

  CHECK(lab.run({"kill", "n1"}).status == 0);
  CHECK(node(lab.status(), "n1")["state"] == "down");
  CHECK(lab.run({"restart", "n1", "--address", "new"}).status == 0);
  status = lab.status();
  CHECK(node(status, "n1")["state"] == "up");

  CHECK(lab.run({"kill", "n2", "--signal", "stop"}).status == 0);
  CHECK(node(lab.status(), "n2")["state"] == "stopped");
  CHECK(lab.run({"kill", "n2", "--signal", "SIGCONT"}).status == 0);

  const CliResult moved = lab.run({"migrate", "0-10", "n3"});
  INFO(moved.err);
  CHECK(moved.status == 0);
  CHECK(lab.run({"migrate", "0-10", "n3", "--legacy"}).status == 0);
  CHECK(lab.run({"failover", "n3"}).status == 0);
  CHECK(lab.run({"kill", "n99"}).status == 1);
  CHECK(lab.run({"kill", "n1", "--signal", "BOGUS"}).status == 2);
  CHECK(lab.run({"migrate", "10-0", "n3"}).status == 2);

  CHECK(lab.anything_runs());
  CHECK(lab.run({"down"}).status == 0);
  CHECK_FALSE(lab.anything_runs());
}

TEST_CASE("lab: names and proxies outlive the command too") {
  const LabFolder lab;
  const CliResult up =
      lab.run({"up", "--primaries", "3", "--replicas", "0", "--tls", "--hostnames", "--proxies"});
  INFO(up.err);
  REQUIRE(up.status == 0);
  const std::string uri = lines_of(up.out)[0];
  CHECK(uri.starts_with("valkeys+cluster://n1.lab.test:"));
  CHECK(uri.find("&dns_servers=127.0.0.1:") != std::string::npos);
  const auto set = [&](const char* timeout) {
    return run_cli({"exec", "--uri", uri + "&timeout=" + timeout, "SET", "foo", "v"});
  };
  CHECK(set("10s").out == "OK\n");
  auto status = lab.status();
  CHECK(status["uri"] == uri);
  const std::string seeds = uri.substr(uri.rfind('/', uri.find('?')) + 1);
  const std::string port = seeds.substr(seeds.find(':') + 1, 5);
  CHECK(node(status, "n1")["proxy"].get<std::string>().ends_with(":" + port));
  CHECK_FALSE(node(status, "n1")["address"].get<std::string>().ends_with(":" + port));

  // foo is in slot 12182, at n3.
  CHECK(lab.run({"cut", "n3"}).status == 0);
  CHECK(node(lab.status(), "n3")["fault"] == "cut");
  CHECK(set("1s").status == 1);
  CHECK(lab.run({"heal", "n3"}).status == 0);
  CHECK(node(lab.status(), "n3")["fault"] == "");
  CHECK(set("10s").out == "OK\n");
  CHECK(lab.run({"reset-connections", "n3"}).status == 0);
  CHECK(lab.run({"cut", "n9"}).status == 1);
  CHECK(lab.run({"fault", "n3"}).status == 2);
  CHECK(lab.run({"fault", "n3", "--delay", "30ms", "--one-byte"}).status == 0);
  CHECK(node(lab.status(), "n3")["fault"] == "delay 30 ms, one byte at a time");
  CHECK(set("10s").out == "OK\n");
  CHECK(lab.run({"fault", "n3", "--refuse"}).status == 0);
  CHECK(set("1s").status == 1);
  CHECK(lab.run({"fault", "n3", "--cut-after", "64"}).status == 0);
  CHECK(set("1s").status == 1);  // not even the handshake comes through
  CHECK(lab.run({"heal", "n3"}).status == 0);

  // Another address, but DNS keeps the old one: the map's own ip leads to the node.
  const std::string old = lab.run({"dns", "n3"}).out;
  CHECK(lab.run({"restart", "n3", "--address", "new"}).status == 0);
  CHECK(lab.run({"dns", "n3"}).out == old);
  CHECK(set("20s").out == "OK\n");
  const std::string now = lab.run({"dns", "n3", "real"}).out;
  CHECK(now != old);
  CHECK(node(lab.status(), "n3")["proxy"] == lines_of(now)[0] + ":" + port);
  CHECK(lab.run({"dns", "n3", "nxdomain"}).out == "nxdomain\n");
  CHECK(lab.run({"dns", "n3", "127.0.0.1", "::1"}).out == "127.0.0.1 ::1\n");
  CHECK(lab.run({"dns", "n3", "nowhere"}).status == 1);

  CHECK(lab.network_runs());
  CHECK(lab.run({"down"}).status == 0);
  CHECK_FALSE(lab.anything_runs());
  CHECK_FALSE(std::filesystem::exists(lab.path()));
}

TEST_CASE("lab: without names and proxies there is nothing to cut") {
  const LabFolder lab;
  CHECK(lab.run({"up", "--primaries", "1", "--sentinels", "1", "--proxies"}).status == 2);
  REQUIRE(lab.run({"up", "--primaries", "1", "--replicas", "0"}).status == 0);
  CHECK_FALSE(lab.network_runs());
  CHECK(lab.run({"cut", "n1"}).status == 1);
  CHECK(lab.run({"dns", "n1"}).status == 1);
}

TEST_CASE("lab: Ctrl-C ends the servers of a command in the foreground") {
  const LabFolder lab;
  CliProcess up({"lab", "up", "--dir", lab.path(), "--primaries", "1", "--replicas", "0",
                 "--proxies", "--foreground"});
  REQUIRE(up.wait_for("valkey+cluster://", 30s));
  CHECK(lab.anything_runs());
  CHECK(lab.network_runs());
  up.signal(SIGINT);
  CHECK(up.finish(20s).status == 0);
  CHECK_FALSE(lab.anything_runs());
}

TEST_CASE("lab: Ctrl-C while it starts leaves nothing") {
  const LabFolder lab;
  CliProcess up({"lab", "up", "--dir", lab.path(), "--proxies", "--detach"});
  (void)up.wait_for("started", 10s, true);
  up.signal(SIGINT);
  CHECK(up.finish(30s).status == 1);
  CHECK_FALSE(lab.anything_runs());
}

TEST_CASE("lab: sentinels watch one primary") {
  const LabFolder lab;
  CHECK(lab.run({"up", "--sentinels", "3"}).status == 2);
  const CliResult up = lab.run({"up", "--sentinels", "3", "--primaries", "1", "--replicas", "1"});
  INFO(up.err);
  REQUIRE(up.status == 0);
  CHECK(up.out.starts_with("valkey+sentinel://"));
  const CliResult table = lab.run({"status"});
  CHECK(table.out.find("SLOTS") == std::string::npos);
  auto status = lab.status();
  CHECK(node(status, "s1")["role"] == "primary");
  CHECK(node(status, "w3")["follows"] == "s1");
  CHECK(lab.run({"migrate", "0-10", "s1"}).status == 1);

  CHECK(lab.run({"failover"}).status == 0);
  CHECK(node(lab.status(), "s2")["role"] == "primary");
  CHECK(lab.run({"kill", "s1"}).status == 0);
  CHECK(lab.run({"kill", "w1", "--signal", "stop"}).status == 0);
  status = lab.status();
  CHECK(node(status, "s1")["state"] == "down");
  CHECK(node(status, "w1")["state"] == "stopped");
  // It comes back as what it was, until the sentinels see it.
  CHECK(lab.run({"restart", "s1"}).status == 0);
  status = lab.status();
  if (node(status, "s1")["role"] == "primary") {
    CHECK(node(status, "s1")["trouble"] == "not the sentinels' primary");
  }
  CHECK(lab.run({"down"}).status == 0);
  CHECK_FALSE(lab.anything_runs());
}
