// The kit's single server, on real ones.
#include <catch2/catch_test_macros.hpp>

#include "kit/error.hpp"
#include "kit/server.hpp"
#include "kit/wait.hpp"

namespace kit = slotwise::kit;
using namespace std::chrono_literals;

namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("kit: a server starts, restarts with its data, and is gone with its object") {
  kit::ProcessId process;
  std::filesystem::path dir;
  {
    kit::Server server({.config = {{"appendonly", "yes"}, {"appendfsync", "always"}}});
    process = server.process();
    dir = server.dir();
    CHECK(server.command("SET", "key", std::string("a\0b", 3)).str() == "OK");
    server.restart();
    CHECK(server.process().pid != process.pid);
    CHECK(server.command("GET", "key").str() == std::string("a\0b", 3));
    server.stop();
    CHECK_FALSE(server.running());
    CHECK(has(error_of([&] { server.command("PING"); }), server.address().to_string()));
    server.start();
    server.restart(kit::Address{"127.0.77.1", server.address().port});
    CHECK(server.command("GET", "key").str() == std::string("a\0b", 3));
    process = server.process();
  }
  CHECK_FALSE(kit::is_running(process));
  CHECK_FALSE(std::filesystem::exists(dir));
}

TEST_CASE("kit: a server can be paused and killed") {
  kit::Server server;
  server.pause();
  kit::wait_until([&] { return server.paused(); }, 2s, "it to stop");
  CHECK(server.running());
  CHECK_THROWS_AS(kit::Connection(server.address(), {.resp3 = true, .command_limit = 50ms}),
                  kit::Error);
  server.resume();
  CHECK(server.command("PING").str() == "PONG");
  server.kill(SIGTERM);
  CHECK_FALSE(server.running());
}

TEST_CASE("kit: a server that cannot start tells why") {
  const auto text = error_of([] {
    kit::Server server({.name = "bad", .config = {{"nope", "1"}}});
  });
  CHECK(has(text, "bad on 127.0.0.1:"));
  CHECK(has(text, "ended while starting"));
  CHECK(has(text, "nope 1"));  // from its log
}

TEST_CASE("kit: passwords and users") {
  kit::Server with_password({.password = "pa ss\"word"});
  CHECK(with_password.command("PING").str() == "PONG");
  CHECK(kit::Connection(with_password.address()).try_command("PING").is_error("NOAUTH"));
  CHECK(
      kit::Connection(with_password.address(), {.password = "pa ss\"word"}).command("PING").str() ==
      "PONG");

  kit::Server with_user({.user = "app", .password = "secret"});
  CHECK(with_user.command("ACL", "WHOAMI").str() == with_user.admin_user());
  CHECK(kit::Connection(with_user.address()).try_command("PING").is_error("NOAUTH"));
  kit::Connection app(with_user.address(), {.user = "app", .password = "secret", .resp3 = true});
  CHECK(app.command("ACL", "WHOAMI").str() == "app");
  with_user.command("ACL", "SETUSER", "app", "off");  // the kit's own user is not touched
  CHECK(with_user.command("PING").str() == "PONG");
}

TEST_CASE("kit: TLS with right, wrong and expired certificates") {
  const kit::TempDir dir;
  const auto ca = std::make_shared<const kit::CertificateAuthority>(dir.path());
  const auto connect = [&](const kit::Server& server, const std::string& name) {
    auto tls = std::make_shared<kit::ClientTls>();
    tls->ca_file = ca->ca_file().string();
    tls->server_name = name;
    return kit::Connection(server.address(), {.tls = tls});
  };
  kit::Server good({.ca = ca, .certificate = {.dns = {"node-a.example.test"}}});
  CHECK(good.command("PING").str() == "PONG");
  CHECK(connect(good, "node-a.example.test").command("PING").str() == "PONG");
  CHECK(has(error_of([&] { connect(good, "node-b.example.test"); }), "verify failed"));
  // A plain client gets nothing out of it.
  CHECK_THROWS_AS(kit::Connection(good.address()).command("PING"), kit::Error);

  kit::Server old(
      {.ca = ca, .certificate = {.file_stem = "old", .valid_from = -48h, .valid_to = -24h}});
  CHECK(old.command("PING").str() == "PONG");  // the kit comes in all the same
  CHECK(has(error_of([&] { connect(old, ""); }), "verify failed"));
}

TEST_CASE("kit: counts leave out the kit's own connections") {
  kit::Server server;
  CHECK(server.connections_received() == 0);
  {
    const kit::Connection a(server.address());
    const kit::Connection b(server.address());
    auto own = server.connect();
    own.command("GET", "x");
    own.try_command("GET");
    own.command("SET", "list", "1");
    own.try_command("LPUSH", "list", "x");
  }
  CHECK(server.connections_received() == 2);
  CHECK(server.command_count("get").calls == 1);
  CHECK(server.command_count("get").rejected == 1);
  CHECK(server.command_count("lpush").failed == 1);
  CHECK(server.error_count("WRONGTYPE") == 1);
  server.reset_counts();
  CHECK(server.connections_received() == 0);
  CHECK(server.command_count("get").calls == 0);
  CHECK(server.error_count("WRONGTYPE") == 0);
  server.restart();
  CHECK(server.connections_received() == 0);
  // All of the kit's connections can be cut without harm.
  kit::Connection(server.address()).command("CLIENT", "KILL", "TYPE", "normal");
  CHECK(server.command("PING").str() == "PONG");
}
