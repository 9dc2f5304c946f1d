#include "commands/aggregate.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "commands/table.hpp"

namespace slotwise::commands {

namespace {

using Type = Reply::Type;

std::int64_t add_clamped(std::int64_t a, std::int64_t b) noexcept {
  constexpr auto max = std::numeric_limits<std::int64_t>::max();
  constexpr auto min = std::numeric_limits<std::int64_t>::min();
  if (b > 0 && a > max - b) return max;
  if (b < 0 && a < min - b) return min;
  return a + b;
}

std::int64_t apply(ResponsePolicy policy, std::int64_t a, std::int64_t b) noexcept {
  switch (policy) {
    case ResponsePolicy::agg_logical_and:
      return a != 0 && b != 0 ? 1 : 0;
    case ResponsePolicy::agg_logical_or:
      return a != 0 || b != 0 ? 1 : 0;
    case ResponsePolicy::agg_min:
      return std::min(a, b);
    case ResponsePolicy::agg_max:
      return std::max(a, b);
    default:
      return add_clamped(a, b);
  }
}

double apply(ResponsePolicy policy, double a, double b) noexcept {
  switch (policy) {
    case ResponsePolicy::agg_logical_and:
      return a != 0 && b != 0 ? 1 : 0;
    case ResponsePolicy::agg_logical_or:
      return a != 0 || b != 0 ? 1 : 0;
    case ResponsePolicy::agg_min:
      return std::min(a, b);
    case ResponsePolicy::agg_max:
      return std::max(a, b);
    default:
      return a + b;
  }
}

double as_real(const Reply& reply) noexcept {
  return reply.is_integer() ? static_cast<double>(reply.integer()) : reply.real();
}

bool is_number(const Reply& reply) noexcept {
  return reply.is_integer() || reply.type() == Type::real;
}

/// `sum` becomes `sum` op `next`; false if the two do not fit each other. Not recursive beyond one
/// level: no command answers a number deeper than in an array, and a reply's depth is the server's.
bool accumulate(ResponsePolicy policy, Reply& sum, const Reply& next, bool nested = false) {
  if (sum.is_integer() && next.is_integer()) {
    sum = Reply::make_integer(apply(policy, sum.integer(), next.integer()));
    return true;
  }
  if (sum.type() == Type::boolean && next.type() == Type::boolean) {
    sum = Reply::make_boolean(
        apply(policy, std::int64_t{sum.boolean()}, std::int64_t{next.boolean()}) != 0);
    return true;
  }
  if (is_number(sum) && is_number(next)) {
    sum = Reply::make_real(apply(policy, as_real(sum), as_real(next)));
    return true;
  }
  if (nested || !sum.is_aggregate() || sum.type() != next.type() ||
      sum.elements().size() != next.elements().size()) {
    return false;
  }
  const std::span<Reply> to = sum.elements();
  const std::span<const Reply> from = next.elements();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!accumulate(policy, to[i], from[i], true)) return false;
  }
  return true;
}

NodeReply misfit(const CommandInfo& info, std::string node) {
  return {std::move(node),
          Reply::make_text(Type::error, "ERR " + std::string(info.name) +
                                            ": this node's reply does not fit the other nodes'")};
}

NodeReply arithmetic(const CommandInfo& info, std::vector<NodeReply> replies) {
  Reply sum = std::move(replies.front().reply);
  for (std::size_t i = 1; i < replies.size(); ++i) {
    if (!accumulate(info.response_policy, sum, replies[i].reply)) {
      return misfit(info, std::move(replies[i].node));
    }
  }
  return {{}, std::move(sum)};
}

NodeReply first_success(std::vector<NodeReply> replies) {
  for (NodeReply& each : replies) {
    if (!each.reply.is_error()) return std::move(each);
  }
  // SCRIPT KILL, FUNCTION KILL: NOTBUSY comes from the nodes that run no script. What the one that
  // runs it says (UNKILLABLE) is the answer.
  for (NodeReply& each : replies) {
    if (!each.reply.text().starts_with("NOTBUSY")) return std::move(each);
  }
  return std::move(replies.front());
}

NodeReply put_together(std::vector<NodeReply> replies) {
  std::optional<Type> type;
  bool all_aggregates = true;
  std::size_t count = 0;
  for (const NodeReply& each : replies) {
    if (each.reply.is_nil()) continue;  // RESP2's null array: nothing on that node
    all_aggregates = all_aggregates && each.reply.is_aggregate();
    count += each.reply.elements().size();
    // One node in RESP2 and one in RESP3: an array is what both can be.
    type = !type || *type == each.reply.type() ? each.reply.type() : Type::array;
  }
  std::vector<Reply> joined;
  if (type && !all_aggregates) {
    joined.reserve(replies.size());
    for (NodeReply& each : replies)
      joined.push_back(std::move(each.reply));
    return {{}, Reply::make_aggregate(Type::array, std::move(joined))};
  }
  joined.reserve(count);
  for (NodeReply& each : replies) {
    std::vector<Reply> elements = each.reply.take_elements();
    joined.insert(joined.end(), std::make_move_iterator(elements.begin()),
                  std::make_move_iterator(elements.end()));
  }
  return {{}, Reply::make_aggregate(type.value_or(Type::array), std::move(joined))};
}

NodeReply side_by_side(std::vector<NodeReply> replies) {
  std::vector<Reply> pairs;
  pairs.reserve(replies.size() * 2);
  for (NodeReply& each : replies) {
    pairs.push_back(Reply::make_text(Type::string, std::move(each.node)));
    pairs.push_back(std::move(each.reply));
  }
  return {{}, Reply::make_aggregate(Type::map, std::move(pairs))};
}

/// RANDOMKEY: the key of a shard chosen at random among those that have one.
NodeReply one_of(std::vector<NodeReply> replies) {
  std::erase_if(replies, [](const NodeReply& each) { return each.reply.is_nil(); });
  if (replies.empty()) return {};
  return std::move(
      replies[base::thread_random().below(static_cast<std::uint32_t>(replies.size()))]);
}

}  // namespace

NodeReply combine(const CommandInfo& info, std::vector<NodeReply> replies) {
  if (replies.empty()) return {};
  if (info.response_policy == ResponsePolicy::one_succeeded) {
    return first_success(std::move(replies));
  }
  for (NodeReply& each : replies) {
    if (each.reply.is_error()) return std::move(each);
  }
  switch (info.response_policy) {
    case ResponsePolicy::none:
      return put_together(std::move(replies));
    case ResponsePolicy::all_succeeded:
      return {{}, std::move(replies.front().reply)};
    case ResponsePolicy::special:
      return info.name == of("RANDOMKEY").name ? one_of(std::move(replies))
                                               : side_by_side(std::move(replies));
    case ResponsePolicy::one_succeeded:
    case ResponsePolicy::agg_logical_and:
    case ResponsePolicy::agg_logical_or:
    case ResponsePolicy::agg_min:
    case ResponsePolicy::agg_max:
    case ResponsePolicy::agg_sum:
      break;
  }
  return arithmetic(info, std::move(replies));
}

}  // namespace slotwise::commands
