#include "cli/core/line_io.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace slotwise::cli;
using namespace std::string_literals;

namespace {

struct Pipe {
  int fds[2];
  Pipe() { REQUIRE(::pipe(fds) == 0); }
  ~Pipe() {
    ::close(fds[0]);
    close_write();
  }
  void close_write() {
    if (fds[1] >= 0) ::close(fds[1]);
    fds[1] = -1;
  }
  void put(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fds[1], bytes.data(), bytes.size());
      REQUIRE(n > 0);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
};

std::vector<std::string> all_lines(LineReader& reader) {
  std::vector<std::string> lines;
  while (const auto line = reader.next())
    lines.emplace_back(*line);
  return lines;
}

}  // namespace

TEST_CASE("lines are read, the last one without its end too") {
  Pipe pipe;
  pipe.put("a\n\nb\0c\r\nlast"s);
  pipe.close_write();
  LineReader reader(pipe.fds[0]);
  CHECK(all_lines(reader) == std::vector<std::string>{"a", "", "b\0c\r"s, "last"});
  CHECK_FALSE(reader.next());
}

TEST_CASE("an end right after a line adds no empty line") {
  Pipe pipe;
  pipe.put("a\n");
  pipe.close_write();
  LineReader reader(pipe.fds[0]);
  CHECK(all_lines(reader) == std::vector<std::string>{"a"});
}

TEST_CASE("the reader knows when it would have to wait") {
  Pipe pipe;
  LineReader reader(pipe.fds[0]);
  CHECK_FALSE(reader.ready());
  pipe.put("a\nhal");
  CHECK(reader.ready());
  CHECK(reader.next() == "a");
  CHECK_FALSE(reader.ready());
  pipe.put("f\n");
  CHECK(reader.ready());
  CHECK(reader.next() == "half");
  pipe.close_write();
  CHECK(reader.ready());
  CHECK_FALSE(reader.next());
}

TEST_CASE("lines longer than a block are read whole") {
  Pipe pipe;
  const std::string longer(300'000, 'x');
  std::jthread writer([&] {
    pipe.put(longer + "\nnext\n");
    pipe.close_write();
  });
  LineReader reader(pipe.fds[0]);
  CHECK(all_lines(reader) == std::vector<std::string>{longer, "next"});
}

TEST_CASE("output is written at a flush") {
  Pipe pipe;
  Output out(pipe.fds[1]);
  out.buffer() += "one\n";
  out.added();
  LineReader reader(pipe.fds[0]);
  CHECK_FALSE(reader.ready());
  out.flush();
  CHECK(reader.next() == "one");
}

TEST_CASE("a stream that cannot be used is named") {
  LineReader reader(-1);
  CHECK_THROWS_AS(reader.next(), IoError);
  Output out(-1);
  out.buffer() += "x";
  CHECK_THROWS_AS(out.flush(), IoError);
}
