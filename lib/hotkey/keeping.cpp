#include "hotkey/keeping.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "hotkey/names.hpp"
#include "hotkey/repair.hpp"
#include "hotkey/steps.hpp"

namespace slotwise::hotkey {

namespace {

using State = CopyPlace::State;
using Says = Home::Status;
using Slots = std::vector<std::uint16_t>;
using namespace std::chrono_literals;

/// Long enough for a step, and short because the next keeper waits for it if this one dies. It is
/// renewed on the way.
constexpr std::chrono::milliseconds lock_hold = 3s;
constexpr std::chrono::milliseconds renew_after = 1s;

std::string random_token() {
  constexpr std::string_view digits = "0123456789abcdef";
  base::Random random(base::random_seed());
  std::string out;
  for (int i = 0; i < 24; ++i)
    out += digits[random.below(16)];
  return out;
}

Error not_split(std::string_view key) {
  std::string text = "the key ";
  text += Reply::make_text(Reply::Type::status, std::string(key)).describe(100);
  return {ErrorCode::not_split, Outcome::not_sent, text + " is not split"};
}

/// One keep().
class Keeper {
 public:
  Keeper(Shared& shared, KeyState& state, const KeepOrder& order)
      : shared_(shared), state_(state), order_(order), store_(shared.store()), key_(state.key()) {}

  Result<bool> run();
  Result<bool> set_number(int per_primary);
  void let_go() noexcept;

 private:
  /// What a step came to.
  enum class Did : std::uint8_t {
    it,      ///< on to the next one
    not_me,  ///< somebody else does it
    late,    ///< the manifest is another one by now: look again
  };

  Result<bool> round();
  Result<Did> take_lock();  // or renew it
  Result<Did> change(const Store::Change& change);
  Did meaning(const Home& home);
  Result<Did> order_number(int per_primary);
  Result<Did> carry_out(const Step& step);
  Result<Did> announce_again();
  Result<Did> begin(const Step& step);
  Result<Did> fill_copies(const Step& step);
  Result<Did> remove_values(const Step& step);
  Result<Did> remove_parts(const Step& step);
  Result<Did> finish();
  void remove_keys(const Slots& slots);
  Store::Change blank(std::chrono::milliseconds hold = lock_hold) const {
    return {.expected = manifest_.number, .token = token_, .hold = hold};
  }

