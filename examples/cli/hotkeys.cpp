// slotwise hotkeys: the group; its subcommands are in cli/hotkeys/.

#include "cli/hotkeys/hotkeys.hpp"

#include "cli/commands.hpp"
#include "cli/hotkeys/hotkeys_split.hpp"

namespace slotwise::cli {

void add_hotkeys(CLI::App& app, Action& action) {
  CLI::App* group = app.add_subcommand("hotkeys", "Find the keys that get the most traffic");
  group->require_subcommand(1);
  group->footer("slotwise hotkeys COMMAND --help says more.");
  add_hotkeys_find(*group, action);
  add_hotkeys_split(*group, action);
  add_hotkeys_watch(*group, action);
}

}  // namespace slotwise::cli
