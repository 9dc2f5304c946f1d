#include "routing/batch.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "commands/keys.hpp"
#include "routing/dispatcher.hpp"
#include "routing/fan_out.hpp"
#include "routing/words.hpp"

namespace slotwise::routing {

struct Batch::Group {
  Member* head = nullptr;
  std::vector<Member*> followers;  // in call order
  std::size_t outstanding = 0;     // followers that are not answered yet
  Verdict verdict;                 // what the head's trouble leads to
  std::optional<Error> error;
  Node* follow_to = nullptr;
};

namespace {

constexpr std::size_t kept_members = 1024;
constexpr std::size_t kept_bytes = 4096;  // a larger command gives its memory back

/// Only when something went wrong is it asked for.
void find_keys(Batch::Member& member) {
  if (member.info == nullptr || !member.keys.empty()) return;
  const auto words = words_of(member.bytes);
  commands::Keys keys;
  commands::extract_keys(*member.info, words, keys, commands::KeyUse::data);
  for (const commands::KeyRef key : keys)
    member.keys.push_back(std::hash<std::string_view>()(words[key.index]));
}

bool share_a_key(const Batch::Member& a, const Batch::Member& b) {
  return std::any_of(a.keys.begin(), a.keys.end(), [&](std::uint64_t key) {
    return std::find(b.keys.begin(), b.keys.end(), key) != b.keys.end();
  });
}

}  // namespace

Batch::Batch(BatchListener& listener) : listener_(listener) {}
Batch::~Batch() = default;

Batch::Member& Batch::add() {
  if (spare_.empty()) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->batch = this;
  } else {
    members_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  return *members_.back();
}

void Batch::Member::renew() noexcept {
  static_cast<Kind&>(*this) = Kind();
  prefix = Prefix::none;
  forget_history();
  fan_out.reset();
  script_body.reset();
  if (encoded.capacity() > kept_bytes) encoded = {};
  encoded.clear();
  info = nullptr;
  keys.clear();
  result.reset();
  group = nullptr;
  early.reset();
  done = expired = false;
}

void Batch::clear() noexcept {
  seen_ = false;
  for (auto& member : members_) {
    if (spare_.size() == kept_members) break;
    member->renew();
    spare_.push_back(std::move(member));
  }
  members_.clear();
}

void Batch::start(Dispatcher& dispatcher) {
  dispatcher_ = &dispatcher;
  if (seen_) return resume();
  // A replica would answer reads without the writes that the caller put before them.
  const bool writes = std::any_of(members_.begin(), members_.end(),
                                  [](const auto& member) { return !member->read_only; });
  open_ = members_.size() + 1;  // one for this function: see FanOut::start
  for (std::size_t i = 0; i < members_.size(); ++i) {
    // A result may be there already: a command that was refused before it was sent.
    if (writes) members_[i]->read_from = ReadFrom::primary;
    if (members_[i]->result) {
      member_done(*members_[i]);
    } else {
      dispatcher.start(*members_[i]);
    }
  }
  if (--open_ == 0) listener_.on_batch_done();
}

void Batch::resume() {
  open_ = members_.size() + 1;
  std::vector<Result<Reply>> seen;
  seen.reserve(members_.size());
  for (auto& member : members_) {
    seen.push_back(std::move(*member->result));
    member->result.reset();
    member->where = link::Call::Where::in_flight;  // until what came for it is looked at
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Member& member = *members_[i];
    member.where = link::Call::Where::outside;
    if (seen[i]) {
      dispatcher_->resume_with_reply(member, *member.node, std::move(*seen[i]));
    } else {
      dispatcher_->resume_with_failure(member, *member.node, seen[i].error(), member.expired);
    }
  }
  if (--open_ == 0) listener_.on_batch_done();
}

void Batch::Member::deliver(Result<Reply>&& r) noexcept {
  result.emplace(std::move(r));
  batch->member_done(*this);
}

void Batch::member_done(Member& member) {
  member.done = true;
  if (Group* group = std::exchange(member.group, nullptr); group != nullptr) {
    // Its deadline passed while it was waited for.
    if (group->head != &member && --group->outstanding == 0) settled(*group);
  }
  if (--open_ == 0) listener_.on_batch_done();
}

void Batch::Member::deliver_view(ReplyView& reply) noexcept {
  result.emplace(reply.take());
  batch->member_done(*this);
}

bool Batch::takes(Request& request, ReplyView& reply) {
  auto& member = static_cast<Member&>(request);
  if (member.group == nullptr || member.group->head == &member) return false;
  member.early = reply.take();
  if (--member.group->outstanding == 0) settled(*member.group);
  return true;
}

bool Batch::takes(Request& request, const Verdict& verdict, const Error& error, Node* follow_to) {
  auto& member = static_cast<Member&>(request);
  if (member.group != nullptr && member.group->head != &member) {
    // Not executed as far as anybody knows; it goes again with the group. An unknown outcome of a
    // write is final, and counts as a write that has run.
    if (error.outcome() == Outcome::unknown && !member.retry_safe) return false;
    if (--member.group->outstanding == 0) settled(*member.group);
    return true;
  }
  if (verdict.action != Action::retry && verdict.action != Action::follow) return false;
  std::unique_ptr<Group> group = followers_of(member);
  if (group == nullptr) return false;
  group->verdict = verdict;
  group->error = error;
  group->follow_to = follow_to;
  groups_.push_back(std::move(group));
  return true;
}

std::unique_ptr<Batch::Group> Batch::followers_of(Member& head) {
  auto group = std::make_unique<Group>();
  for (const auto& member : members_)
    find_keys(*member);
  std::vector<Member*> tied = {&head};
  bool behind = false;
  for (const auto& candidate : members_) {
    if (candidate.get() == &head) {
      behind = true;
      continue;
    }
    if (!behind || candidate->done || candidate->group != nullptr ||
        candidate->where == link::Call::Where::outside) {
      continue;
    }
    if (std::any_of(tied.begin(), tied.end(),
                    [&](const Member* m) { return share_a_key(*m, *candidate); })) {
      tied.push_back(candidate.get());
    }
  }
  if (tied.size() == 1) return nullptr;
  group->head = &head;
  group->followers.assign(tied.begin() + 1, tied.end());
  group->outstanding = group->followers.size();
  head.group = group.get();
  for (Member* m : group->followers)
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
  std::vector<Member*> all = {group.head};
  all.insert(all.end(), group.followers.begin(), group.followers.end());
  for (Member* m : all)
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
    Member& m = *all[i];
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
    Member& m = *all[i];
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
