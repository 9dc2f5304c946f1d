#include "commands/split.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include <slotwise/slot.hpp>

#include "commands/aggregate.hpp"
#include "commands/keys.hpp"
#include "commands/route.hpp"

namespace slotwise::commands {

namespace {

/// The text of `number`, in memory of its own: the argument of a part must not move with the part.
std::string_view write_number(std::size_t number, std::unique_ptr<char[]>& memory) {
  char text[std::numeric_limits<std::size_t>::digits10 + 1];
  const auto length =
      static_cast<std::size_t>(std::to_chars(std::begin(text), std::end(text), number).ptr - text);
  memory = std::make_unique<char[]>(length);
  std::memcpy(memory.get(), text, length);
  return {memory.get(), length};
}

}  // namespace

std::vector<Part> split(const CommandInfo& info, Args args) {
  std::vector<Part> parts;
  if (route(info, args).target != Target::multi_shard) return parts;
  Keys keys;
  extract_keys(info, args, keys);
  const Keys::Range range = keys.ranges().front();
  const KeySpec& spec = info.key_specs.front();

  std::unordered_map<std::uint16_t, std::size_t> part_of_slot;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const std::size_t at = range.first + std::size_t{i} * range.step;
    const std::uint16_t here = slot(args[at]);
    const auto [found, is_new] = part_of_slot.try_emplace(here, parts.size());
    if (is_new) {
      Part& part = parts.emplace_back();
      part.slot = here;
      part.args.assign(args.begin(), args.begin() + range.first);
    }
    Part& part = parts[found->second];
    part.keys.push_back(i);
    for (std::size_t k = 0; k < range.step; ++k)
      part.args.push_back(args[at + k]);
  }
  const std::size_t end = range.first + std::size_t{range.count} * range.step;
  for (Part& part : parts) {
    part.args.insert(part.args.end(), args.begin() + static_cast<std::ptrdiff_t>(end), args.end());
    if (spec.find == KeySpec::Find::keynum) {
      const auto position = static_cast<std::size_t>(spec.start + spec.last);
      part.args[position] = write_number(part.keys.size(), part.number);
    }
  }
  return parts;
}

Reply join(const CommandInfo& info, const std::vector<Part>& parts, std::vector<Reply> replies) {
  if (info.response_policy != ResponsePolicy::none) {
    std::vector<NodeReply> of_nodes;
    of_nodes.reserve(replies.size());
    for (Reply& reply : replies)
      of_nodes.push_back({{}, std::move(reply)});
    return combine(info, std::move(of_nodes)).reply;
  }
  const auto error = std::find_if(replies.begin(), replies.end(),
                                  [](const Reply& reply) { return reply.is_error(); });
  if (error != replies.end()) return std::move(*error);

  std::size_t count = 0;
  for (const Part& part : parts)
    count += part.keys.size();
  std::vector<Reply> values(count);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<std::uint32_t>& places = parts[i].keys;
    if (i >= replies.size() || replies[i].elements().size() != places.size()) {
      return Reply::make_text(Reply::Type::error,
                              "ERR " + std::string(info.name) +
                                  ": a node answered with another number of values than keys");
    }
    std::vector<Reply> found = replies[i].take_elements();
    for (std::size_t k = 0; k < places.size(); ++k)
      values[places[k]] = std::move(found[k]);
  }
  return Reply::make_aggregate(Reply::Type::array, std::move(values));
}

}  // namespace slotwise::commands
