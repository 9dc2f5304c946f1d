// The built command-line tool as a process: given input, watched, never left behind.
//
// Thread rule: use one CliProcess from one thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace slotwise::test {

struct CliResult {
  int status = -1;  ///< exit status; 128 + signal if it was killed
  std::string out;
  std::string err;
};

class CliProcess {
 public:
  /// Starts `slotwise ARGS...` with pipes for its three streams.
  explicit CliProcess(const std::vector<std::string>& args);
  ~CliProcess();  ///< SIGKILL if it still runs
  CliProcess(const CliProcess&) = delete;
  CliProcess& operator=(const CliProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void write(std::string_view input);
  void close_input();
  void signal(int number) const;
  /// Waits until standard output (or `err`) holds this text; false when the time is over.
  bool wait_for(std::string_view text, std::chrono::milliseconds limit, bool err = false);
  /// Waits until standard output is as the condition wants it.
  bool wait_until(const std::function<bool(const std::string& out)>& condition,
                  std::chrono::milliseconds limit);
  /// Closes the input and waits for the end; throws after `limit`.
  CliResult finish(std::chrono::milliseconds limit);
  /// Resident memory now, in kB; 0 if unknown.
  long resident_kb() const;
  std::size_t output_size();

 private:
  void collect(int fd, std::string& into);

  pid_t pid_ = -1;
  int in_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;  // guarded by mutex_
  std::string err_;  // guarded by mutex_
  std::thread readers_[2];
};

/// Runs it to its end.
CliResult run_cli(const std::vector<std::string>& args, std::string_view input = {},
                  std::chrono::milliseconds limit = std::chrono::seconds(60));

std::vector<std::string> lines_of(std::string_view text);

}  // namespace slotwise::test
