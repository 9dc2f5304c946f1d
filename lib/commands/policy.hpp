// Where a command goes and how several answers become one: the words of the server's command tips.
//
// Thread rule: enums only.
#pragma once

#include <cstdint>

namespace slotwise::commands {

/// The tip `request_policy` ("Valkey command tips").
enum class RequestPolicy : std::uint8_t {
  none,         ///< keys: the node of their slot; no keys: any primary
  all_nodes,    ///< every node, replicas too
  all_shards,   ///< every primary
  multi_shard,  ///< may be split by slot (MGET, DEL ...)
  special,      ///< the command has its own way (SCAN)
};

/// The tip `response_policy`. aggregate.hpp applies it.
enum class ResponsePolicy : std::uint8_t {
  none,             ///< arrays and maps are joined; values of split keys keep their places
  one_succeeded,    ///< the first answer that is no error (SCRIPT KILL)
  all_succeeded,    ///< any error is the answer, else any one answer (CONFIG SET)
  agg_logical_and,  ///< elementwise (SCRIPT EXISTS)
  agg_logical_or,   ///< elementwise
  agg_min,          ///< elementwise (WAIT, WAITAOF)
  agg_max,          ///< elementwise
  agg_sum,          ///< elementwise (DBSIZE)
  special,          ///< nothing can be joined: one answer for each node (INFO)
};

}  // namespace slotwise::commands
