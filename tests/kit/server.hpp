// One real server process: valkey-server or redis-server, as a single server, a cluster node or a
// sentinel.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kit/config_file.hpp"
#include "kit/connection.hpp"
#include "kit/ports.hpp"
#include "kit/process.hpp"
#include "kit/server_binaries.hpp"
#include "kit/temp_dir.hpp"
#include "kit/tls.hpp"

namespace slotwise::kit {

struct ServerOptions {
  std::string name = "server";               ///< in messages, and the name of its folder
  std::filesystem::path dir{};               ///< parent of its folder; empty: a TempDir of its own
  std::optional<ServerBinaries> binaries{};  ///< default: ServerBinaries::find()
  std::string host = "127.0.0.1";            ///< any address of 127.0.0.0/8
  std::uint16_t port = 0;                    ///< 0: one that is free
  bool sentinel = false;
  std::vector<ConfigLine> config{};  ///< after the kit's own lines, so these win

  /// Both empty: no authentication. Password only: requirepass. User and password: that ACL user,
  /// with the default user off. The kit itself always comes in by a user of its own.
  std::string user{};
  std::string password{};

  std::shared_ptr<const CertificateAuthority> ca{};  ///< not null: TLS only, no plain port
  /// Its own. Names default to the host's address; where they hold that address, the certificate
  /// is made anew when the server is restarted on another one.
  CertificateOptions certificate{};

  /// See ProcessOptions. Read by the server whenever it looks for a name.
  std::filesystem::path hosts_file{};
  Lifetime lifetime = Lifetime::with_test;
  milliseconds start_limit{10000};
};

/// A server that is started by the constructor, answers when that returns, and dies with the
/// object (SIGKILL), or with the test process.
///
/// Thread rule: any thread may call; a call that starts or ends the process excludes the others.
class Server {
 public:
  explicit Server(ServerOptions options = {});
  /// Takes up a detached one (or its remains, if it is not running).
  Server(ServerOptions options, const ProcessId& process);
  /// Prepares all but does not start: for starting many at once with launch() and wait_ready().
  struct Prepared {};
  Server(ServerOptions options, Prepared);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start() {
    launch();
    wait_ready();
  }
  void launch();      ///< starts the process and returns at once
  void wait_ready();  ///< until it answers PING; throws with the tail of its log
  /// SIGTERM and wait (a cluster node with `shutdown-on-sigterm failover` may take its time).
  void stop(milliseconds limit = milliseconds(15000));
  /// Sends the signal. Waits for the end after SIGKILL and SIGTERM; not after STOP, CONT, others.
  void kill(int signal = SIGKILL);
  void pause() { kill(SIGSTOP); }
  void resume() { kill(SIGCONT); }
  /// Ends it if it runs (SIGKILL) and starts it with the same data and config, perhaps elsewhere.
  void restart(std::optional<Address> address = std::nullopt);
  bool running() const;
  bool paused() const;  ///< stopped by SIGSTOP

  /// Changes a line of the configuration file (or adds it) for the next start.
  void set_config(const std::string& name, const std::string& value);
  void drop_config(const std::string& name);
  /// See ConfigFile.
  void replace_config_words(const std::map<std::string, std::string>& words);
  /// The line's value without quotes; empty if there is none.
  std::string config(const std::string& name) const;

  const std::string& name() const noexcept { return options_.name; }
  Address address() const;
  ProcessId process() const;
  const std::filesystem::path& dir() const noexcept { return dir_; }
  std::filesystem::path log_file() const { return dir_ / "server.log"; }
  std::string log_tail(std::size_t lines = 20) const;
  const ServerBinaries& binaries() const noexcept { return *options_.binaries; }
  /// The certificate that it shows; empty without TLS.
  const std::optional<Certificate>& certificate() const noexcept { return certificate_; }
  /// The credentials of the kit's own user (empty without authentication).
  const std::string& admin_user() const noexcept { return admin_user_; }
  const std::string& admin_password() const noexcept { return admin_password_; }

  /// Over a connection that is kept; serialised between threads; made anew after a restart.
  template <class... Args>
  Reply command(const Args&... args) {
    return command_words({Connection::word(args)...});
  }
  template <class... Args>
  Reply try_command(const Args&... args) {
    return try_command_words({Connection::word(args)...});
  }
  Reply command_words(const std::vector<std::string>& words);
  Reply try_command_words(const std::vector<std::string>& words);
  std::vector<Reply> pipeline(const std::vector<std::vector<std::string>>& commands);
  /// A value of INFO ("used_memory"); empty if there is none.
  std::string info(const std::string& field);
  /// The first word of ROLE: "master", "slave", "sentinel".
  std::string role();
  std::string info_section(const std::string& section);

  /// A connection of its own as the kit's user.
  Connection connect() const;
  /// How this server is reached by the kit: TLS and credentials filled in.
  ConnectionOptions connection_options() const;

  /// Counts since the last reset_counts() (CONFIG RESETSTAT). Restarting a server resets too.
  struct CommandCount {
    std::int64_t calls = 0;     ///< executed
    std::int64_t rejected = 0;  ///< not executed: MOVED, wrong arity, NOPERM ...
    std::int64_t failed = 0;    ///< executed with an error
  };
  void reset_counts();
  CommandCount command_count(const std::string& command);  ///< "get", "cluster|slots"
  std::int64_t error_count(const std::string& word);       ///< error replies: "MOVED"
  /// Connections accepted, without the kit's own. Replicas, sentinels and migrating nodes count.
  std::int64_t connections_received();

 private:
  void prepare();
  std::vector<ConfigLine> first_config() const;
  void forget_admin(bool new_process);
  Connection& admin();  // needs admin_mutex_
  Connection open(milliseconds connect_limit) const;
  [[noreturn]] void fail(const std::string& what) const;

  ServerOptions options_;  // host and port: guarded by address_mutex_
  std::optional<TempDir> own_dir_;
  std::filesystem::path dir_;
  std::string admin_user_;
  std::string admin_password_;
  std::optional<Certificate> certificate_;

  // Always taken in this order: work_mutex_, admin_mutex_, address_mutex_.
  std::mutex work_mutex_;           // held while the process is started or ended
  std::optional<Process> process_;  // guarded by work_mutex_
  std::vector<Port> ports_;         // guarded by work_mutex_

  std::mutex admin_mutex_;
  std::unique_ptr<Connection> admin_;                     // guarded by admin_mutex_
  mutable std::atomic<std::int64_t> own_connections_{0};  // opened by the kit since the last reset

  mutable std::mutex address_mutex_;  // never held during any work
  ProcessId id_;                      // guarded by address_mutex_
};

}  // namespace slotwise::kit
