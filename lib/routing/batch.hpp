// The commands of one pipeline, and the order among those that share a key.
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
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/detail/reply_store.hpp>
#include <slotwise/error.hpp>

#include "link/out_buffer.hpp"
#include "routing/fan_out.hpp"
#include "routing/request.hpp"
#include "routing/verdict.hpp"

namespace slotwise::link {
class DirectConnection;
}

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

  /// One command as the caller gave it.
  struct Member : Kind {
    const commands::CommandInfo* info = nullptr;  ///< null: no keys
    TimePoint deadline = TimePoint::max();
    std::size_t begin = 0;  ///< of its bytes
    std::size_t size = 0;
    bool answered = false;            ///< its result stands already: it is not sent
    bool expired = false;             ///< in place: its deadline passed
    Node* node = nullptr;             ///< in place: who was asked
    std::unique_ptr<FanOut> fan_out;  ///< see Request
    std::shared_ptr<const std::string> script_body;
  };

  /// The commands that go to one node in place, over a connection that is taken for it.
  struct Share {
    Node* node = nullptr;
    link::DirectConnection* connection = nullptr;
    link::OutBuffer bytes;  // unused if all go to one node
    std::vector<std::size_t> members;
    bool careful = false;          // one of them must not be lost
    std::optional<Error> failure;  // of the whole connection, from a moment on
    std::size_t sent = 0;          // bytes that may have left
  };

  explicit Batch(BatchListener& listener);
  ~Batch();

  /// Caller's thread: one more command, in call order.
  Member& add() { return members_.emplace_back(); }
  /// Its bytes.
  void encode(Member& member, const resp::Head& head, std::span<const std::string_view> words);
  /// One more command, as it stands in another batch; but for a fan-out, which stays there.
  void add_copy(const Batch& from, std::size_t i);
  std::size_t size() const noexcept { return members_.size(); }
  Member& at(std::size_t i) noexcept { return members_[i]; }
  std::string_view bytes_of(const Member& member) const noexcept {
    return {bytes_.rest().data() + member.begin, member.size};
  }
  /// Of all commands, in call order.
  std::string_view bytes() const noexcept { return {bytes_.rest().data(), bytes_.size()}; }
  /// For whoever runs it in place: empty shares with the memory of those of before.
  std::vector<Share>& shares() noexcept { return shares_; }

  /// The last command is not sent.
  void refuse_last(Error error);
  /// Nothing is added from here on. The members with a result have it already.
  void seal();
  /// Those that have none yet are not sent.
  void refuse_rest(const Error& error);

  void start(Dispatcher& dispatcher);
  /// Every member was sent by the caller's thread; it has its node, and in results() what came
  /// back. start() has that judged.
  void was_run_in_place() noexcept { seen_ = true; }
  /// One for each member once the batch is done.
  detail::ReplyStore& results() noexcept { return results_; }
  detail::ReplyStore take_results() noexcept;
  /// Empty again; the memory is used for the next commands.
  void clear() noexcept;

  /// A reply to a member. True: the batch keeps it for now.
  bool takes(Request& request, ReplyView& reply);
  /// A redirect, a failure or an error reply of a member. True: the batch decides when to go on.
  bool takes(Request& request, const Verdict& verdict, const Error& error, Node* follow_to);

 private:
  /// A member on its way through the loop.
  struct Call;

  void make_calls();
  void resume();
  void call_done(Call& call);
  std::unique_ptr<Group> followers_of(Call& head);
  void settled(Group& group);
  void resolve(Group& group);

  BatchListener& listener_;
  Dispatcher* dispatcher_ = nullptr;
  std::vector<Member> members_;
  link::OutBuffer bytes_;
  std::vector<std::pair<std::size_t, Error>> refused_;
  std::vector<Share> shares_;
  detail::ReplyStore results_;
  std::size_t texts_expected_ = 0;            // as many as last time
  std::vector<std::unique_ptr<Call>> calls_;  // made by start()
  std::vector<std::unique_ptr<Call>> spare_;
  bool seen_ = false;
  std::vector<std::unique_ptr<Group>> groups_;
  std::size_t open_ = 0;
};

}  // namespace slotwise::routing
