// One reply out of the replies of many nodes, by the server's own response policy.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include <slotwise/reply.hpp>

#include "commands/command_info.hpp"

namespace slotwise::commands {

struct NodeReply {
  std::string node;  ///< "host:port"
  Reply reply;
};

/// The answer of a command that went to all shards or all nodes.
///
/// none: arrays, sets and maps are put together; other types become an array with one element a
/// node. special: a map from node to reply, but RANDOMKEY gives one of the keys. The arithmetic
/// policies work elementwise on arrays of equal length. Except for one_succeeded, an error among
/// the replies is the answer: half an answer never looks like a whole one. Replies that do not fit
/// each other give an error that says so. No replies at all give nil.
///
/// The node of the result is that of the one reply which became the answer, above all of an error;
/// empty where the answer comes from all.
NodeReply combine(const CommandInfo& info, std::vector<NodeReply> replies);

}  // namespace slotwise::commands
