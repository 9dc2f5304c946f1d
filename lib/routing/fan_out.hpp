// One command that becomes several: split by slot (MGET over the cluster), or sent to all shards or
// all nodes (DBSIZE, SCRIPT LOAD).
//
// Thread rule: made by the caller's thread; from start() on the loop's thread.
//
// Each part is a request of its own, with its own redirects and retries. Together they are not
// atomic. If a part fails, the whole fails and the error names the keys or the node of that part;
// its outcome is `unknown` if another part has run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/route.hpp"
#include "commands/split.hpp"
#include "routing/request.hpp"

namespace slotwise::routing {

class Dispatcher;

class FanOut {
 public:
  /// Target::multi_shard.
  static std::unique_ptr<FanOut> by_slot(const commands::CommandInfo& info, commands::Args words);
  /// Target::all_shards and all_nodes.
  static std::unique_ptr<FanOut> everywhere(const commands::CommandInfo& info, bool all_nodes);

  /// Sends the parts. `parent` gets the joined reply by deliver(); it owns this object.
  void start(Dispatcher& dispatcher, Request& parent);

 private:
  struct Part : Request {
    FanOut* owner = nullptr;
    std::string label;  // for the error: the keys; empty: the node's name
    std::optional<Result<Reply>> result;
    void deliver(Result<Reply>&& r) noexcept override;
  };

  explicit FanOut(const commands::CommandInfo& info) : info_(info) {}
  void add_everywhere(Dispatcher& dispatcher, const Request& parent);
  Part& add_part(const Request& parent);
  void part_done(Part& part);
  Result<Reply> joined();
  Error first_error() const;

  const commands::CommandInfo& info_;
  std::vector<commands::Part> split_;
  std::vector<std::unique_ptr<Part>> parts_;
  Dispatcher* dispatcher_ = nullptr;
  Request* parent_ = nullptr;
  std::size_t open_ = 0;
  bool everywhere_ = false;
  bool all_nodes_ = false;
};

}  // namespace slotwise::routing
