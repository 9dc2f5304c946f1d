// The requests of one pipeline, and the order among those that share a key.
//
// Thread rule: built by the caller's thread; from start() on the loop's thread.
//
// All requests go out at once, so when one of them is redirected or must be tried again, later ones
// on the same key are already under way. The rule:
//  1. The request in trouble is held until all later requests that share a key with it (or with
//     such a one) are answered: they form a group.
//  2. If a later WRITE of the group has run, what had not run before it is not tried again: it
//  would
//     come after what the caller put behind it. It fails with `overtaken`, outcome rejected.
//  3. Otherwise the rest of the group runs again, in order; reads that were answered out of order
//     are asked again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "routing/request.hpp"
#include "routing/verdict.hpp"

namespace slotwise::routing {

class Dispatcher;

class BatchListener {
 public:
  /// All results are there. Loop thread.
  virtual void on_batch_done() = 0;

 protected:
  ~BatchListener() = default;
};

class Batch {
 public:
  struct Group;

  struct Member : Request {
    const commands::CommandInfo* info = nullptr;  ///< null: no keys
    std::vector<std::uint64_t> keys;              ///< hashes of its keys, once they were asked for
    std::optional<Result<Reply>> result;
    bool expired = false;        ///< in place: its deadline passed
    Group* group = nullptr;      ///< waiting for it
    std::optional<Reply> early;  ///< an answer that came out of order
    bool done = false;

    /// As if it were new.
    void renew() noexcept;

    void deliver(Result<Reply>&& r) noexcept override;
    void deliver_view(ReplyView& reply) noexcept override;
  };

  explicit Batch(BatchListener& listener);
  ~Batch();

  /// Caller's thread: one more command, in call order.
  Member& add();
  std::size_t size() const noexcept { return members_.size(); }
  Member& at(std::size_t i) noexcept { return *members_[i]; }

  void start(Dispatcher& dispatcher);
  /// Every member was sent by the caller's thread; it has its node, and in `result` what came back.
  /// start() has that judged.
  void was_run_in_place() noexcept { seen_ = true; }
  /// Empty again; the memory is used for the next commands.
  void clear() noexcept;

  /// A reply to a member. True: the batch keeps it for now.
  bool takes(Request& request, ReplyView& reply);
  /// A redirect, a failure or an error reply of a member. True: the batch decides when to go on.
  bool takes(Request& request, const Verdict& verdict, const Error& error, Node* follow_to);

 private:
  void resume();
  void member_done(Member& member);
  std::unique_ptr<Group> followers_of(Member& head);
  void settled(Group& group);
  void resolve(Group& group);

  BatchListener& listener_;
  Dispatcher* dispatcher_ = nullptr;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Member>> spare_;
  bool seen_ = false;
  std::vector<std::unique_ptr<Group>> groups_;
  std::size_t open_ = 0;
};

}  // namespace slotwise::routing
