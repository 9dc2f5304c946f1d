#include "commands/learned.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "commands/keys.hpp"

namespace slotwise::commands {

namespace {

struct Word {
  std::string_view text;
  std::uint32_t bit;
};

template <class Enum>
constexpr Word word(std::string_view text, Enum flag) {
  return {text, static_cast<std::uint32_t>(flag)};
}

constexpr std::array flag_words{
    word("write", Flag::write),
    word("readonly", Flag::readonly),
    word("denyoom", Flag::denyoom),
    word("admin", Flag::admin),
    word("pubsub", Flag::pubsub),
    word("noscript", Flag::noscript),
    word("blocking", Flag::blocking),
    word("loading", Flag::loading),
    word("stale", Flag::stale),
    word("no_auth", Flag::no_auth),
    word("no_async_loading", Flag::no_async_loading),
    word("no_mandatory_keys", Flag::no_mandatory_keys),
    word("movablekeys", Flag::movablekeys),
    word("fast", Flag::fast),
    word("asking", Flag::asking),
    word("allow_busy", Flag::allow_busy),
    word("no_multi", Flag::no_multi),
    word("skip_monitor", Flag::skip_monitor),
    word("skip_commandlog", Flag::skip_commandlog),
    word("module", Flag::module),
    word("nondeterministic_output", Flag::nondeterministic_output),
    word("nondeterministic_output_order", Flag::nondeterministic_output_order),
};
constexpr std::array key_flag_words{
    word("RO", KeyFlag::ro),
    word("RW", KeyFlag::rw),
    word("OW", KeyFlag::ow),
    word("RM", KeyFlag::rm),
    word("access", KeyFlag::access),
    word("update", KeyFlag::update),
    word("insert", KeyFlag::insert),
    word("delete", KeyFlag::remove),
    word("not_key", KeyFlag::not_key),
    word("incomplete", KeyFlag::incomplete),
    word("variable_flags", KeyFlag::variable_flags),
};
constexpr std::array request_words{
    word("request_policy:all_nodes", RequestPolicy::all_nodes),
    word("request_policy:all_shards", RequestPolicy::all_shards),
    word("request_policy:multi_shard", RequestPolicy::multi_shard),
    word("request_policy:special", RequestPolicy::special),
};
constexpr std::array response_words{
    word("response_policy:one_succeeded", ResponsePolicy::one_succeeded),
    word("response_policy:all_succeeded", ResponsePolicy::all_succeeded),
    word("response_policy:agg_logical_and", ResponsePolicy::agg_logical_and),
    word("response_policy:agg_logical_or", ResponsePolicy::agg_logical_or),
    word("response_policy:agg_min", ResponsePolicy::agg_min),
    word("response_policy:agg_max", ResponsePolicy::agg_max),
    word("response_policy:agg_sum", ResponsePolicy::agg_sum),
    word("response_policy:special", ResponsePolicy::special),
};

/// The bits of all words of a list that are known; unknown ones are a newer server's.
std::uint32_t bits_of(const Reply& list, std::span<const Word> words) {
  std::uint32_t bits = 0;
  for (const Reply& item : list.elements()) {
    for (const Word& each : words) {
      if (each.text == item.text()) bits |= each.bit;
    }
  }
  return bits;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

/// No server's names are longer. What is longer is a value in the wrong place, and is not copied.
constexpr std::size_t longest_learned_name = 128;

std::string key_of(std::string_view name, std::string_view subcommand) {
  std::string key = upper(name);
  if (!subcommand.empty()) key.append(" ").append(upper(subcommand));
  return key;
}

/// The value of a field of a map, which in RESP2 is an array that alternates names and values.
const Reply* field(const Reply& map, std::string_view name) {
  const std::span<const Reply> items = map.elements();
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text() == name) return &items[i + 1];
  }
  return nullptr;
}

std::optional<std::int16_t> number_of(const Reply* value) {
  if (value == nullptr || !value->is_integer() ||
      value->integer() < std::numeric_limits<std::int16_t>::min() ||
      value->integer() > std::numeric_limits<std::int16_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::int16_t>(value->integer());
}

/// begin_search or find_keys: the text of "type", and the map under "spec".
std::pair<std::string_view, const Reply*> half_of(const Reply& raw, std::string_view name) {
  const Reply* half = field(raw, name);
  if (half == nullptr) return {};
  const Reply* type = field(*half, "type");
  const Reply* spec = field(*half, "spec");
  if (type == nullptr || spec == nullptr) return {};
  return {type->text(), spec};
}

/// `words` keeps the keywords alive.
KeySpec spec_of(const Reply& raw, std::vector<std::unique_ptr<const std::string>>& words) {
  KeySpec spec{};
  spec.begin = KeySpec::Begin::unknown;
  spec.find = KeySpec::Find::unknown;
  if (const Reply* flags = field(raw, "flags")) {
    spec.flags = static_cast<std::uint16_t>(bits_of(*flags, key_flag_words));
  }
  const auto [begin, begin_spec] = half_of(raw, "begin_search");
  if (begin == "index") {
    if (const auto start = number_of(field(*begin_spec, "index")); start && *start > 0) {
      spec.begin = KeySpec::Begin::index;
      spec.start = *start;
    }
  } else if (begin == "keyword") {
    const Reply* keyword = field(*begin_spec, "keyword");
    const auto start = number_of(field(*begin_spec, "startfrom"));
    if (keyword != nullptr && start) {
      spec.begin = KeySpec::Begin::keyword;
      spec.start = *start;
      words.push_back(std::make_unique<const std::string>(keyword->text()));
      spec.keyword = *words.back();
    }
  }
  const auto [find, find_spec] = half_of(raw, "find_keys");
  const bool range = find == "range";
  if (range || find == "keynum") {
    const auto last = number_of(field(*find_spec, range ? "lastkey" : "keynumidx"));
    const auto step = number_of(field(*find_spec, "keystep"));
    const auto limit = number_of(field(*find_spec, range ? "limit" : "firstkey"));
    if (last && step && limit) {
      spec.find = range ? KeySpec::Find::range : KeySpec::Find::keynum;
      spec.last = *last;
      spec.step = *step;
      spec.limit = *limit;
    }
  }
  return spec;
}

}  // namespace

struct LearnedCommands::Entry {
  bool exists = false;
  CommandInfo info;
  std::string name;
  std::vector<KeySpec> specs;
  std::vector<std::unique_ptr<const std::string>> words;

