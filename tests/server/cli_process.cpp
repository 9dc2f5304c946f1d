#include "server/cli_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include "kit/wait.hpp"

extern char** environ;

namespace slotwise::test {

namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  return ends;
}

}  // namespace

CliProcess::CliProcess(const std::vector<std::string>& args) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // a tool that ends early is a failed test, not our end
  const auto in = make_pipe();
  const auto out = make_pipe();
  const auto err = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> words{SLOTWISE_CLI};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error = ::posix_spawn(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (const int fd : {in[0], out[1], err[1]})
    ::close(fd);
  in_ = in[1];
  readers_[0] = std::thread([this, fd = out[0]] { collect(fd, out_); });
  readers_[1] = std::thread([this, fd = err[0]] { collect(fd, err_); });
  if (error != 0) {
    pid_ = -1;
    close_input();
    for (auto& reader : readers_)
      reader.join();
    throw std::system_error(error, std::generic_category(), SLOTWISE_CLI);
  }
}

CliProcess::~CliProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  close_input();
  for (auto& reader : readers_) {
    if (reader.joinable()) reader.join();
  }
}

void CliProcess::collect(int fd, std::string& into) {
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t n = ::read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const std::scoped_lock lock(mutex_);
    into.append(block.data(), static_cast<std::size_t>(n));
    changed_.notify_all();
  }
  ::close(fd);
}

void CliProcess::write(std::string_view input) {
  while (!input.empty()) {
    const ssize_t n = ::write(in_, input.data(), input.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // it ended; finish() tells how
    input.remove_prefix(static_cast<std::size_t>(n));
  }
}

void CliProcess::close_input() {
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

void CliProcess::signal(int number) const {
  ::kill(pid_, number);
}

bool CliProcess::wait_for(std::string_view text, std::chrono::milliseconds limit, bool err) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit,
                           [&] { return (err ? err_ : out_).find(text) != std::string::npos; });
}

bool CliProcess::wait_until(const std::function<bool(const std::string& out)>& condition,
                            std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return condition(out_); });
}

CliResult CliProcess::finish(std::chrono::milliseconds limit) {
  close_input();
  int state = 0;
  kit::wait_until([&] { return ::waitpid(pid_, &state, WNOHANG) != 0; }, limit,
                  [&] {
                    const std::scoped_lock lock(mutex_);
                    return "the tool to end; it said:\n" + out_ + err_;
                  });
  pid_ = -1;
  for (auto& reader : readers_)
    reader.join();
  return {WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), out_, err_};
}

long CliProcess::resident_kb() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

std::size_t CliProcess::output_size() {
  const std::scoped_lock lock(mutex_);
  return out_.size();
}

CliResult run_cli(const std::vector<std::string>& args, std::string_view input,
                  std::chrono::milliseconds limit) {
  CliProcess process(args);
  process.write(input);
  return process.finish(limit);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace slotwise::test
