#include "link/out_buffer.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <string>

using slotwise::link::OutBuffer;

namespace {

std::string text_of(const OutBuffer& buffer) {
  return {buffer.rest().data(), buffer.rest().size()};
}

}  // namespace

TEST_CASE("what is appended leaves in order, however the socket takes it") {
  OutBuffer buffer;
  std::mt19937 random(7);
  std::string expected;
  std::string sent;
  for (int round = 0; round < 5000; ++round) {
    std::string piece(random() % (round % 50 == 0 ? 5000 : 90),
                      static_cast<char>('a' + round % 26));
    if (round % 3 == 0) {
      std::copy(piece.begin(), piece.end(), buffer.room(piece.size() + 40));
      buffer.written(piece.size());
    } else {
      buffer.append(piece);
    }
    expected += piece;
    const std::size_t taken = random() % (buffer.size() + 1);
    sent += text_of(buffer).substr(0, taken);
    buffer.taken(taken);
    REQUIRE(buffer.size() == expected.size() - sent.size());
  }
  sent += text_of(buffer);
  CHECK(sent == expected);
  buffer.taken(buffer.size());
  CHECK(buffer.empty());
}

TEST_CASE("after a large piece the buffer works on") {
  OutBuffer buffer;
  buffer.append(std::string(1'000'000, 'x'));
  buffer.taken(999'999);
  buffer.append("y");
  CHECK(text_of(buffer) == "xy");
  buffer.taken(2);
  buffer.append("z");
  CHECK(text_of(buffer) == "z");
  buffer.clear();
  CHECK(buffer.empty());
}
