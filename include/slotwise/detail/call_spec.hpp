// What a face hands to the library: one command before it is encoded.
#pragma once

#include <span>
#include <string_view>

namespace slotwise {

class Script;

namespace detail {

class Command;  // private: an entry of the command table

/// Everything is only looked at during the call that it is given to.
struct CallSpec {
  const Command* command = nullptr;  ///< null: to be looked up by its words
  std::span<const std::string_view> words;
  bool spread = false;             ///< keys may lie in several slots
  const Script* script = nullptr;  ///< words are an EVALSHA of this script
};

}  // namespace detail
}  // namespace slotwise
