#include "unit/client/commands_kit.hpp"

#include <ostream>
#include <sstream>

#include "commands/command_info.hpp"
#include "commands/route.hpp"

namespace slotwise::client::testing {

namespace table = slotwise::commands;

std::ostream& operator<<(std::ostream& out, const Call& call) {
  for (const auto& word : call.words)
    out << '[' << word << "] ";
  return out << call.type->name() << " kind " << static_cast<int>(call.kind);
}

void check_table(const Call& call) {
  const std::vector<std::string_view> words(call.words.begin(), call.words.end());
  INFO(call);
  const table::CommandInfo* info = table::find(words);
  REQUIRE(info != nullptr);
  CHECK(info->arity_fits(words.size()));
  CHECK(table::refused_because(words).empty());
  const table::Routing routing = table::route(*info, words);
  CHECK_FALSE(routing.malformed);
  if (call.kind == Call::Kind::spread) {
    CHECK((routing.target == table::Target::one_slot ||
           routing.target == table::Target::multi_shard));
  } else {
    CHECK((
        routing.target == table::Target::one_slot || routing.target == table::Target::any_primary ||
        routing.target == table::Target::all_shards || routing.target == table::Target::all_nodes));
  }
}

std::vector<std::string> cut(std::string_view line) {
  std::vector<std::string> words;
  std::istringstream in{std::string(line)};
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

}  // namespace slotwise::client::testing
