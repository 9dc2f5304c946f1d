#include <slotwise/slot.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace {

using slotwise::hash_tag;
using slotwise::slot;
using namespace std::string_view_literals;

// The rule again in the plainest way, bit by bit and byte by byte: what the fast one is held
// against.
unsigned plain_crc(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? ((crc << 1) ^ 0x1021U) & 0xffffU : (crc << 1) & 0xffffU;
    }
  }
  return crc;
}

unsigned plain_slot(const std::string& key) {
  for (std::size_t open = 0; open < key.size(); ++open) {
    if (key[open] != '{') continue;
    for (std::size_t close = open + 1; close < key.size(); ++close) {
      if (key[close] != '}') continue;
      if (close == open + 1) break;
      return plain_crc(key.substr(open + 1, close - open - 1)) % 16384;
    }
    break;
  }
  return plain_crc(key) % 16384;
}

// Slots as real servers tell them (CLUSTER KEYSLOT).
static_assert(slot("foo") == 12182);
static_assert(slot("bar") == 5061);
static_assert(slot("k") == 7629);
static_assert(slot("{}abc") == 5980);
static_assert(slot("{}{same}") == 4123);
static_assert(slot("foo{}{bar}") == 8363);
static_assert(slot("foo{{bar}}zap") == 4015);
static_assert(slot("}{abc") == 15680);
static_assert(slot("") == 0);
static_assert(slot("a\0b"sv) == 8383);
static_assert(slot("mystream") == 12571);
static_assert(slot("COUNT") == 1092);
static_assert(slot("{abc") == 444);
static_assert(slot("A}B{C") == 7939);
// The check value of CRC-16/XMODEM.
static_assert(slotwise::detail::crc16("123456789") == 0x31c3);

}  // namespace

TEST_CASE("slot: hash tags") {
  CHECK(hash_tag("{user7}:cart") == "user7");
  CHECK(slot("{user7}:cart") == slot("user7"));
  CHECK(slot("x{user7}y{other}") == slot("user7"));
  CHECK(hash_tag("foo{{bar}}zap") == "{bar");
  CHECK(hash_tag("{}{same}") == "{}{same}");
  CHECK(hash_tag("{open") == "{open");
  CHECK(hash_tag("}{") == "}{");
  CHECK(hash_tag("{\0}x"sv) == "\0"sv);
  CHECK(hash_tag("").empty());
}

TEST_CASE("slot: 10,000 keys of { } a NUL, and all lengths, like the plain way") {
  std::mt19937 random(20240611);
  for (int i = 0; i < 10'000; ++i) {
    std::string key(random() % 24, '\0');
    for (char& c : key)
      c = "{}a\0"[random() % 4];
    INFO("key number " << i << ", length " << key.size());
    REQUIRE(slot(key) == plain_slot(key));
  }
  std::string key;
  for (int length = 0; length < 300; ++length) {
    REQUIRE(slot(key) == plain_slot(key));
    key.push_back(static_cast<char>(random() & 0xffU));
  }
}
