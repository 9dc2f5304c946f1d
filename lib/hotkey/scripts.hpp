// The Lua scripts: all that must happen at once at one slot. Their arguments and answers are known
// to store.cpp alone.
//
// Thread rule: any thread.
#pragma once

#include <slotwise/commands/scripts.hpp>

namespace slotwise::hotkey {

struct Scripts {
  // Keys: the original, the manifest.
  Script set;
  Script del;
  Script expire;
  Script look;
  Script restore;
  Script create;
  Script change;
  Script finish_join;
  Script add_home;
  // Keys: a copy, its mark.
  Script put;
  Script look_copy;
  Script open;
  Script remove;
  Script add;
  Script look_part;
  Script fold;
};

/// Made at the first use.
const Scripts& scripts();

}  // namespace slotwise::hotkey
