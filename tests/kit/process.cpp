#include "kit/process.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "kit/error.hpp"
#include "kit/process_spawn.hpp"
#include "kit/temp_dir.hpp"
#include "kit/wait.hpp"

namespace slotwise::kit {

namespace fs = std::filesystem;

namespace {

bool lives(char state) {
  return state != 0 && state != 'Z' && state != 'X';
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_server_name(std::string_view word) {
  word = file_name(word.substr(0, word.find(' ')));  // a server's title: "PATH HOST:PORT [cluster]"
  return word == "valkey-server" || word == "redis-server" || word == "valkey-sentinel" ||
         word == "redis-sentinel";
}

/// The program's name is the first word, or, under an explicit dynamic loader, a later one.
bool is_server(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::string_view rest = all;
  bool loader = false;
  for (bool first = true; !rest.empty() && (first || loader); first = false) {
    const auto word = rest.substr(0, rest.find('\0'));
    if (is_server_name(word)) return true;
    if (first) loader = file_name(word).starts_with("ld-");
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return false;
}

}  // namespace

bool is_running(const ProcessId& id) {
  if (id.pid <= 0) return false;
  const auto stat = read_stat(id.pid);
  return lives(stat.state) && stat.start_time == id.start_time;
}

bool is_stopped(const ProcessId& id) {
  if (id.pid <= 0) return false;
  const auto stat = read_stat(id.pid);
  return stat.state == 'T' && stat.start_time == id.start_time;
}

bool send_signal(const ProcessId& id, int signal) {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
  // With a pidfd the check and the signal cannot be about two different processes.
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0));
  if (fd >= 0) {
    const bool sent =
        is_running(id) && ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
    ::close(fd);
    return sent;
  }
#endif
  return is_running(id) && ::kill(id.pid, signal) == 0;
}

std::vector<ProcessId> servers_working_in(const fs::path& folder) {
  std::error_code error;
  const auto wanted = fs::canonical(folder, error).string();
  std::vector<ProcessId> found;
  if (error) return found;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code unreadable;
    const auto cwd = fs::read_symlink(entry.path() / "cwd", unreadable).string();
    if (unreadable) continue;
    if (cwd != wanted && !cwd.starts_with(wanted + "/")) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (is_server(pid)) found.push_back({pid, read_stat(pid).start_time});
  }
  return found;
}

Process::Process(const ProcessOptions& options)
    : id_(spawn(options)),
      child_(options.lifetime == Lifetime::with_test),
      detached_(options.lifetime == Lifetime::detached),
      owner_pid_(::getpid()) {}

Process Process::attach(ProcessId id) {
  Process process;
  process.id_ = id;
  process.detached_ = true;
  process.owner_pid_ = ::getpid();
  return process;
}

Process::Process(Process&& other) noexcept {
  *this = std::move(other);
}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  if (!detached_) kill();
  id_ = std::exchange(other.id_, {});
  child_ = std::exchange(other.child_, false);
  detached_ = other.detached_;
  ended_ = other.ended_;
  wait_status_ = other.wait_status_;
  owner_pid_ = other.owner_pid_;
  return *this;
}

Process::~Process() {
  if (!detached_) kill();
}

void Process::reap_if_ended() {
  if (ended_ || id_.pid <= 0) return;
  if (!child_) {
    ended_ = !is_running(id_);
    return;
  }
  int status = 0;
  const pid_t got = ::waitpid(id_.pid, &status, WNOHANG);
  if (got == id_.pid) {
    ended_ = true;
    wait_status_ = status;
  } else if (got < 0 && errno == ECHILD) {
    ended_ = true;  // somebody else waited for it
  }
}

bool Process::running() {
  reap_if_ended();
  return id_.pid > 0 && !ended_;
}

std::string Process::how_it_ended() {
  reap_if_ended();
  if (!wait_status_) return {};
  if (WIFEXITED(*wait_status_)) return fmt::format("exit {}", WEXITSTATUS(*wait_status_));
  const int signal = WTERMSIG(*wait_status_);
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

bool Process::signal(int signal) {
  if (!running() || owner_pid_ != ::getpid()) return false;
  return send_signal(id_, signal);
}

bool Process::wait(milliseconds limit) {
  return wait_for([this] { return !running(); }, limit, milliseconds(2));
}

void Process::terminate(milliseconds limit) {
  signal(SIGTERM);
  signal(SIGCONT);
  if (!wait(limit)) kill();
}

void Process::kill() {
  if (id_.pid <= 0 || ended_ || owner_pid_ != ::getpid()) return;
  signal(SIGKILL);
  wait(milliseconds(10000));
}

std::string tail_of(const fs::path& file, std::size_t lines) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fmt::format("(no {})", file.string());
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::streamoff>(in.tellg());
  in.seekg(std::max<std::streamoff>(0, size - 65536));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  std::size_t start = text.size();
  for (std::size_t i = 0; i < lines && start != std::string::npos && start > 0; ++i) {
    start = text.rfind('\n', start - 1);
  }
  return start == std::string::npos || start == 0 ? text : text.substr(start + 1);
}

std::string run(const std::vector<std::string>& command, milliseconds limit) {
  const TempDir dir("run");
  const auto log = dir.path() / "output";
  Process process({.command = command, .log_file = log});
  const bool ended = process.wait(limit);
  const auto how = process.how_it_ended();
  process.kill();
  std::ifstream in(log, std::ios::binary);
  std::string output{std::istreambuf_iterator<char>(in), {}};
  if (!ended) {
    throw Error(fmt::format("{} did not end within {} ms:\n{}", command[0], limit.count(), output));
  }
  if (how != "exit 0") throw Error(fmt::format("{} ended with {}:\n{}", command[0], how, output));
  return output;
}

}  // namespace slotwise::kit
