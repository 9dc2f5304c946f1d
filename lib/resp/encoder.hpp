// Commands as bytes: an array of bulk strings, the same in RESP2 and RESP3.
//
// Written by hand because hiredis's formatter costs 2,500 instructions for a GET.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace slotwise::resp {

/// The bytes that the command takes on the wire.
std::size_t encoded_size(std::span<const std::string_view> words) noexcept;

/// Never less than encoded_size(words), and quicker to have: no digits are counted.
std::size_t encoded_bound(std::span<const std::string_view> words) noexcept;

/// Writes the command to `to`, which has room for encoded_size(words) bytes; returns the end.
char* write_command(char* to, std::span<const std::string_view> words) noexcept;

/// Appends the command to `out` with at most one growth of it.
void append_command(std::string& out, std::span<const std::string_view> words);

}  // namespace slotwise::resp
