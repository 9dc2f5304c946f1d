// Commands as bytes: an array of bulk strings, the same in RESP2 and RESP3.
//
// Written by hand because hiredis's formatter costs 2,500 instructions for a GET.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace slotwise::resp {

/// The bytes that the command takes on the wire.
std::size_t encoded_size(std::span<const std::string_view> words) noexcept;

/// Never less than encoded_size(words), and quicker to have: no digits are counted.
std::size_t encoded_bound(std::span<const std::string_view> words) noexcept;

/// Writes the command to `to` if it surely fits into `room` bytes; its size, or 0.
std::size_t write_if_fits(char* to, std::size_t room,
                          std::span<const std::string_view> words) noexcept;

/// The first words of a command as bytes, written once for all calls of it.
struct Head {
  static constexpr std::size_t most_bytes = 32;
  std::uint8_t words = 0;  ///< 0: there is none, because it would be too long
  std::uint8_t size = 0;
  char bytes[most_bytes] = {};
};

/// The name of a command, of one or two words with a space between them ("OBJECT ENCODING").
Head make_head(std::string_view name) noexcept;

/// The same as above for a command that begins with the words of `head`.
std::size_t write_if_fits(char* to, std::size_t room, const Head& head,
                          std::span<const std::string_view> words) noexcept;

/// Writes the command to `to`, which has room for encoded_bound(words) bytes; returns the end.
char* write_command(char* to, std::span<const std::string_view> words) noexcept;

/// Appends the command to `out` with at most one growth of it.
void append_command(std::string& out, std::span<const std::string_view> words);

/// The bytes of one command, for the length of a call: on the stack if they are few.
class CommandBytes {
 public:
  explicit CommandBytes(std::span<const std::string_view> words);
  CommandBytes(const Head& head, std::span<const std::string_view> words);
  CommandBytes(const CommandBytes&) = delete;
  CommandBytes& operator=(const CommandBytes&) = delete;
  std::string_view view() const noexcept { return bytes_; }

 private:
  std::string_view bytes_;
  std::string large_;
  char small_[256];
};

}  // namespace slotwise::resp
