#include "routing/batch.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "commands/keys.hpp"
#include "resp/encoder.hpp"
#include "routing/dispatcher.hpp"
#include "routing/fan_out.hpp"
#include "routing/words.hpp"

namespace slotwise::routing {

struct Batch::Call : Request {
  std::size_t index = 0;                        // of its member
  const commands::CommandInfo* info = nullptr;  // null: no keys
  std::vector<std::uint64_t> keys;              // hashes of its keys, once they were asked for
  Group* group = nullptr;                       // waiting for it
  std::optional<Reply> early;                   // an answer that came out of order
  bool done = false;

  /// As if it were new.
  void renew() noexcept;

  void deliver(Result<Reply>&& result) noexcept override;
  void deliver_view(ReplyView& reply) noexcept override;

  /// Only when something went wrong is it asked for.
  void find_keys();
  bool shares_a_key(const Call& other) const;
};

struct Batch::Group {
  Call* head = nullptr;
  std::vector<Call*> followers;  // in call order
  std::size_t outstanding = 0;   // followers that are not answered yet
  Verdict verdict;               // what the head's trouble leads to
  std::optional<Error> error;
  Node* follow_to = nullptr;
};

namespace {

constexpr std::size_t most_texts_expected = 64 * 1024;
constexpr std::size_t kept_calls = 1024;
constexpr std::size_t kept_members = 16 * 1024;
constexpr std::size_t kept_bytes = 4096;  // a larger command gives its memory back

}  // namespace

void Batch::Call::find_keys() {
  if (info == nullptr || !keys.empty()) return;
  const auto words = words_of(bytes);
  commands::Keys found;
  commands::extract_keys(*info, words, found, commands::KeyUse::data);
  for (const commands::KeyRef key : found)
    keys.push_back(std::hash<std::string_view>()(words[key.index]));
}

bool Batch::Call::shares_a_key(const Call& other) const {
  return std::any_of(keys.begin(), keys.end(), [&](std::uint64_t key) {
    return std::find(other.keys.begin(), other.keys.end(), key) != other.keys.end();
  });
}

void Batch::Call::renew() noexcept {
  static_cast<Kind&>(*this) = Kind();
  prefix = Prefix::none;
  forget_history();
  fan_out.reset();
  script_body.reset();
  if (encoded.capacity() > kept_bytes) encoded = {};
  encoded.clear();
  info = nullptr;
  keys.clear();
  group = nullptr;
  early.reset();
  done = false;
}

Batch::Batch(BatchListener& listener) : listener_(listener) {}
Batch::~Batch() = default;

// --- the caller's thread ---------------------------------------------------------------------

void Batch::encode(Member& member, const resp::Head& head,
                   std::span<const std::string_view> words) {
  constexpr std::size_t short_command = 512;
  member.begin = bytes_.size();
  char* const to = bytes_.room(short_command);
  if (const auto size = resp::write_if_fits(to, short_command, head, words); size != 0) {
    bytes_.written(size);
  } else {
    const std::size_t bound = resp::encoded_bound(words);
    char* const begin = bytes_.room(bound);
    bytes_.written(static_cast<std::size_t>(resp::write_command(begin, words) - begin));
  }
  member.size = bytes_.size() - member.begin;
}

void Batch::add_copy(const Batch& from, std::size_t i) {
  const Member& source = from.members_[i];
  Member& member = members_.emplace_back();
  static_cast<Kind&>(member) = source;
  member.info = source.info;
  member.deadline = source.deadline;
  member.begin = bytes_.size();
  member.size = source.size;
  bytes_.append(from.bytes_of(source));
  member.expired = source.expired;
  member.node = source.node;
  member.script_body = source.script_body;
}

void Batch::refuse_last(Error error) {
  members_.back().answered = true;
  refused_.emplace_back(members_.size() - 1, std::move(error));
}

void Batch::seal() {
  results_.start(members_.size(), texts_expected_);
  for (auto& [i, error] : refused_)
    results_.put(i, std::move(error));
}

void Batch::refuse_rest(const Error& error) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!std::exchange(members_[i].answered, true)) results_.put(i, error);
  }
}

detail::ReplyStore Batch::take_results() noexcept {
  texts_expected_ = std::min(results_.texts(), most_texts_expected);
  return std::exchange(results_, {});
}

void Batch::clear() noexcept {
  seen_ = false;
  for (auto& call : calls_) {
    if (spare_.size() == kept_calls) break;
    call->renew();
    spare_.push_back(std::move(call));
  }
  calls_.clear();
  members_.clear();
  if (members_.capacity() > kept_members) members_ = std::vector<Member>();
  bytes_.clear();
  refused_.clear();
}

// --- the loop's thread -----------------------------------------------------------------------

/// From the commands to requests.
void Batch::make_calls() {
  // A replica would answer reads without the writes that the caller put before them.
  const bool writes = std::any_of(members_.begin(), members_.end(),
                                  [](const Member& member) { return !member.read_only; });
  calls_.reserve(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (spare_.empty()) {
      calls_.push_back(std::make_unique<Call>());
      calls_.back()->batch = this;
    } else {
      calls_.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
    Call& call = *calls_.back();
    static_cast<Kind&>(call) = member;
    if (writes) call.read_from = ReadFrom::primary;
    call.bytes = bytes_of(member);
    call.deadline = member.deadline;
    call.index = i;
    call.info = member.info;
    if (seen_) call.node = member.node;
    call.fan_out = std::move(member.fan_out);
    call.script_body = std::move(member.script_body);
  }
}

void Batch::start(Dispatcher& dispatcher) {
  dispatcher_ = &dispatcher;
  make_calls();
  if (seen_) return resume();
  open_ = calls_.size() + 1;  // one for this function: see FanOut::start
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    // A result may be there already: a command that was refused before it was sent.
    if (members_[i].answered) {
      call_done(*calls_[i]);
    } else {
      dispatcher.start(*calls_[i]);
    }
  }
  if (--open_ == 0) listener_.on_batch_done();
}

