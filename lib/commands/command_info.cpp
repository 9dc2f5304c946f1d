#include "commands/command_info.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "commands/table.hpp"

namespace slotwise::commands {

namespace {

// Open addressing with linear probing over a fixed table: one hash, and mostly one comparison.
// Slots hold the position in the table plus one; 0 is free.
constexpr std::size_t hash_slots = 2048;
static_assert(table.size() < hash_slots / 2, "the table grew: more hash slots are needed");

constexpr std::uint32_t hash_start = 2166136261U;

/// FNV-1a over letters in one case. Bit 5 also merges a few characters that no name has.
constexpr std::uint32_t hash_on(std::uint32_t hash, std::string_view text) noexcept {
  for (const char c : text) {
    hash = (hash ^ (static_cast<unsigned char>(c) | 0x20U)) * 16777619U;
  }
  return hash;
}

constexpr std::size_t hash_slot(std::uint32_t hash) noexcept {
  return (hash ^ (hash >> 16)) % hash_slots;
}

constexpr auto make_index() {
  std::array<std::uint16_t, hash_slots> index{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::size_t at = hash_slot(hash_on(hash_start, table[i].name));
    while (index[at] != 0)
      at = (at + 1) % hash_slots;
    index[at] = static_cast<std::uint16_t>(i + 1);
  }
  return index;
}

constexpr auto index = make_index();

// Anything longer is no name, and need not be hashed to its end.
constexpr std::size_t longest_name = [] {
  std::size_t longest = 0;
  for (const CommandInfo& info : table)
    longest = std::max(longest, info.name.size());
  return longest;
}();

/// Eight characters at once in one case: subtracts 0x20 from each byte in 'a' ... 'z'.
std::uint64_t upper_8(std::uint64_t chars) noexcept {
  constexpr std::uint64_t each = 0x0101010101010101U;
  const std::uint64_t low_bits = chars & (each * 0x7fU);
  const std::uint64_t from_a = low_bits + each * (0x80U - 'a');   // bit 7: >= 'a'
  const std::uint64_t after_z = low_bits + each * (0x7fU - 'z');  // bit 7: > 'z'
  const std::uint64_t is_lower = from_a & ~after_z & ~chars & (each * 0x80U);
  return chars - (is_lower >> 2);
}

std::uint64_t load_8(const char* from) noexcept {
  std::uint64_t chars = 0;
  std::memcpy(&chars, from, sizeof chars);
  return chars;
}

constexpr unsigned char upper(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return u >= 'a' && u <= 'z' ? static_cast<unsigned char>(u - 0x20U) : u;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  std::size_t i = 0;
  for (; i + 8 <= a.size(); i += 8) {
    if (upper_8(load_8(a.data() + i)) != upper_8(load_8(b.data() + i))) return false;
  }
  for (; i < a.size(); ++i) {
    if (upper(a[i]) != upper(b[i])) return false;
  }
  return true;
}

const CommandInfo* find(std::string_view name, std::string_view subcommand) noexcept {
  if (name.size() > longest_name) return nullptr;
  const CommandInfo* found = nullptr;
  std::uint32_t hash = hash_on(hash_start, name);
  for (std::size_t at = hash_slot(hash); index[at] != 0; at = (at + 1) % hash_slots) {
    const CommandInfo& info = table[index[at] - std::size_t{1}];
    if (same_word(info.name, name)) {
      // "OBJECT ENCODING" as ONE argument is no command of any server.
      found = info.name_words == 1 ? &info : nullptr;
      break;
    }
  }
  if (found == nullptr || !found->is(Flag::container) || subcommand.empty()) return found;

  if (name.size() + 1 + subcommand.size() > longest_name) return nullptr;
  hash = hash_on(hash_on(hash, " "), subcommand);
  for (std::size_t at = hash_slot(hash); index[at] != 0; at = (at + 1) % hash_slots) {
    const CommandInfo& info = table[index[at] - std::size_t{1}];
    if (info.name.size() == name.size() + 1 + subcommand.size() && info.name_words == 2 &&
        info.name[name.size()] == ' ' && same_word(info.name.substr(0, name.size()), name) &&
        same_word(info.name.substr(name.size() + 1), subcommand)) {
      return &info;
    }
  }
  return nullptr;
}

std::span<const CommandInfo> all() noexcept {
  return table;
}

std::string_view refused_because(Args args) noexcept {
  const CommandInfo* info = find(args);
  return info != nullptr ? refused_because(*info) : std::string_view();
}

}  // namespace slotwise::commands
