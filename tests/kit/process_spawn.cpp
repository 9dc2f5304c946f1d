#include "kit/process_spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "kit/error.hpp"

extern char** environ;  // NOLINT: POSIX

namespace slotwise::kit {

namespace {

/// Runs functions on one thread that lives as long as the process: PR_SET_PDEATHSIG is tied to the
/// forking thread, and a test's own threads come and go. It is never joined and never freed, since
/// its end would be the end of every child.
class ForkThread {
 public:
  static void run(const std::function<void()>& job) {
    {
      const std::lock_guard lock(instance_mutex());
      if (instance_ == nullptr) instance_ = new ForkThread;
    }
    instance_->run_and_wait(job);
  }

 private:
  ForkThread() {
    // A process forked from a test has the object but not the thread: it makes its own.
    static const int registered =
        ::pthread_atfork([] { instance_mutex().lock(); }, [] { instance_mutex().unlock(); },
                         [] {
                           instance_ = nullptr;
                           instance_mutex().unlock();
                         });
    static_cast<void>(registered);
    std::thread([this] { serve(); }).detach();
  }

  static std::mutex& instance_mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
  }

  void run_and_wait(const std::function<void()>& job) {
    const std::lock_guard one_caller(callers_);
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return job_ != nullptr; });
      (*job_)();
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;  // guarded by mutex_

  static inline ForkThread* instance_ = nullptr;  // guarded by instance_mutex()
};

/// All that the child needs, made before fork(): in a process with threads the child may only call
/// what is safe in a signal handler, which excludes allocation.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> envp;
  const char* working_dir = nullptr;
  const char* hosts_file = nullptr;
  int log_fd = -1;
  int null_fd = -1;
  int error_fd = -1;  // close-on-exec: the parent reads EOF when the program runs
  pid_t parent = 0;
  bool detached = false;
};

[[noreturn]] void child_failed(const ChildPlan& plan) {
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(plan.error_fd, &error, sizeof error);
  ::_exit(127);
}

/// A mount namespace of this process alone, in which the file lies over /etc/hosts.
bool give_own_hosts(const char* file) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(file, "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

void mark_all_close_on_exec() {
#ifdef SYS_close_range
  constexpr unsigned cloexec = 1U << 2;  // CLOSE_RANGE_CLOEXEC, Linux 5.11
  if (::syscall(SYS_close_range, 3U, ~0U, cloexec) == 0) return;
#endif
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (int fd = 3; fd < end; ++fd)
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  if (plan.detached) {
    ::setsid();
  } else {
    // Ctrl-C on a terminal goes to its foreground group: it is for the test, which ends its servers
    // as it sees fit.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The test may have ended between fork() and prctl().
    if (::getppid() != plan.parent) ::_exit(127);
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  if (::dup2(plan.null_fd, 0) < 0 || ::dup2(plan.log_fd, 1) < 0 || ::dup2(plan.log_fd, 2) < 0) {
    child_failed(plan);
  }
  mark_all_close_on_exec();
  if (plan.hosts_file != nullptr && !give_own_hosts(plan.hosts_file)) child_failed(plan);
  if (plan.working_dir != nullptr && ::chdir(plan.working_dir) != 0) child_failed(plan);
  ::execve(plan.argv[0], plan.argv.data(), plan.envp.data());
  child_failed(plan);
}

/// A detached program must not become a zombie of ours, so it is the child of a child that ends at
/// once and so belongs to init.
pid_t fork_detached(const ChildPlan& plan) {
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) return -1;
  const pid_t middle = ::fork();
  if (middle == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) run_child(plan);
    [[maybe_unused]] const auto written = ::write(pipe_fds[1], &grandchild, sizeof grandchild);
    ::_exit(0);
  }
  ::close(pipe_fds[1]);
  pid_t grandchild = -1;
  if (middle > 0) {
    if (::read(pipe_fds[0], &grandchild, sizeof grandchild) != sizeof grandchild) grandchild = -1;
    ::waitpid(middle, nullptr, 0);
  }
  ::close(pipe_fds[0]);
  return grandchild;
}