  Shared& shared_;
  KeyState& state_;
  const KeepOrder& order_;
  const Store& store_;
  const std::string key_;
  const std::string token_ = random_token();
  Manifest manifest_;  // as it was heard last
  bool locked_ = false;
  Clock::time_point locked_at_;
  bool again_ = false;  // this round was not the last one
};

Result<bool> Keeper::run() {
  for (int i = 0; i < order_.most_steps; ++i) {
    if (order_.stop != nullptr && order_.stop->load(std::memory_order_relaxed)) return false;
    again_ = false;
    Result<bool> done = round();
    if (!again_) return done;
  }
  return false;
}

Result<bool> Keeper::set_number(int per_primary) {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    Result<Home> home = look_at_manifest(shared_, state_);
    if (!home) return home.error();
    manifest_ = std::move(*home->manifest);
    if (manifest_.per_primary == per_primary) return true;
    const Result<Did> did = order_number(per_primary);
    if (!did) return did.error();
    if (*did != Did::late) return *did == Did::it;
  }
  return false;
}

Result<bool> Keeper::round() {
  Result<Home> home = look_at_manifest(shared_, state_);
  if (!home) return home.error();
  manifest_ = std::move(*home->manifest);
  const Clock::duration known_for = Clock::now() - state_.first_heard(manifest_.number);

  const Step step = next_step(key_, manifest_, shared_.client().topology(), home->now);
  const bool after_grace = step.kind == Step::Kind::remove ||
                           (step.kind == Step::Kind::begin && manifest_.copies.empty());
  if (step.kind == Step::Kind::none) return true;
  if (step.kind == Step::Kind::wait || (after_grace && known_for < grace)) return false;
  const Result<Did> did = carry_out(step);
  if (did && *did == Did::it && step.kind == Step::Kind::finish) return true;
  if (!did) return did.error();
  again_ = *did != Did::not_me;
  return false;
}

Keeper::Did Keeper::meaning(const Home& home) {
  if (home.status == Says::ok) {
    locked_ = true;
    locked_at_ = Clock::now();
    if (home.manifest) manifest_ = *home.manifest;
    return Did::it;
  }
  locked_ = false;
  return home.status == Says::locked ? Did::not_me : Did::late;
}

Result<Keeper::Did> Keeper::change(const Store::Change& change) {
  const Clock::time_point asked = Clock::now();
  Result<Home> home = store_.change(key_, change).wait();
  // Perhaps it was made: what is so shows when somebody looks. The token is still this keeper's.
  if (!home) return home.error();
  const Did did = meaning(*home);
  if (did == Did::it && home->manifest) state_.learn(std::move(*home->manifest), asked);
  return did;
}

Result<Keeper::Did> Keeper::take_lock() {
  if (locked_ && Clock::now() - locked_at_ < renew_after) return Did::it;
  return change(blank());
}

Result<Keeper::Did> Keeper::order_number(int per_primary) {
  if (per_primary == 0 && manifest_.kind == Kind::value) {
    // The original is all that remains: what only copies know goes there first. A copy that cannot
    // be asked does not keep the key split.
    if (auto repaired = repair(shared_, state_); !repaired) {
      shared_.trouble(key_, repaired.error());
    }
  }
  Store::Change to = blank();
  to.per_primary = per_primary;
  return change(to);
}

Result<Keeper::Did> Keeper::carry_out(const Step& step) {
  Result<Did> did = take_lock();
  if (!did || *did != Did::it) return did;
  switch (step.kind) {
    case Step::Kind::begin:
      return begin(step);
    case Step::Kind::fill:
      return fill_copies(step);
    case Step::Kind::remove:
      return manifest_.kind == Kind::counter ? remove_parts(step) : remove_values(step);
    case Step::Kind::finish:
      return finish();
    case Step::Kind::none:
    case Step::Kind::wait:
      break;
  }
  return Did::it;
}

Result<Keeper::Did> Keeper::announce_again() {
  Store::Change same = blank();
  same.copies.emplace();
  return change(same);
}

Result<Keeper::Did> Keeper::begin(const Step& step) {
  const bool first = manifest_.copies.empty();
  if (first) {
    // Without an entry there nobody knew, and the announcement begins only now.
    Result<bool> entered = enter_in_registry(shared_, key_);
    if (!entered) return entered.error();
    if (*entered) return announce_again();
  }
  std::vector<Call<Copy>> calls;
  calls.reserve(step.slots.size());
  for (const std::uint16_t slot : step.slots)
    calls.push_back(store_.open(key_, slot, manifest_.kind, manifest_.number));
  std::optional<Error> trouble;
  Slots closed;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Result<Copy> opened = calls[i].wait();
    if (!opened) {
      trouble = opened.error();
    } else if (opened->status != Copy::Status::gone && opened->status != Copy::Status::folded) {
      continue;
    }
    closed.push_back(step.slots[i]);
  }
  if (closed.size() == calls.size()) {
    if (trouble) return std::move(*trouble);
    return Did::late;  // a later manifest was there
  }
  Store::Change to = blank();
  to.adopt = first;
  to.copies.emplace();
  for (const CopyPlace& copy : step.copies) {
    if (std::find(closed.begin(), closed.end(), copy.slot) == closed.end()) {
      to.copies->push_back(copy);
    }
  }
  Result<Did> did = change(to);
  if (did && *did == Did::it && trouble) {
    // The others are not held up: on with those that are open.
    shared_.trouble(key_, *trouble);
  }
  return did;
}

Result<Keeper::Did> Keeper::fill_copies(const Step& step) {
  std::optional<Error> trouble;
  Slots filled;
  for (const std::uint16_t slot : step.slots) {
    Result<Did> did = take_lock();
    if (!did || *did != Did::it) return did;
    Result<void> full = fill(shared_, state_, slot);
    if (!full && full.error().code() == ErrorCode::not_split) {
      // Its slot has forgotten that it was opened (a failover).
      if (auto opened = store_.open(key_, slot, manifest_.kind, manifest_.number).wait(); opened) {
        full = fill(shared_, state_, slot);
      }
    }
    if (full) {
      filled.push_back(slot);
    } else if (full.error().code() == ErrorCode::not_split) {
      return Did::late;
    } else {
      trouble = full.error();
    }
  }
  Store::Change to = blank();
  to.copies = step.copies;
  if (trouble) {
    // What is full is read; nothing leaves until all are.
    to.copies = manifest_.copies;
    for (CopyPlace& copy : *to.copies) {
      if (std::find(filled.begin(), filled.end(), copy.slot) != filled.end()) {
        copy.state = State::ready;
      }
    }
    if (*to.copies == manifest_.copies) return std::move(*trouble);
  }
  Result<Did> did = change(to);
  if (did && *did == Did::it && trouble) return std::move(*trouble);
  return did;
}

