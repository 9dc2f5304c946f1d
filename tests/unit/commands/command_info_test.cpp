#include "commands/command_info.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <string_view>

#include "commands/keys.hpp"
#include "commands/table.hpp"
#include "unit/commands/helpers.hpp"

namespace {

using namespace slotwise::commands;
using commands_test::cut;

// Resolved by the compiler.
constexpr const CommandInfo& get = of("GET");
static_assert(get.arity == 2 && get.single_key == 1);
static_assert(get.read_only() && get.retry_safe() && !get.is(Flag::write));
static_assert(of("OBJECT ENCODING").container() == "OBJECT");
static_assert(of("OBJECT ENCODING").single_key == 2);
static_assert(of("DBSIZE").request_policy == RequestPolicy::all_shards);
static_assert(of("DBSIZE").response_policy == ResponsePolicy::agg_sum);

}  // namespace

TEST_CASE("find: any case of letters, subcommands, the same entry as of()") {
  CHECK(find("GET") == &get);
  CHECK(find("gEt") == &get);
  CHECK(find("GET", "whatever") == &get);
  CHECK(find("object", "Encoding") == &of("OBJECT ENCODING"));
  CHECK(find("client", "no-evict") == &of("CLIENT NO-EVICT"));
  CHECK(find(cut("memory usage foo")) == &of("MEMORY USAGE"));
  CHECK(find("COMMAND") == &of("COMMAND"));
  CHECK(find("OBJECT") == &of("OBJECT"));
}

TEST_CASE("find: what the table does not know") {
  CHECK(find("") == nullptr);
  CHECK(find("GETX") == nullptr);
  CHECK(find("GE") == nullptr);
  CHECK(find("OBJECT", "NO-SUCH") == nullptr);
  CHECK(find("OBJECT ENCODING") == nullptr);
  CHECK(find(std::string_view("GET\0", 4)) == nullptr);
  CHECK(find("@ET") == nullptr);
  CHECK(find(std::string(1'000'000, 'G')) == nullptr);
  CHECK(find("OBJECT", std::string(1'000'000, 'G')) == nullptr);
  CHECK(find(Args()) == nullptr);
}

TEST_CASE("same_word: all bytes, in every place of a word") {
  for (std::size_t size = 1; size < 20; ++size) {
    for (int x = 0; x < 256; ++x) {
      for (int y = 0; y < 256; ++y) {
        std::string a(size, '@');
        std::string b(size, '@');
        const std::size_t at = static_cast<std::size_t>(x + y) % size;
        a[at] = static_cast<char>(x);
        b[at] = static_cast<char>(y);
        const auto fold = [](int c) { return c >= 'a' && c <= 'z' ? c - 32 : c; };
        if (same_word(a, b) != (fold(x) == fold(y))) {
          FAIL("size " << size << ", bytes " << x << " and " << y);
        }
      }
    }
  }
  CHECK(same_word("", ""));
  CHECK_FALSE(same_word("a", ""));
}

TEST_CASE("table: sorted, unique, consistent") {
  REQUIRE(all().size() > 400);
  std::string_view before;
  for (const CommandInfo& info : all()) {
    INFO(info.name);
    CHECK(before < info.name);
    before = info.name;
    for (const char c : info.name) {
      CHECK(((c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == ' ' || (c >= '0' && c <= '9')));
    }
    CHECK(info.arity != 0);
    CHECK((info.name_words == 2) == (info.name.find(' ') != std::string_view::npos));
    CHECK_FALSE((info.read_only() && info.is(Flag::write)));
    if (info.name_words == 2) {
      const CommandInfo* container = find(info.container());
      REQUIRE(container != nullptr);
      CHECK(container->is(Flag::container));
      CHECK(find(info.container(), info.name.substr(info.container().size() + 1)) == &info);
    } else {
      CHECK(find(info.name) == &info);
    }
    CHECK((info.key_rule == KeyRule::single) == (info.single_key != 0));
    for (const KeySpec& spec : info.key_specs) {
      CHECK(spec.is(KeyFlag::ro) + spec.is(KeyFlag::rw) + spec.is(KeyFlag::ow) +
                spec.is(KeyFlag::rm) + spec.is(KeyFlag::not_key) ==
            1);
      if (spec.begin == KeySpec::Begin::index) CHECK(spec.start >= info.name_words);
      if (spec.begin == KeySpec::Begin::keyword) CHECK_FALSE(spec.keyword.empty());
      if (spec.find != KeySpec::Find::unknown) CHECK(spec.step > 0);
      if (spec.begin == KeySpec::Begin::unknown || spec.is(KeyFlag::incomplete)) {
        // Every gap of the server's facts is closed by hand.
        CHECK(info.key_rule != KeyRule::specs);
      }
    }
    CHECK(info.key_specs.size() <= Keys::max_ranges);
    // Divisible commands have one range of keys, and nothing else would be right.
    if (info.request_policy == RequestPolicy::multi_shard) CHECK(info.key_specs.size() == 1);
    if (info.is(Flag::blocking)) CHECK(info.block_rule != BlockRule::never);
  }
}

TEST_CASE("retry_safe: reads and harmless commands, never a script that may write") {
  for (const char* name : {"GET", "XREAD", "EVAL_RO", "EVALSHA_RO", "FCALL_RO", "SORT_RO", "SCAN",
                           "PING", "INFO", "TIME", "DBSIZE"}) {
    INFO(name);
    CHECK(find(name)->retry_safe());
  }
  for (const char* name : {"SET", "INCR", "EVAL", "EVALSHA", "FCALL", "SORT", "GETEX", "PUBLISH",
                           "XREADGROUP", "BLPOP", "WAIT", "DEL"}) {
    INFO(name);
    CHECK_FALSE(find(name)->retry_safe());
  }
}

TEST_CASE("refused_because: connection state, with what to use instead") {
  const auto reason = [](std::string_view text) { return std::string(refused_because(cut(text))); };
  CHECK(reason("multi").find("client.eval") != std::string::npos);
  CHECK(reason("WATCH k").find("client.eval") != std::string::npos);
  CHECK(reason("exec").find("client.eval") != std::string::npos);
  CHECK(reason("Subscribe c").find("connection of its own") != std::string::npos);
  CHECK(reason("SSUBSCRIBE c").find("connection of its own") != std::string::npos);
  CHECK(reason("SELECT 1").find("`db`") != std::string::npos);
  CHECK(reason("client setname x").find("client_name") != std::string::npos);
  CHECK(reason("READONLY").find("read_from") != std::string::npos);
  for (const char* text : {"MONITOR", "RESET", "QUIT", "HELLO 3", "AUTH p", "ASKING", "READWRITE",
                           "CLIENT REPLY OFF", "CLIENT TRACKING on", "CLIENT NO-EVICT on", "SYNC",
                           "PSYNC a 1", "UNSUBSCRIBE", "DISCARD", "UNWATCH", "SCRIPT DEBUG YES"}) {
    INFO(text);
    CHECK_FALSE(reason(text).empty());
  }
  for (const char* text :
       {"GET k", "PING", "CLIENT GETNAME", "CLIENT ID", "CLIENT LIST", "PUBLISH c m",
        "SPUBLISH c m", "BLPOP k 1", "SCRIPT LOAD x", "CONFIG GET x", "NOSUCH"}) {
    INFO(text);
    CHECK(reason(text).empty());
  }
  // The sentences start with the command that was refused, so that the error names it.
  for (const CommandInfo& info : all()) {
    if (!info.refusal.empty()) CHECK(info.refusal.starts_with(info.name));
  }
}