struct Fd {
  int value = -1;
  Fd(int fd) : value(fd) {}  // NOLINT: a local helper
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  void reset() {
    if (value >= 0) ::close(value);
    value = -1;
  }
};

}  // namespace

ProcessStat read_stat(pid_t pid) {
  char text[1024];
  const Fd fd(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.value < 0) return {};
  const auto length = ::read(fd.value, text, sizeof text - 1);
  if (length <= 0) return {};
  text[length] = '\0';
  // "PID (name) S ...": the name may hold spaces and brackets, so count from the last bracket.
  const char* rest = std::strrchr(text, ')');
  if (rest == nullptr || rest[1] == '\0') return {};
  ProcessStat stat;
  stat.state = rest[2];
  int field = 3;
  for (const char* at = rest + 2; *at != '\0'; ++at) {
    if (*at != ' ') continue;
    if (++field == 22) {
      stat.start_time = std::strtoull(at + 1, nullptr, 10);
      break;
    }
  }
  return stat;
}

bool can_have_own_hosts() {
  static const bool can = [] {
    try {
      Process process({.command = {"/bin/true"}, .hosts_file = "/etc/hosts"});
      return process.wait(milliseconds(5000));
    } catch (const Error&) {
      return false;
    }
  }();
  return can;
}

ProcessId spawn(const ProcessOptions& options) {
  if (options.command.empty()) throw Error("cannot start a process without a command");
  ChildPlan plan;
  std::vector<std::string> words = options.command;
  for (auto& word : words)
    plan.argv.push_back(word.data());
  plan.argv.push_back(nullptr);
  std::vector<std::string> extra;
  for (const auto& [name, value] : options.environment)
    extra.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view have(*entry);
    const bool replaced = std::any_of(extra.begin(), extra.end(), [&](const std::string& with) {
      return have.starts_with(std::string_view(with).substr(0, with.find('=') + 1));
    });
    if (!replaced) plan.envp.push_back(*entry);
  }
  for (auto& entry : extra)
    plan.envp.push_back(entry.data());
  plan.envp.push_back(nullptr);

  const std::string working_dir = options.working_dir.string();
  if (!working_dir.empty()) plan.working_dir = working_dir.c_str();
  const std::string hosts_file = options.hosts_file.string();
  if (!hosts_file.empty()) plan.hosts_file = hosts_file.c_str();
  const std::string log = options.log_file.empty() ? "/dev/null" : options.log_file.string();
  const Fd log_fd(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log_fd.value < 0) throw Error(fmt::format("cannot write {}: {}", log, std::strerror(errno)));
  const Fd null_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int error_pipe[2];
  if (::pipe2(error_pipe, O_CLOEXEC) != 0) throw Error("cannot make a pipe");
  const Fd error_read(error_pipe[0]);
  Fd error_write(error_pipe[1]);
  plan.log_fd = log_fd.value;
  plan.null_fd = null_fd.value;
  plan.error_fd = error_write.value;
  plan.parent = ::getpid();
  plan.detached = options.lifetime == Lifetime::detached;

  pid_t pid = -1;
  ForkThread::run([&] {
    pid = plan.detached ? fork_detached(plan) : ::fork();
    if (pid == 0) run_child(plan);
  });
  if (pid < 0) throw Error(fmt::format("cannot fork for {}", options.command[0]));
  const ProcessId id{pid, read_stat(pid).start_time};
  error_write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(error_read.value, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    if (!plan.detached) ::waitpid(pid, nullptr, 0);
    throw Error(fmt::format("cannot execute {}{}: {}", options.command[0],
                            working_dir.empty() ? "" : " in " + working_dir, std::strerror(error)));
  }
  return id;
}

}  // namespace slotwise::kit
