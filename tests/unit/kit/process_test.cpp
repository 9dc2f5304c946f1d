#include "kit/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "kit/error.hpp"
#include "kit/temp_dir.hpp"
#include "kit/wait.hpp"

using namespace std::chrono_literals;
namespace kit = slotwise::kit;
namespace fs = std::filesystem;

namespace {

std::string read_all(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a process runs in its folder, writes its log, and is ended") {
  const kit::TempDir dir;
  kit::Process process({.command = {"/bin/sh", "-c", "pwd; echo $WHAT; echo oops >&2; sleep 60"},
                        .working_dir = dir.path(),
                        .log_file = dir.path() / "log",
                        .environment = {{"WHAT", "x y"}}});
  kit::wait_until([&] { return read_all(dir.path() / "log").ends_with("oops\n"); }, 5s, "its log");
  CHECK(read_all(dir.path() / "log") == dir.path().string() + "\nx y\noops\n");
  CHECK(process.running());
  CHECK(kit::is_running(process.id()));
  CHECK_FALSE(process.wait(20ms));
  process.kill();
  CHECK_FALSE(process.running());
  CHECK(process.how_it_ended() == "signal 9 (Killed)");
  CHECK_FALSE(process.signal(SIGTERM));
}

TEST_CASE("a stopped process is seen as stopped and still ends by terminate") {
  kit::Process process({.command = {"/bin/sleep", "60"}});
  process.signal(SIGSTOP);
  kit::wait_until([&] { return kit::is_stopped(process.id()); }, 2s, "it to stop");
  CHECK(process.running());
  process.terminate(2s);
  CHECK(process.how_it_ended() == "signal 15 (Terminated)");
}

TEST_CASE("a program that is not there is an error at once") {
  CHECK_THROWS_AS(kit::Process({.command = {"/no/such/program"}}), kit::Error);
  CHECK_THROWS_AS(kit::Process({.command = {"/bin/true"}, .working_dir = "/no/such/folder"}),
                  kit::Error);
  CHECK_THROWS_AS(kit::Process({.command = {"/no/such"}, .lifetime = kit::Lifetime::detached}),
                  kit::Error);
}

TEST_CASE("no descriptor and no signal setting is inherited") {
  const kit::TempDir dir;
  const int leak = ::dup(0);  // without close-on-exec
  ::signal(SIGPIPE, SIG_IGN);
  const auto text = kit::run({"/bin/sh", "-c",
                              "ls -l /proc/self/fd | grep -c ' -> ' ; "
                              "grep SigIgn /proc/self/status"});
  ::close(leak);
  ::signal(SIGPIPE, SIG_DFL);
  // 0, 1, 2 and the folder that ls itself reads
  CHECK(text.starts_with("4\n"));
  CHECK(text.find("SigIgn:\t0000000000000000") != std::string::npos);
}

TEST_CASE("a pid with another start time is never signalled") {
  kit::Process process({.command = {"/bin/sleep", "60"}});
  auto other = process.id();
  ++other.start_time;
  CHECK_FALSE(kit::is_running(other));
  CHECK_FALSE(kit::send_signal(other, SIGKILL));
  CHECK(process.running());
}

TEST_CASE("children die with a test that is killed, and detached ones live on") {
  const kit::TempDir dir;
  const auto note = dir.path() / "pids";
  const pid_t test = ::fork();
  REQUIRE(test >= 0);
  if (test == 0) {
    // A process of its own with its own fork thread (made before any other in this process). The
    // thread that starts the child ends at once, which must not matter.
    kit::ProcessId with_test;
    kit::ProcessId detached;
    std::thread([&] {
      static kit::Process child({.command = {"/bin/sleep", "300"}});
      static kit::Process far(
          {.command = {"/bin/sleep", "300"}, .lifetime = kit::Lifetime::detached});
      with_test = child.id();
      detached = far.id();
    }).join();
    std::this_thread::sleep_for(50ms);
    std::ofstream(note.string() + ".tmp") << with_test.pid << ' ' << with_test.start_time << ' '
                                          << detached.pid << ' ' << detached.start_time << '\n'
                                          << kit::is_running(with_test) << '\n';
    fs::rename(note.string() + ".tmp", note);
    ::pause();
  }
  kit::wait_until([&] { return fs::exists(note); }, 10s, "the other process's note");
  kit::ProcessId with_test;
  kit::ProcessId detached;
  bool ran = false;
  std::ifstream(note) >> with_test.pid >> with_test.start_time >> detached.pid >>
      detached.start_time >> ran;
  CHECK(ran);
  ::kill(test, SIGKILL);
  ::waitpid(test, nullptr, 0);
  kit::wait_until([&] { return !kit::is_running(with_test); }, 2s, "the child to die");
  CHECK(kit::is_running(detached));

  auto taken = kit::Process::attach(detached);
  CHECK(taken.running());
  taken.kill();
  CHECK_FALSE(kit::is_running(detached));
}

TEST_CASE("run gives output, and fails on a bad exit or a time limit") {
  CHECK(kit::run({"/bin/echo", "hello"}) == "hello\n");
  CHECK_THROWS_AS(kit::run({"/bin/false"}), kit::Error);
  CHECK_THROWS_AS(kit::run({"/bin/sleep", "10"}, 50ms), kit::Error);
}

TEST_CASE("a process has a hosts file of its own") {
  if (!kit::can_have_own_hosts()) SKIP("that takes the right to mount");
  const kit::TempDir dir;
  const auto hosts = dir.path() / "hosts";
  std::ofstream(hosts) << "127.1.2.3 somebody.lab.test\n";
  const auto seen = [&] {
    kit::Process look({.command = {"/bin/cat", "/etc/hosts"},
                       .log_file = dir.path() / "seen",
                       .hosts_file = hosts});
    REQUIRE(look.wait(5s));
    return kit::tail_of(dir.path() / "seen", 1);
  };
  CHECK(seen() == "127.1.2.3 somebody.lab.test");
  std::ofstream(hosts) << "127.1.2.4 somebody.lab.test\n";
  CHECK(seen() == "127.1.2.4 somebody.lab.test");
  std::ifstream machine("/etc/hosts");
  const std::string text(std::istreambuf_iterator<char>(machine), {});
  CHECK(text.find("somebody.lab.test") == std::string::npos);
}

TEST_CASE("the tail of a log") {
  const kit::TempDir dir;
  std::ofstream(dir.path() / "log") << "1\n2\n3\n";
  CHECK(kit::tail_of(dir.path() / "log", 2) == "2\n3");
  CHECK(kit::tail_of(dir.path() / "log", 9) == "1\n2\n3");
  CHECK(kit::tail_of(dir.path() / "none").starts_with("(no "));
}

TEST_CASE("only servers are found by their folder") {
  const kit::TempDir dir;
  fs::create_directories(dir.path() / "n1");
  const auto server = dir.path() / "valkey-server";
  fs::create_symlink("/bin/sleep", server);
  kit::Process fake({.command = {server.string(), "60"}, .working_dir = dir.path() / "n1"});
  kit::Process shell({.command = {"/bin/sleep", "60"}, .working_dir = dir.path() / "n1"});
  const auto found = kit::servers_working_in(dir.path());
  REQUIRE(found.size() == 1);
  CHECK(found[0] == fake.id());
}

TEST_CASE("a folder goes with its test unless it is to be kept") {
  fs::path path;
  {
    const kit::TempDir dir("gone");
    path = dir.path();
    std::ofstream(path / "file") << "x";
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
  {
    ::setenv("SLOTWISE_KEEP", "1", 1);
    const kit::TempDir dir("kept");
    path = dir.path();
  }
  ::unsetenv("SLOTWISE_KEEP");
  CHECK(fs::exists(path));
  fs::remove_all(path);
}
