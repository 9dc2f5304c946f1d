// The command table against a real server: what we take for keys and slots is held against what
// COMMAND GETKEYS answers, and against where a cluster node says that the command belongs (MOVED,
// CROSSSLOT). The second is what counts for routing; servers do not always agree with themselves.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/slot.hpp>

#include "commands/keys.hpp"
#include "commands/route.hpp"
#include "kit/cluster.hpp"

namespace {

namespace kit = slotwise::kit;
using namespace slotwise::commands;
using Command = std::vector<std::string>;

std::string shown(const Command& command) {
  std::string out;
  for (const std::string& word : command)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

class Generator {
 public:
  explicit Generator(bool well_formed) : well_formed_(well_formed) {}

  /// One invocation of a command that has key specifications: as many arguments as it takes, and
  /// numbers of keys that mostly fit.
  Command next(const CommandInfo& info) {
    if (info.name == "XREAD" || info.name == "XREADGROUP") return stream_read(info);
    if (info.name.starts_with("SORT")) return sort(info);
    if (info.name.starts_with("GEORADIUS")) return geo(info);
    if (info.name == "MIGRATE") return migrate();
    Command command = name_of(info);
    auto size = static_cast<std::size_t>(info.arity < 0 ? -info.arity : info.arity);
    if (info.arity < 0) size += below(5);
    while (command.size() < size)
      command.push_back(below(3) != 0 ? key() : option());
    for (const KeySpec& spec : info.key_specs) {
      if (spec.find != KeySpec::Find::keynum) continue;
      const auto at = static_cast<std::size_t>(spec.start + spec.last);
      const std::size_t room = (command.size() - at - 1) / static_cast<std::size_t>(spec.step);
      command[at] = std::to_string(below(room + 1));
      if (below(8) == 0) command[at] = well_formed_ ? "99" : option();
    }
    return command;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  template <std::size_t N>
  std::string one_of(const std::string_view (&list)[N]) {
    return std::string(list[below(N)]);
  }
  std::string key() {
    using namespace std::string_view_literals;
    static constexpr std::string_view keys[] = {"{a}1",   "{a}2",    "{a}3",  "{a}4", "{a}5",
                                                "{a}{b}", "a",       "b",     "{}a",  "x\0y"sv,
                                                "",       "STREAMS", "STORE", "KEYS", "GET"};
    // Mostly of one slot, or nearly all commands of many keys would be CROSSSLOT.
    return below(5) != 0 ? std::string(keys[below(6)]) : one_of(keys);
  }
  std::string option() {
    static constexpr std::string_view options[] = {"0",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "-1",
                                                   "10",
                                                   "0.5",
                                                   "NX",
                                                   "EX",
                                                   "LEFT",
                                                   "MIN",
                                                   "*",
                                                   "99999999999999999999"};
    static constexpr std::string_view odd[] = {"1x", " 1", "+2", "", "-0", "01", "0x2", "1.5", "2"};
    return well_formed_ || below(4) != 0 ? one_of(options) : one_of(odd);
  }
  static Command name_of(const CommandInfo& info) {
    Command out;
    std::string_view rest = info.name;
    for (std::size_t i = 0; i < info.name_words; ++i) {
      const std::size_t blank = rest.find(' ');
      out.emplace_back(rest.substr(0, blank));
      if (blank != std::string_view::npos) rest.remove_prefix(blank + 1);
    }
    return out;
  }
  static void append(Command& to, std::initializer_list<std::string> words) {
    to.insert(to.end(), words);
  }

  Command stream_read(const CommandInfo& info) {
    static constexpr std::string_view names[] = {"g", "STREAMS", "COUNT", "BLOCK", "GROUP"};
    Command out = name_of(info);
    const bool group = info.name == "XREADGROUP";
    // Key specifications take GROUP for the first option; real routing takes any order.
    if (group && well_formed_) append(out, {"GROUP", one_of(names), one_of(names)});
    if (below(2) == 0) append(out, {"count", "2"});
    if (group && !well_formed_) append(out, {"GROUP", one_of(names), one_of(names)});
    if (below(2) == 0) append(out, {"BLOCK", "1"});
    if (group && below(2) == 0) append(out, {"NOACK"});
    out.emplace_back("STREAMS");
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i)
      out.push_back(key());
    for (std::size_t i = 0; i < count; ++i)
      out.emplace_back("0");
    if (!well_formed_ && below(6) == 0) out.pop_back();
    if (!well_formed_ && below(6) == 0) out[1 + below(out.size() - 1)] = option();
    return out;
  }
  Command sort(const CommandInfo& info) {
    Command out = name_of(info);
    out.push_back(key());
    for (std::size_t i = below(4); i != 0; --i) {
      switch (below(6)) {
        case 0:
          append(out, {"BY", key()});
          break;
        case 1:
          append(out, {"get", key()});
          break;
        case 2:
          append(out, {"LIMIT", "0", "5"});
          break;
        case 3:
          append(out, {"ALPHA"});
          break;
        default:
          append(out, {"STORE", key()});
      }
    }
    return out;
  }
  Command geo(const CommandInfo& info) {
    Command out = name_of(info);
    out.push_back(key());
    if (info.name.find("BYMEMBER") != std::string_view::npos) {
      out.push_back(key());
    } else {
      append(out, {"1", "2"});
    }
    append(out, {"3", "m"});
    // GETKEYS of some servers names each STORE, routing always takes the last.
    for (std::size_t i = below(well_formed_ ? 2 : 4); i != 0; --i) {
      switch (below(4)) {
        case 0:
          append(out, {"COUNT", "1"});
          break;
        case 1:
          append(out, {"STOREDIST", key()});
          break;
        case 2:
          append(out, {"store", key()});
          break;
        default:
          append(out, {"ASC"});
      }
    }
    return out;
  }
  Command migrate() {
    Command out{"MIGRATE", "127.0.0.1", "1", below(2) == 0 ? "" : key(), "0", "5"};
    if (below(2) == 0) append(out, {"COPY"});
    if (below(3) == 0) append(out, {"AUTH", key()});
    if (below(3) == 0) append(out, {"AUTH2", key(), key()});
    if (below(2) == 0) {
      append(out, {"KEYS"});
      for (std::size_t i = below(4) + (well_formed_ ? 1 : 0); i != 0; --i)
        out.push_back(key());
    }
    return out;
  }

  bool well_formed_;
  std::mt19937 random_{20240611};
};

/// What another version of the server does not know, or not with so many arguments, says nothing
/// about our table.
bool not_known_there(const kit::Reply& reply) {
  static constexpr std::string_view texts[] = {
      "nknown command", "nknown subcommand", "Invalid command specified",
      "wrong number of arguments", "Invalid number of arguments"};
  return reply.is_error() && std::any_of(std::begin(texts), std::end(texts), [&](auto text) {
           return reply.text.find(text) != std::string::npos;
         });
}

std::vector<Command> invocations(int of_each, bool well_formed) {
  Generator generator(well_formed);
  std::vector<Command> out;
  for (const CommandInfo& info : all()) {
    if (info.key_specs.empty()) continue;
    for (int i = 0; i < of_each; ++i)
      out.push_back(generator.next(info));
  }
  return out;
}

constexpr int of_each = 30;

}  // namespace

TEST_CASE("commands: keys are those that COMMAND GETKEYS names") {
  kit::Server server;
  kit::Connection connection = server.connect();
  std::map<std::string_view, int> compared;
  for (const Command& command : invocations(of_each, true)) {
    // The server's own specification gives this one up; its routing takes the key (next test).
    if (command[0] == "PFMERGE" && command.size() == 2) continue;
    Command question{"COMMAND", "GETKEYS"};
    question.insert(question.end(), command.begin(), command.end());
    const kit::Reply reply = connection.try_command_words(question);
    if (not_known_there(reply)) continue;

    INFO(shown(command) << " -> " << reply.to_string());
    const std::vector<std::string_view> args(command.begin(), command.end());
    const CommandInfo* info = find(args);
    REQUIRE(info != nullptr);
    Keys keys;
    const KeyStatus status = extract_keys(*info, args, keys, KeyUse::data);
    if (reply.is_error()) {
      CHECK((status == KeyStatus::none || status == KeyStatus::invalid));
      continue;
    }
    std::vector<std::string> ours;
    for (const KeyRef key : keys)
      ours.emplace_back(args[key.index]);
    CHECK(ours == reply.strings());
    ++compared[info->name];
  }
  CHECK(compared.size() > 150);
}

TEST_CASE("commands: slots are those that a cluster routes by") {
  kit::Cluster cluster({.primaries = 1});
  // Owns no slot, so it answers MOVED to every command that it finds a key in, and runs none.
  const std::size_t stranger = cluster.add_empty_shards(1).front();
  kit::Connection connection = cluster.server(stranger).connect();
  std::map<std::string_view, int> compared;
  for (const Command& command : invocations(of_each, false)) {
    const std::vector<std::string_view> args(command.begin(), command.end());
    const Routing routing = route(args);
    REQUIRE(routing.info != nullptr);
    if (routing.info->slot_unchecked) continue;
    const kit::Reply reply = connection.try_command_words(command);
    if (not_known_there(reply)) continue;

    INFO(shown(command) << " -> " << reply.to_string());
    if (reply.is_error("MOVED")) {
      CHECK(routing.target == Target::one_slot);
      CHECK(reply.text.starts_with("MOVED " + std::to_string(routing.slot) + " "));
      ++compared[routing.info->name];
    } else if (reply.is_error("CROSSSLOT")) {
      CHECK((routing.target == Target::cross_slot || routing.target == Target::multi_shard));
    } else {
      // Answered there: the server found no key.
      CHECK_FALSE(routing.has_key());
      CHECK_FALSE(reply.is_error("CLUSTERDOWN"));
    }
  }
  CHECK(compared.size() > 150);
}

TEST_CASE("commands: MSETEX is the one command whose slot servers do not check") {
  kit::Cluster cluster({.primaries = 1});
  const std::size_t stranger = cluster.add_empty_shards(1).front();
  kit::Server& server = cluster.server(stranger);
  const kit::Reply reply = server.try_command("MSETEX", 1, "foo", "bar");
  if (not_known_there(reply)) SKIP("this server has no MSETEX");
  // If this fails the server has been mended: take MSETEX out of hand::slot_unchecked.
  INFO(reply.to_string());
  CHECK_FALSE(reply.is_error("MOVED"));
}

TEST_CASE("slot: 10,000 keys of { } a NUL as CLUSTER KEYSLOT has them") {
  kit::Cluster cluster({.primaries = 1});
  std::mt19937 random(20240611);
  std::vector<Command> questions;
  for (int i = 0; i < 10'000; ++i) {
    std::string key(random() % 16, '\0');
    for (char& c : key)
      c = "{}a\0"[random() % 4];
    questions.push_back({"CLUSTER", "KEYSLOT", key});
  }
  const std::vector<kit::Reply> replies = cluster.server(0).pipeline(questions);
  REQUIRE(replies.size() == questions.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    INFO(questions[i][2]);
    REQUIRE(replies[i].num() == slotwise::slot(questions[i][2]));
  }
}
