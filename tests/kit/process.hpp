// A child process that cannot outlive the test, or (for the lab) one that must outlive the command.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slotwise::kit {

using std::chrono::milliseconds;

/// Names one process for good: a pid alone may be reused, a pid with its start time may not.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< field 22 of /proc/PID/stat, clock ticks since boot

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

/// True while that very process runs. A zombie counts as ended: nobody answers for it any more.
bool is_running(const ProcessId& id);

/// Sends a signal if (and only if) the pid still belongs to that process. False if it is gone.
bool send_signal(const ProcessId& id, int signal);

/// True while it is stopped by SIGSTOP.
bool is_stopped(const ProcessId& id);

/// Valkey and Redis servers of this user whose working folder is `folder` or below it. Servers of
/// the kit run in a folder of their own, so this finds even one that was started and never written
/// down. Other programs that happen to work there (a shell, an editor) are not touched.
std::vector<ProcessId> servers_working_in(const std::filesystem::path& folder);

enum class Lifetime : std::uint8_t {
  with_test,  ///< dies with this process, whatever way that ends (SIGKILL too)
  detached,   ///< own session, outlives this process; found again by its ProcessId
};

/// Whether processes can be given a mount of their own (root, or CAP_SYS_ADMIN).
bool can_have_own_hosts();

struct ProcessOptions {
  std::vector<std::string> command{};   ///< argv; the first is a path
  std::filesystem::path working_dir{};  ///< empty: this process's
  std::filesystem::path log_file{};     ///< stdout and stderr are appended; empty: /dev/null
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to the inherited one
  /// What it sees as /etc/hosts: names of its own, which nobody else on the machine sees. It reads
  /// the file whenever it looks for a name, so the file may be written anew (in place). Needs
  /// can_have_own_hosts(). Empty: the machine's.
  std::filesystem::path hosts_file{};
  Lifetime lifetime = Lifetime::with_test;
};

/// One started process.
///
/// How it dies with the test: PR_SET_PDEATHSIG(SIGKILL). That signal is sent when the THREAD that
/// forked ends, so all forks are made by one thread of the kit that lives until the test process
/// ends. The kernel then kills the child, whether the test returned, aborted or was SIGKILLed;
/// there is no helper process that could itself be killed first.
///
/// Invariants:
/// 1. The child inherits no descriptor but 0, 1 and 2, has default signal handlers and empty mask.
/// 2. No signal is sent to a pid whose start time is not the recorded one.
/// 3. The destructor ends a `with_test` process (SIGKILL) and leaves a `detached` one alone. In a
///    process forked from the test it does nothing.
///
/// Thread rule: use one Process from one thread at a time.
class Process {
 public:
  /// Starts it; throws kit::Error if it cannot be executed (and then nothing is left).
  explicit Process(const ProcessOptions& options);
  /// Takes over a detached process started by somebody else.
  static Process attach(ProcessId id);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const noexcept { return id_.pid; }
  const ProcessId& id() const noexcept { return id_; }
  bool running();
  /// What waitpid said (as "exit 1" or "signal 9 (Killed)"); empty while it runs or if unknown.
  std::string how_it_ended();

  /// Sends a signal; false if the process is gone.
  bool signal(int signal);
  /// True once it has ended; false when the limit passed first.
  bool wait(milliseconds limit);
  /// SIGTERM (and SIGCONT, should it be stopped), then SIGKILL after the limit. Gone on return.
  void terminate(milliseconds limit = milliseconds(10000));
  /// SIGKILL and wait.
  void kill();

 private:
  Process() = default;
  void reap_if_ended();

  ProcessId id_;
  bool child_ = false;  // ours to waitpid()
  bool detached_ = false;
  bool ended_ = false;
  std::optional<int> wait_status_;
  pid_t owner_pid_ = 0;
};

/// The last lines of a file; for messages.
std::string tail_of(const std::filesystem::path& file, std::size_t lines = 20);

/// Runs a command to its end with a time limit and gives its output (stdout and stderr together).
/// Throws kit::Error on a non-zero exit or when the limit passes.
std::string run(const std::vector<std::string>& command, milliseconds limit = milliseconds(10000));

}  // namespace slotwise::kit
