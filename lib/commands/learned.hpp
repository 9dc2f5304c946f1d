// Commands that the table does not know: modules, newer servers.
//
// Thread rule: LearnedCommands may be used from any thread; it has one lock, held only for a
// look-up or an insertion. Never call it with a lock of your own that its callers might hold.
//
// A server is asked once for each name (`COMMAND INFO name`, which also brings the subcommands),
// and what it says is remembered, also "there is no such command". Its key specifications then do
// the work of the table. Where they do not suffice the entry's rule is `ask_the_server`: such a
// command needs a COMMAND GETKEYS each time.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <slotwise/reply.hpp>

#include "commands/command_info.hpp"

namespace slotwise::commands {

class LearnedCommands {
 public:
  LearnedCommands();
  ~LearnedCommands();
  LearnedCommands(const LearnedCommands&) = delete;
  LearnedCommands& operator=(const LearnedCommands&) = delete;

  struct Found {
    bool asked = false;                 ///< a server was asked about this name already
    const CommandInfo* info = nullptr;  ///< valid as long as this object; null: no such command
  };
  Found find(Args args) const;

  /// Remembers the reply of `COMMAND INFO name`. A reply that is no such reply (an error, because
  /// the user may not ask) is remembered as "no such command" with `asked` set: then any primary
  /// gets the command, and a MOVED says the rest. The first answer for a name stays.
  void learn(std::string_view name, const Reply& reply);

  /// At most this many names are remembered: a caller that sends garbage must not fill the memory.
  /// After that every other name counts as "asked, no such command".
  static constexpr std::size_t max_names = 10'000;

 private:
  struct Entry;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const Entry>> entries_;
};

/// The positions of the keys that COMMAND GETKEYS named, in `args`: the n-th key of the reply is
/// the first argument not yet taken that equals it. Empty if the reply does not fit the arguments.
std::vector<std::uint32_t> positions_of_keys(Args args, const Reply& getkeys_reply);

}  // namespace slotwise::commands