void Batch::resume() {
  open_ = calls_.size() + 1;
  detail::ReplyStore seen = std::exchange(results_, {});
  results_.start(calls_.size());
  for (auto& call : calls_)
    call->where = link::Call::Where::in_flight;  // until what came for it is looked at
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    Call& call = *calls_[i];
    call.where = link::Call::Where::outside;
    if (const Error* error = seen.error(i)) {
      dispatcher_->resume_with_failure(call, *call.node, *error, members_[i].expired);
    } else {
      dispatcher_->resume_with_reply(call, *call.node, seen.view(i).take());
    }
  }
  if (--open_ == 0) listener_.on_batch_done();
}

void Batch::Call::deliver(Result<Reply>&& result) noexcept {
  batch->results_.put(index, std::move(result));
  batch->call_done(*this);
}

void Batch::Call::deliver_view(ReplyView& reply) noexcept {
  batch->results_.put(index, reply);
  batch->call_done(*this);
}

void Batch::call_done(Call& call) {
  call.done = true;
  if (Group* group = std::exchange(call.group, nullptr); group != nullptr) {
    // Its deadline passed while it was waited for.
    if (group->head != &call && --group->outstanding == 0) settled(*group);
  }
  if (--open_ == 0) listener_.on_batch_done();
}

bool Batch::takes(Request& request, ReplyView& reply) {
  auto& call = static_cast<Call&>(request);
  if (call.group == nullptr || call.group->head == &call) return false;
  call.early = reply.take();
  if (--call.group->outstanding == 0) settled(*call.group);
  return true;
}

bool Batch::takes(Request& request, const Verdict& verdict, const Error& error, Node* follow_to) {
  auto& call = static_cast<Call&>(request);
  if (call.group != nullptr && call.group->head != &call) {
    // Not executed as far as anybody knows; it goes again with the group. An unknown outcome of a
    // write is final, and counts as a write that has run.
    if (error.outcome() == Outcome::unknown && !call.retry_safe) return false;
    if (--call.group->outstanding == 0) settled(*call.group);
    return true;
  }
  if (verdict.action != Action::retry && verdict.action != Action::follow) return false;
  std::unique_ptr<Group> group = followers_of(call);
  if (group == nullptr) return false;
  group->verdict = verdict;
  group->error = error;
  group->follow_to = follow_to;
  groups_.push_back(std::move(group));
  return true;
}

std::unique_ptr<Batch::Group> Batch::followers_of(Call& head) {
  auto group = std::make_unique<Group>();
  for (const auto& call : calls_)
    call->find_keys();
  std::vector<Call*> tied = {&head};
  bool behind = false;
  for (const auto& candidate : calls_) {
    if (candidate.get() == &head) {
      behind = true;
      continue;
    }
    if (!behind || candidate->done || candidate->group != nullptr ||
        candidate->where == link::Call::Where::outside) {
      continue;
    }
    if (std::any_of(tied.begin(), tied.end(),
                    [&](const Call* call) { return call->shares_a_key(*candidate); })) {
      tied.push_back(candidate.get());
    }
  }
  if (tied.size() == 1) return nullptr;
  group->head = &head;
  group->followers.assign(tied.begin() + 1, tied.end());
  group->outstanding = group->followers.size();
  head.group = group.get();
  for (Call* m : group->followers)
    m->group = group.get();
  return group;
}

void Batch::settled(Group& group) {
  const auto it = std::find_if(groups_.begin(), groups_.end(),
                               [&](const auto& g) { return g.get() == &group; });
  const std::unique_ptr<Group> own = std::move(*it);
  groups_.erase(it);
  resolve(*own);
}

void Batch::resolve(Group& group) {
  std::vector<Call*> all = {group.head};
  all.insert(all.end(), group.followers.begin(), group.followers.end());
  for (Call* m : all)
    m->group = nullptr;

  // Everything up to the last write that ran keeps its place in history.
  std::size_t settled_count = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const bool ran = all[i]->early.has_value() || (all[i]->done && all[i]->may_have_run);
    if (ran && !all[i]->read_only) settled_count = i + 1;
  }
  // So do reads that directly follow it.
  std::size_t first_again = settled_count;
  while (first_again < all.size() && (all[first_again]->early || all[first_again]->done)) {
    ++first_again;
  }

  // This batch may be gone when its last member is finished: count on it no longer than needed.
  ++open_;
  for (std::size_t i = 0; i < first_again; ++i) {
    Call& m = *all[i];
    if (m.done) continue;
    if (m.early) {
      dispatcher_->finish(m, std::move(*m.early));
    } else {
      dispatcher_->finish(
          m, Error(ErrorCode::overtaken, Outcome::rejected,
                   "not tried again: a later command of the pipeline on the same key has run; " +
                       std::string(group.error ? group.error->message() : "")));
    }
  }
  bool held = false;
  for (std::size_t i = first_again; i < all.size(); ++i) {
    Call& m = *all[i];
    if (m.done) continue;
    m.early.reset();
    if (i == 0) {
      // Those behind it start when it does: equal times fire in the order of arming.
      held = group.verdict.pause;
      dispatcher_->carry_out(m, group.verdict, *group.error, group.follow_to);
    } else if (held && group.head->trouble != nullptr && group.head->trouble->room != nullptr) {
      dispatcher_->wait_with(m, *group.head);
    } else {
      dispatcher_->dispatch(m);
    }
  }
  if (--open_ == 0) listener_.on_batch_done();
}

}  // namespace slotwise::routing
