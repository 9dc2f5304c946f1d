// The lab: servers that outlive the command that started them.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "kit/error.hpp"
#include "kit/lab.hpp"
#include "kit/wait.hpp"

namespace kit = slotwise::kit;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

/// Takes a lab down even if its test fails: its servers would outlive it.
struct LabFolder {
  kit::TempDir temp{"lab"};
  fs::path path = temp.path() / "lab";

  LabFolder() = default;
  LabFolder(const LabFolder&) = delete;
  LabFolder& operator=(const LabFolder&) = delete;
  ~LabFolder() {
    try {
      kit::Lab::down(path);
    } catch (const kit::Error&) {
      // down already
    }
  }
};

kit::LabNode status_of(const fs::path& dir, const std::string& name) {
  for (auto& node : kit::Lab::open(dir).status()) {
    if (node.name == name) return node;
  }
  throw kit::Error("no node " + name);
}

}  // namespace

TEST_CASE("kit: a lab is taken up by command after command") {
  const LabFolder folder;
  const auto& dir = folder.path;
  std::string uri;
  {
    auto lab = kit::Lab::up({.dir = dir, .primaries = 3, .replicas = 1});
    uri = lab.uri();
    CHECK(lab.status().size() == 6);
  }
  CHECK(kit::Lab::open(dir).uri() == uri);
  CHECK(status_of(dir, "n1").state == "up");
  CHECK_THROWS_AS(kit::Lab::up({.dir = dir}), kit::Error);

  kit::Lab::open(dir).kill("n1");
  CHECK(status_of(dir, "n1").state == "down");
  CHECK(status_of(dir, "n1").pid == 0);
  kit::wait_until([&] { return status_of(dir, "n4").role == "primary"; }, 15s, "n4 to take over");
  kit::Lab::open(dir).restart("n1");
  kit::Lab::open(dir).wait_ready();
  CHECK(status_of(dir, "n1").follows == "n4");

  kit::Lab::open(dir).kill("n2", kit::signal_number("STOP"));
  kit::wait_until([&] { return status_of(dir, "n2").state == "stopped"; }, 5s, "n2 to stop");
  kit::Lab::open(dir).kill("n2", kit::signal_number("CONT"));
  kit::Lab::open(dir).wait_ready();

  kit::Lab::open(dir).add_shards(1);
  CHECK(status_of(dir, "n7").slot_total == kit::slot_count / 4);
  kit::Lab::open(dir).migrate(0, 99, "n2");
  kit::Lab::open(dir).migrate(0, 9, "n3", true);
  CHECK(status_of(dir, "n3").slots.starts_with("0-9 "));
  CHECK(kit::Lab::open(dir).failover("n7") == "n8");
  {
    auto lab = kit::Lab::open(dir);
    lab.restart("n6", lab.spare_address());
    lab.wait_ready();
  }
  kit::Lab::open(dir).remove_shards(1);
  const auto left = kit::Lab::open(dir).status();
  CHECK(left.size() == 6);
  CHECK_THROWS_AS(kit::Lab::open(dir).kill("n77"), kit::Error);

  std::ofstream(dir / "notes.txt") << "mine";
  kit::Lab::down(dir);
  for (const auto& node : left)
    CHECK((node.pid == 0 || !fs::exists("/proc/" + std::to_string(node.pid) + "/cwd")));
  CHECK(kit::servers_working_in(dir).empty());
  CHECK(fs::exists(dir / "notes.txt"));
  CHECK(std::distance(fs::directory_iterator(dir), {}) == 1);
}

TEST_CASE("kit: a lab with sentinels") {
  const LabFolder folder;
  kit::Lab::up({.dir = folder.path, .primaries = 1, .replicas = 1, .sentinels = 3, .tls = true});
  CHECK(kit::Lab::open(folder.path).uri().starts_with("valkeys+sentinel://"));
  CHECK(status_of(folder.path, "s2").follows == "s1");
  CHECK(status_of(folder.path, "w3").role == "sentinel");
  CHECK(kit::Lab::open(folder.path).failover() == "s2");
  kit::Lab::open(folder.path).kill("s1");
  kit::Lab::open(folder.path).restart("s1");
  CHECK_THROWS_AS(kit::Lab::open(folder.path).add_shards(1), kit::Error);
}

TEST_CASE("kit: a lab whose start was killed half way leaves nothing after down") {
  const LabFolder folder;
  // A process of its own: up() is ended by SIGKILL, the worst that can happen to it.
  const pid_t command = ::fork();
  REQUIRE(command >= 0);
  if (command == 0) {
    try {
      kit::Lab::up({.dir = folder.path, .primaries = 3, .replicas = 1});
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  kit::wait_until([&] { return kit::servers_working_in(folder.path).size() >= 3; }, 20s,
                  "some servers to run");
  ::kill(command, SIGKILL);
  ::waitpid(command, nullptr, 0);
  CHECK_FALSE(kit::servers_working_in(folder.path).empty());
  kit::Lab::down(folder.path);
  CHECK(kit::servers_working_in(folder.path).empty());
  CHECK_FALSE(fs::exists(folder.path));
}
