// Large replies and many replies: time and memory stay in proportion to the bytes.
#include <string>

#include "memory_meter.hpp"
#include "parse.hpp"

namespace slotwise::resp::test {
namespace {

constexpr std::ptrdiff_t megabyte = 1024 * 1024;

std::string bulk(std::size_t size) {
  return "$" + std::to_string(size) + "\r\n" + std::string(size, 'v') + "\r\n";
}

// What a socket does: fills the room it is given, `most` bytes at a time. Counts the reads.
int receive(Parser& parser, std::string_view bytes, std::size_t most, Reply& out) {
  int reads = 0;
  while (!bytes.empty()) {
    const std::span<char> room = parser.prepare();
    REQUIRE_FALSE(room.empty());
    const std::size_t n = bytes.copy(room.data(), std::min(most, room.size()));
    bytes.remove_prefix(n);
    parser.commit(n);
    ++reads;
    if (parser.next(out) == Status::reply) CHECK(bytes.empty());
  }
  return reads;
}

}  // namespace

TEST_CASE("a large value is received into its own string") {
  const std::string bytes = bulk(64 * megabyte);
  const MemoryMeter meter;
  Parser parser;
  Reply reply;
  receive(parser, bytes, 4096, reply);
  CHECK(reply.text().size() == 64 * megabyte);
  CHECK(reply.text().find_first_not_of('v') == std::string_view::npos);
  CHECK(MemoryMeter::peak() < 64 * megabyte * 5 / 4);
  CHECK(MemoryMeter::allocations() < 20);
  const std::string value = reply.take_text();
  CHECK(value.capacity() < 64 * megabyte + 100);
  CHECK(MemoryMeter::held() < 64 * megabyte + 100'000);
}

TEST_CASE("a large value inside an aggregate is received the same way") {
  const std::string bytes = "*2\r\n:1\r\n" + bulk(64 * megabyte);
  const MemoryMeter meter;
  Parser parser;
  Reply reply;
  receive(parser, bytes, 4096, reply);
  REQUIRE(reply.elements().size() == 2);
  CHECK(reply.elements()[1].text().size() == 64 * megabyte);
  CHECK(MemoryMeter::peak() < 64 * megabyte * 5 / 4);
  reply = Reply();
  CHECK(MemoryMeter::held() < 100'000);
}

TEST_CASE("large values of every kind, cut anywhere near their ends") {
  const std::string body(40'000, 'x');
  const std::string size = std::to_string(body.size());
  const std::string verbatim = "=" + std::to_string(body.size() + 4) + "\r\nmkd:" + body + "\r\n";
  const std::string error = "!" + size + "\r\n" + body + "\r\n";
  const std::string plain = "$" + size + "\r\n" + body + "\r\n";
  const std::string attribute = "|1\r\n+k\r\n" + plain;
  const std::string bytes = plain + error + verbatim + "*3\r\n" + plain + error + verbatim +
                            attribute + "%1\r\n" + attribute + "+k\r\n" + attribute + plain +
                            ">1\r\n" + plain + "+OK\r\n";
  const Outcome whole = run(bytes);
  REQUIRE(whole.error.empty());
  REQUIRE(whole.replies.size() == 6);
  CHECK(whole.pushes.size() == 1);
  CHECK(whole.replies[0] == str(body));
  CHECK(whole.replies[1] == test::error(body));
  CHECK(whole.replies[2].format() == "mkd");
  CHECK(whole.replies[2].text() == body);
  CHECK(whole.replies[3] == array({whole.replies[0], whole.replies[1], whole.replies[2]}));
  CHECK(whole.replies[4] == map({status("k"), str(body)}));
  for (const std::size_t piece : {1, 3, 1000, 4096, 16'384, 19'999, 40'008, 65'536}) {
    CHECK(run(bytes, piece) == whole);
    CHECK(run(bytes, piece, {}, true) == whole);
  }
  for (std::size_t cut = 40'000; cut < 40'020; ++cut)
    CHECK(run(bytes, cut) == whole);

  const std::string bad = "$40000\r\n" + body + "XX";
  CHECK_FALSE(run(bad, 5000).error.empty());
  CHECK_FALSE(run("*1\r\n" + bad, 5000).error.empty());
  CHECK_FALSE(run("=40000\r\n" + body + "\r\n", 5000).error.empty());
}

TEST_CASE("a header alone reserves next to nothing") {
  for (const char* bytes : {"$1073741824\r\n", "*1\r\n$1000000000\r\nabc", "*20000000\r\n",
                            "*20000000\r\n:1\r\n", "*1000\r\n*1000\r\n*1000\r\n*1000\r\n"}) {
    INFO(bytes);
    const MemoryMeter meter;
    Parser parser;
    Reply reply;
    parser.feed(bytes);
    CHECK(parser.next(reply) == Status::need_more);
    CHECK(MemoryMeter::peak() < 100'000);
  }
  // Nested headers cannot add up either.
  std::string chain;
  for (int i = 0; i != 500; ++i)
    chain += "*40000\r\n";
  const MemoryMeter meter;
  Parser parser;
  Reply reply;
  parser.feed(chain);
  CHECK(parser.next(reply) == Status::need_more);
  CHECK(MemoryMeter::peak() < 3 * megabyte);
}

TEST_CASE("a genuine array of 1,000,000 elements") {
  std::string bytes = "*1000000\r\n";
  for (int i = 0; i != 1'000'000; ++i)
    bytes += ":" + std::to_string(i) + "\r\n";
  const MemoryMeter meter;
  Parser parser;
  Reply reply;
  receive(parser, bytes, 4096, reply);
  REQUIRE(reply.elements().size() == 1'000'000);
  CHECK(reply.elements()[999'999] == number(999'999));
  // The vector doubles, so old and new live beside each other for a moment.
  CHECK(MemoryMeter::peak() < 3 * std::ptrdiff_t{1'000'000 * sizeof(Reply)});
  reply = Reply();
  CHECK(MemoryMeter::held() < 100'000);
}

TEST_CASE("1,000,000 replies in one buffer, then few") {
  std::string bytes;
  for (int i = 0; i != 1'000'000; ++i)
    bytes += "+OK\r\n";
  Parser parser;
  Reply reply;
  Outcome outcome;
  const MemoryMeter meter;
  parser.feed(bytes);
  int replies = 0;
  while (parser.next(reply) == Status::reply)
    ++replies;
  CHECK(replies == 1'000'000);
  for (int i = 0; i != 100; ++i) {
    parser.feed("+OK\r\n");
    CHECK(parser.next(reply) == Status::reply);
  }
  CHECK(MemoryMeter::held() < 100'000);
}

TEST_CASE("a busy connection gets a larger buffer, a quiet one gives it back") {
  ReadBuffer buffer;
  CHECK(buffer.capacity() == 0);
  const auto read = [&](std::size_t n, std::size_t rest) {
    buffer.commit(n);
    buffer.consume(buffer.size() - rest);
  };
  for (const std::size_t capacity : {16, 32, 64, 64}) {
    const std::size_t room = buffer.prepare(1).size();
    CHECK(room > capacity * 1024 - 100);
    CHECK(buffer.capacity() == capacity * 1024);
    read(room, 50);  // a reply is seldom cut at its end
  }
  for (int i = 0; i != 64; ++i) {
    CHECK(buffer.prepare(1).size() == 64 * 1024 - 50);
    read(100, 50);
  }
  CHECK(buffer.prepare(1).size() == 16 * 1024 - 50);
  CHECK(buffer.prepare(1'000'000).size() >= 1'000'000);
  CHECK(buffer.prepare(1).size() == 16 * 1024 - 50);
  buffer.trim();
  CHECK(buffer.size() == 50);
  buffer.consume(50);
  buffer.trim();
  CHECK(buffer.capacity() == 0);
}

TEST_CASE("a small rest leaves the whole buffer to the next read") {
  ReadBuffer buffer;
  const std::string_view bytes = "0123456789";
  bytes.copy(buffer.prepare(1).data(), bytes.size());
  buffer.commit(bytes.size());
  buffer.consume(7);
  CHECK(buffer.prepare(1).size() == buffer.capacity() - 3);
  CHECK(std::string_view(buffer.begin(), buffer.end()) == "789");
}

TEST_CASE("an idle parser holds little, a trimmed one nothing") {
  const MemoryMeter meter;
  Parser parser;
  CHECK(MemoryMeter::held() == 0);
  Reply reply;
  parser.feed("*1\r\n:1\r\n");
  CHECK(parser.next(reply) == Status::reply);
  reply = Reply();
  CHECK(MemoryMeter::held() < 32 * 1024);
  parser.trim();
  CHECK(MemoryMeter::held() == 0);
  parser.feed("*1\r\n");
  CHECK(parser.next(reply) == Status::need_more);
  parser.trim();
  parser.feed(":1\r\n");
  CHECK(parser.next(reply) == Status::reply);
}

TEST_CASE("the hot path allocates the value and nothing else") {
  Parser parser;
  Reply reply;
  const std::string bytes = bulk(64);
  parser.feed(bytes);
  CHECK(parser.next(reply) == Status::reply);
  const MemoryMeter meter;
  for (int i = 0; i != 1000; ++i) {
    parser.feed(bytes);
    REQUIRE(parser.next(reply) == Status::reply);
    const std::string value = reply.take_text();
  }
  CHECK(MemoryMeter::allocations() <= 1000);
  const MemoryMeter view_meter;
  for (int i = 0; i != 1000; ++i) {
    parser.feed(bytes);
    ReplyView view;
    REQUIRE(parser.next_scalar(view));
    REQUIRE(view.text().size() == 64);
  }
  CHECK(MemoryMeter::allocations() == 0);
}

// Work is counted in bytes looked at for a line end, which is what grew with the square elsewhere.
TEST_CASE("a long line in small pieces is searched once") {
  const std::string line(10 * megabyte, 'x');
  std::size_t looked = 0, work = 0;
  const std::string bytes = "+" + line;
  for (std::size_t end = 1; end <= bytes.size(); end += 4096) {
    Token token;
    const std::size_t before = looked;
    CHECK(scan_line(bytes.data(), bytes.data() + end, looked, token) == LineScan::partial);
    work += end - 1 - before;
  }
  CHECK(work < bytes.size());

  for (const std::string start : {"", "*1\r\n", "|1\r\n+k\r\n"}) {
    const Outcome outcome = run(start + "+" + line + "\r\n*1\r\n+a\r\n", 4096);
    CHECK(outcome.error.empty());
    CHECK_FALSE(outcome.replies.empty());
  }
}

}  // namespace slotwise::resp::test