void Keeper::remove_keys(const Slots& slots) {
  std::vector<Call<Copy>> calls;
  calls.reserve(slots.size());
  for (const std::uint16_t slot : slots)
    calls.push_back(store_.remove(key_, slot, manifest_.number));
  for (Call<Copy>& call : calls) {
    // What stays there is read by nobody, and if the slot is used again it is overwritten.
    if (const Result<Copy> removed = call.wait(); !removed) shared_.trouble(key_, removed.error());
  }
}

Result<Keeper::Did> Keeper::remove_values(const Step& step) {
  Store::Change to = blank();
  to.copies = step.copies;
  Result<Did> did = change(to);
  if (did && *did == Did::it) remove_keys(step.slots);
  return did;
}

Result<Keeper::Did> Keeper::remove_parts(const Step& step) {
  for (const std::uint16_t slot : step.slots) {
    Result<Did> did = take_lock();
    if (!did || *did != Did::it) return did;
    const Result<Copy> folded = store_.fold(key_, slot, manifest_.number).wait();
    if (!folded) return folded.error();
    if (folded->status == Copy::Status::lost) {
      std::string text = "the counter's part ";
      text += copy_name(key_, slot);
      text += " is lost; SET it to what it held, or to 0, to go on without it";
      return Error(ErrorCode::incomplete, Outcome::executed, std::move(text));
    }
    if (folded->status != Copy::Status::folded) return Did::late;
    Store::Change to = blank();
    to.copies.emplace();
    std::copy_if(manifest_.copies.begin(), manifest_.copies.end(), std::back_inserter(*to.copies),
                 [slot](const CopyPlace& copy) { return copy.slot != slot; });
    const Clock::time_point asked = Clock::now();
    Result<Home> home = store_.add_folded(key_, to, folded->part).wait();
    if (!home) return home.error();
    if (home->status == Says::no_value) {
      return Error(ErrorCode::incomplete, Outcome::executed, "the counter's original is lost");
    }
    if (const Did got = meaning(*home); got != Did::it) return got;
    if (home->manifest) state_.learn(std::move(*home->manifest), asked);
    remove_keys({slot});
  }
  return Did::it;
}

Result<Keeper::Did> Keeper::finish() {
  const Clock::time_point asked = Clock::now();
  Result<Home> home = store_.finish_join(key_, blank(0ms)).wait();
  if (!home) return home.error();
  const Did did = meaning(*home);
  locked_ = false;
  if (did != Did::it) return did;
  if (home->manifest) state_.learn(std::move(*home->manifest), asked);
  // After the manifest: whoever still finds the entry looks there and sees that it is over.
  const auto removed = shared_.client()
                           .async()
                           .with({.idempotent = true})
                           .command<std::int64_t>("SREM", registry_name, key_)
                           .wait();
  if (!removed) return removed.error();
  return did;
}

void Keeper::let_go() noexcept {
  if (!locked_) return;
  try {
    // Whether it succeeds or not: the lock ends by itself.
    std::move(store_.change(key_, blank(0ms))).then([](const Result<Home>& /*done*/) {});
  } catch (...) {  // NOLINT: no memory for the call, likewise
  }
}

}  // namespace

Result<Home> look_at_manifest(Shared& shared, KeyState& state) {
  const Clock::time_point asked = Clock::now();
  Result<Home> home = shared.store().look(state.key(), 0, false).wait();
  if (!home) return home;
  state.heard(home->version, asked);
  const bool joined = home->status == Says::joined || (home->manifest && home->manifest->joined);
  if (home->manifest) state.learn(*home->manifest, asked);
  if (home->status == Says::absent || joined) return not_split(state.key());
  if (!home->manifest) return damaged(state.key(), "it was not given");
  return home;
}

Result<bool> enter_in_registry(Shared& shared, std::string_view key) {
  const Async async = shared.client().async().with({.idempotent = true});
  // What SADD says does not count, since it may have been made twice.
  const auto known = async.command<std::int64_t>("SISMEMBER", registry_name, key).wait();
  if (!known) return known.error();
  if (*known == 1) return false;
  const auto added = async.command<std::int64_t>("SADD", registry_name, key).wait();
  if (!added) return added.error();
  return true;
}

Result<bool> keep(Shared& shared, KeyState& state, const KeepOrder& order) {
  Keeper keeper(shared, state, order);
  Result<bool> done = keeper.run();
  keeper.let_go();
  return done;
}

Result<bool> order_copies(Shared& shared, KeyState& state, int per_primary) {
  const KeepOrder order;
  Keeper keeper(shared, state, order);
  Result<bool> done = keeper.set_number(per_primary);
  keeper.let_go();
  return done;
}

}  // namespace slotwise::hotkey
