// Passwords that change while the client runs: Config::credentials_provider, reauthenticate().
#include <atomic>
#include <mutex>
#include <vector>

#include "kit/server.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// What a vault would be: the credentials of now, and how often they were asked for.
class Vault {
 public:
  explicit Vault(Credentials first) : now_(std::move(first)) {}
  void set(Credentials next) {
    const std::scoped_lock lock(mutex_);
    now_ = std::move(next);
  }
  /// One more answer with the old ones, then these.
  void set_after_next(Credentials next) {
    const std::scoped_lock lock(mutex_);
    later_ = std::move(next);
  }
  Credentials ask() {
    const std::scoped_lock lock(mutex_);
    ++asked_;
    Credentials answer = now_;
    if (later_) now_ = *std::exchange(later_, std::nullopt);
    return answer;
  }
  int asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  Credentials now_;
  std::optional<Credentials> later_;
  int asked_ = 0;
};

/// Remembers which node refused new credentials.
struct Refusals : EventSink {
  std::mutex mutex;
  std::vector<std::string> nodes;  // guarded by mutex
  void on_event(const Event& event) override {
    const std::scoped_lock lock(mutex);
    if (event.kind == Event::Kind::auth_refused) nodes.push_back(event.node);
  }
};

/// A server with users app and app2, which may do everything with any key.
struct Fixture {
  kit::Server server{{.user = "app", .password = "first"}};
  std::shared_ptr<Vault> vault = std::make_shared<Vault>(Credentials{"app", "first"});

  Fixture() { server.command("ACL", "SETUSER", "app2", "on", ">other", "~*", "&*", "+@all"); }

  Client client(std::shared_ptr<EventSink> events = nullptr) const {
    Config config;
    config.events = std::move(events);
    config.endpoints = {{server.address().host, server.address().port}};
    config.credentials_provider = [vault = vault] { return vault->ask(); };
    return Client::connect(config);
  }
  void rotate(const std::string& password) {
    server.command("ACL", "SETUSER", "app", "resetpass", ">" + password);
  }
  /// What servers with tokens that expire do.
  void drop_connections() { server.command("CLIENT", "KILL", "USER", "app"); }
};

}  // namespace

TEST_CASE("credentials are asked for at every connect") {
  Fixture f;
  const Client client = f.client();
  client.set("k", "v");
  const int before = f.vault->asked();
  f.rotate("second");
  f.vault->set({"app", "second"});
  f.drop_connections();
  CHECK(client.get("k") == "v");
  CHECK(f.vault->asked() > before);
}

TEST_CASE("credentials that are refused are asked for once more before a call fails") {
  Fixture f;
  const Client client = f.client();
  client.set("k", "v");
  f.rotate("second");
  f.vault->set_after_next({"app", "second"});  // the vault learns of it a moment too late
  f.drop_connections();
  CHECK(client.get("k") == "v");

  // Nothing new: an error at once, and no loop of attempts that would lock the account.
  f.rotate("third");
  const auto tries = [&] { return f.server.command_count("hello").failed; };
  f.drop_connections();
  const auto before = tries();
  const auto start = Clock::now();
  const Error e = error_of([&] { return client.get("k"); });
  CHECK(e.code() == ErrorCode::auth_failed);
  CHECK(e.did_not_run());
  CHECK(ms_since(start) < 1000);
  CHECK(tries() - before <= 3);
  CHECK(std::string(e.what()).find("second") == std::string::npos);
}

TEST_CASE("reauthenticate() gives live connections the identity of now") {
  Fixture f;
  const auto refusals = std::make_shared<Refusals>();
  const Client client = f.client(refusals);
  client.set("k", "v");
  client.async().get("k").get();
  CHECK(client.command<std::string>("ACL", "WHOAMI") == "app");
  const auto connections = f.server.connections_received();

  f.vault->set({"app2", "other"});
  CHECK(client.reauthenticate().has_value());
  CHECK(client.async().command<std::string>("ACL", "WHOAMI").get() == "app2");
  CHECK(f.server.connections_received() == connections);
  kit::wait_until([&] { return client.command<std::string>("ACL", "WHOAMI") == "app2"; }, 5s,
                  "the connections of synchronous callers to be replaced");

  f.vault->set({"app2", "wrong-secret"});
  const auto refused = client.reauthenticate();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == ErrorCode::auth_failed);
  CHECK(refused.error().node() == f.server.address().to_string());
  CHECK(std::string(refused.error().what()).find("wrong-secret") == std::string::npos);
  CHECK(client.async().command<std::string>("ACL", "WHOAMI").get() == "app2");
  const std::scoped_lock lock(refusals->mutex);
  CHECK(refusals->nodes == std::vector<std::string>{f.server.address().to_string()});
}

TEST_CASE("NOPERM: fresh credentials are tried once, if there are any") {
  Fixture f;
  const Client client = f.client();
  client.set("k", "v");
  f.server.command("ACL", "SETUSER", "app", "-get");
  const Error e = error_of([&] { return client.get("k"); });
  CHECK(e.code() == ErrorCode::auth_failed);
  CHECK(e.server_text().starts_with("NOPERM"));
  f.vault->set({"app2", "other"});
  CHECK(client.get("k") == "v");
  CHECK(client.async().get("k").get() == "v");
}
