// The slot of a key.
//
// Thread rule: pure functions, usable from any thread and at compile time.
//
//   static_assert(slotwise::slot("{user7}:cart") == slotwise::slot("{user7}:mail"));
//
// A cluster has 16,384 slots. A key belongs to the slot CRC16(tag) mod 16384, where the tag is the
// part between the first `{` and the first `}` after it, if that part is not empty, and otherwise
// the whole key ("Valkey cluster specification", chapters "Key distribution model" and "Hash
// tags"). Keys are bytes: NUL and everything above 127 count like any other byte. Channels of
// sharded pub/sub follow the same rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace slotwise {

inline constexpr std::uint16_t slot_count = 16384;

/// The part of the key that decides its slot: the hash tag without its braces, or the whole key.
///
/// Only the first `{` opens a tag. If its `}` is missing or follows at once, there is no tag, even
/// if a later pair of braces looks like one: all of `{}{same}` is hashed.
constexpr std::string_view hash_tag(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

namespace detail {

// Slicing by eight: table[k][b] is the CRC of the byte b followed by k zero bytes. Eight bytes then
// need eight loads that do not wait for each other, where the classic one-table loop waits for the
// result of each byte before it can look up the next: about a third of the time for a long key.
using Crc16Tables = std::array<std::array<std::uint16_t, 256>, 8>;

constexpr Crc16Tables make_crc16_tables() noexcept {
  Crc16Tables tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 0x8000U) != 0 ? (crc << 1) ^ 0x1021U : crc << 1;
    tables[0][byte] = static_cast<std::uint16_t>(crc);
  }
  for (std::size_t zeros = 1; zeros < 8; ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const unsigned crc = tables[zeros - 1][byte];
      tables[zeros][byte] = static_cast<std::uint16_t>((crc << 8) ^ tables[0][crc >> 8]);
    }
  }
  return tables;
}

inline constexpr Crc16Tables crc16_tables = make_crc16_tables();

/// CRC-16/XMODEM: polynomial 0x1021, start value 0, nothing reflected; "123456789" gives 0x31c3.
constexpr std::uint16_t crc16(std::string_view bytes) noexcept {
  const auto& t = crc16_tables;
  const auto byte = [&bytes](std::size_t i) constexpr noexcept {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::size_t crc = 0;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    crc = std::size_t{t[7][byte(i) ^ (crc >> 8)]} ^ t[6][byte(i + 1) ^ (crc & 0xff)] ^
          t[5][byte(i + 2)] ^ t[4][byte(i + 3)] ^ t[3][byte(i + 4)] ^ t[2][byte(i + 5)] ^
          t[1][byte(i + 6)] ^ t[0][byte(i + 7)];
  }
  for (; i < bytes.size(); ++i)
    crc = ((crc << 8) & 0xffff) ^ t[0][(crc >> 8) ^ byte(i)];
  return static_cast<std::uint16_t>(crc);
}

/// Whether a `{` is in it: eight bytes at a time, because most keys are short and have none, and a
/// call for each costs more. At run time only.
inline bool has_brace(std::string_view key) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  const auto in_eight = [](const char* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    word ^= ones * '{';
    return ((word - ones) & ~word & high_bits) != 0;
  };
  const std::size_t size = key.size();
  if (size < 8) {
    for (const char c : key) {
      if (c == '{') return true;
    }
    return false;
  }
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    if (in_eight(key.data() + i)) return true;
  }
  return i != size && in_eight(key.data() + size - 8);
}

}  // namespace detail

/// The slot of a key, 0 ... 16383.
constexpr std::uint16_t slot(std::string_view key) noexcept {
  if (!std::is_constant_evaluated() && !detail::has_brace(key)) {
    return static_cast<std::uint16_t>(detail::crc16(key) % slot_count);
  }
  return static_cast<std::uint16_t>(detail::crc16(hash_tag(key)) % slot_count);
}

}  // namespace slotwise
