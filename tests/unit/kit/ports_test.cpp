#include "kit/ports.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>

#include "kit/temp_dir.hpp"

namespace kit = slotwise::kit;

TEST_CASE("a held port is given to nobody else") {
  std::vector<kit::Port> ports;
  std::set<int> numbers;
  for (int i = 0; i < 200; ++i) {
    ports.push_back(kit::Port::reserve());
    numbers.insert(ports.back().number());
  }
  CHECK(numbers.size() == 200);
  CHECK(*numbers.begin() >= 12000);
  CHECK_FALSE(kit::Port::try_reserve(ports[0].number()));
  const auto number = ports[0].number();
  ports[0] = kit::Port();
  CHECK(kit::Port::try_reserve(number));
}

TEST_CASE("processes do not get each other's ports") {
  const kit::TempDir dir;
  constexpr int processes = 4;
  constexpr int each = 100;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<kit::Port> ports;
      std::ofstream out(dir.path() / std::to_string(i));
      for (int n = 0; n < each; ++n) {
        ports.push_back(kit::Port::reserve());
        out << ports.back().number() << '\n';
      }
      out.close();
      // Held until all have theirs: the parent closes no pipe, so just wait to be killed.
      ::pause();
    }
    children.push_back(child);
  }
  std::multiset<int> all;
  for (int tries = 0; tries < 500 && all.size() < processes * each; ++tries) {
    all.clear();
    for (int i = 0; i < processes; ++i) {
      std::ifstream in(dir.path() / std::to_string(i));
      for (int port = 0; in >> port;)
        all.insert(port);
    }
    ::usleep(10000);
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  CHECK(all.size() == processes * each);
  CHECK(std::set<int>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("loopback networks are own and count up") {
  auto a = kit::LoopbackNet::reserve();
  auto b = kit::LoopbackNet::reserve();
  CHECK(a.prefix() != b.prefix());
  CHECK(a.next() == a.prefix() + "1");
  CHECK(a.next() == a.prefix() + "2");
  CHECK_FALSE(a.prefix().starts_with("127.0."));
}
