// Table entries of typed commands, looked up once per process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <slotwise/export.hpp>

namespace slotwise::detail {

class Command;  // private: an entry of the command table

/// The entry of a command that the table is known to have ("GET", "OBJECT ENCODING").
SLOTWISE_API const Command& command_of(std::string_view name) noexcept;

template <std::size_t N>
struct Name {
  char text[N];
  consteval Name(const char (&s)[N]) { std::copy_n(s, N, text); }  // NOLINT
  constexpr std::string_view view() const { return {text, N - 1}; }
  /// Length of the first word. By index: g++ 12 with -fsanitize=undefined takes no pointer
  /// arithmetic on a template's argument for a constant.
  consteval std::size_t first_word() const {
    std::size_t i = 0;
    while (i < N - 1 && text[i] != ' ')
      ++i;
    return i;
  }
};

template <Name name>
const Command& known() noexcept {
  static const Command& entry = command_of(name.view());
  return entry;
}

}  // namespace slotwise::detail