  /// From one element of COMMAND INFO's reply: name, arity, flags, first key, last key, step, ACL
  /// categories, tips, key specifications, subcommands. The last four are missing before 7.0.
  explicit Entry(std::span<const Reply> raw) : exists(true) {
    name = upper(raw[0].text());
    const std::size_t bar = name.find('|');
    if (bar != std::string::npos) name[bar] = ' ';
    info.name = name;
    info.name_words = bar != std::string::npos ? 2 : 1;
    info.arity = number_of(&raw[1]).value_or(-1);
    info.flags = bits_of(raw[2], flag_words);
    if (raw.size() > 7) {
      info.request_policy = static_cast<RequestPolicy>(bits_of(raw[7], request_words));
      info.response_policy = static_cast<ResponsePolicy>(bits_of(raw[7], response_words));
    }
    if (raw.size() > 9 && !raw[9].elements().empty()) {
      info.flags |= static_cast<std::uint32_t>(Flag::container);
    }
    if (info.is(Flag::blocking)) info.block_rule = BlockRule::unknown_time;
    read_keys(raw);
  }
  Entry() = default;  // "there is no such command"

 private:
  void read_keys(std::span<const Reply> raw) {
    bool sure = true;
    if (raw.size() > 8) {
      for (const Reply& each : raw[8].elements()) {
        specs.push_back(spec_of(each, words));
        const KeySpec& spec = specs.back();
        sure = sure && spec.begin != KeySpec::Begin::unknown &&
               spec.find != KeySpec::Find::unknown && !spec.is(KeyFlag::incomplete);
      }
    }
    if (specs.empty()) {
      // Before 7.0, and a module that describes itself in the old way: first key, last key, step.
      const auto first = number_of(&raw[3]);
      const auto last = number_of(&raw[4]);
      const auto step = number_of(&raw[5]);
      if (first && last && step && *first > 0) {
        KeySpec spec{};
        spec.begin = KeySpec::Begin::index;
        spec.find = KeySpec::Find::range;
        spec.start = *first;
        spec.last = static_cast<std::int16_t>(*last < 0 ? *last : *last - *first);
        spec.step = *step;
        specs.push_back(spec);
      }
      sure = sure && !info.is(Flag::movablekeys);
    }
    if (specs.size() > Keys::max_ranges) sure = false;
    info.key_specs = specs;
    if (!sure) {
      info.key_rule = KeyRule::ask_the_server;
    } else if (specs.size() == 1 && specs[0].begin == KeySpec::Begin::index &&
               specs[0].find == KeySpec::Find::range && specs[0].last == 0 &&
               specs[0].start <= std::numeric_limits<std::uint8_t>::max()) {
      info.key_rule = KeyRule::single;
      info.single_key = static_cast<std::uint8_t>(specs[0].start);
    }
  }
};

LearnedCommands::LearnedCommands() = default;
LearnedCommands::~LearnedCommands() = default;

LearnedCommands::Found LearnedCommands::find(Args args) const {
  if (args.empty()) return {};
  if (args[0].size() > longest_learned_name) return {true, nullptr};
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key_of(args[0], {}));
  // Full: a name that cannot be remembered must not be asked about again and again.
  if (found == entries_.end()) return {entries_.size() >= max_names, nullptr};
  const Entry& entry = *found->second;
  if (!entry.exists) return {true, nullptr};
  if (!entry.info.is(Flag::container) || args.size() < 2) return {true, &entry.info};
  if (args[1].size() > longest_learned_name) return {true, nullptr};
  const auto sub = entries_.find(key_of(args[0], args[1]));
  return {true, sub != entries_.end() && sub->second->exists ? &sub->second->info : nullptr};
}

void LearnedCommands::learn(std::string_view name, const Reply& reply) {
  if (name.size() > longest_learned_name) return;
  // Built outside the lock.
  std::vector<std::unique_ptr<const Entry>> built;
  const auto build = [&built](const Reply& raw) {
    if (raw.elements().size() >= 6 && raw.elements()[0].is_text()) {
      built.push_back(std::make_unique<const Entry>(raw.elements()));
    }
  };
  if (!reply.elements().empty()) {
    const Reply& raw = reply.elements().front();
    build(raw);
    if (!built.empty() && raw.elements().size() > 9) {
      for (const Reply& sub : raw.elements()[9].elements())
        build(sub);
    }
  }
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= max_names) return;
  for (std::unique_ptr<const Entry>& entry : built) {
    std::string key = entry->name;
    entries_.try_emplace(std::move(key), std::move(entry));
  }
  entries_.try_emplace(key_of(name, {}), std::make_unique<const Entry>());
}

std::vector<std::uint32_t> positions_of_keys(Args args, const Reply& getkeys_reply) {
  std::vector<std::uint32_t> positions;
  std::vector<bool> taken(args.size());
  std::size_t next = 1;
  for (const Reply& key : getkeys_reply.elements()) {
    // Servers name keys mostly from left to right, so the search goes on where the last one ended,
    // and comes round only once.
    const auto is_it = [&](std::size_t i) { return !taken[i] && args[i] == key.text(); };
    std::size_t i = next;
    while (i < args.size() && !is_it(i))
      ++i;
    if (i >= args.size()) {
      i = 1;
      while (i < next && !is_it(i))
        ++i;
      if (i >= next) return {};
    }
    taken[i] = true;
    next = i + 1;
    positions.push_back(static_cast<std::uint32_t>(i));
  }
  return positions;
}

}  // namespace slotwise::commands
