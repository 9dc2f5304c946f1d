#include "hotkey/writing.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "hotkey/names.hpp"
#include "hotkey/placement.hpp"
#include "hotkey/repair.hpp"

namespace slotwise::hotkey {
namespace {

using OrderKind = WriteOrder::Kind;

/// How often a write is made again because the home slot had forgotten a later version.
constexpr int most_rounds = 4;

/// A write on its way: a chain of calls, each made by the callback of the one before, so that it
/// goes on after its caller has returned. The callbacks keep it alive.
class Write : public std::enable_shared_from_this<Write> {
 public:
  enum class End : std::uint8_t {
    under_way,
    done,
    no_manifest,  ///< nothing was written
    lost,         ///< expire, persist: nothing was written, since the original has lost its value
  };

  Write(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state, WriteOrder&& order)
      : shared_(std::move(shared)), state_(std::move(state)), order_(std::move(order)) {}

  void start();
  /// Until the level is reached, or the end.
  End wait();
  /// After wait().
  Result<WriteResult> result();
  WriteOrder take_order() { return std::move(order_); }  ///< after an end without a write

 private:
  using Lock = std::unique_lock<std::mutex>;

  void home_answered(Result<Home>&& home);
  void original_read(Result<Home>&& home);
  void spread(std::uint64_t version, std::int64_t expires, std::optional<std::string_view> value);
  void copy_answered(std::size_t i, Result<Copy>&& copy);
  void all_answered(Lock& lock);
  void check_home();
  void home_checked(Result<Home>&& home);
  void give_back(std::uint16_t slot);
  void newest_read(Result<Copy>&& copy);
  void given_back(Result<Home>&& home);
  void again();
  void finish(Lock& lock, End end);
  void fail(Error error);
  /// A callback of a call. Whatever happens in it, who waits is told.
  template <class T>
  auto then(void (Write::*step)(Result<T>&&)) {
    return [self = shared_from_this(), step](Result<T> result) {
      try {
        (self.get()->*step)(std::move(result));
      } catch (...) {  // NOLINT: nothing but memory can fail
        self->fail(detail::out_of_memory());
      }
    };
  }
  bool enough() const;

  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<KeyState> state_;
  WriteOrder order_;

  // Only of the step under way; steps follow one another.
  Clock::time_point asked_;
  std::shared_ptr<const Copies> known_;
  int round_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  End end_ = End::under_way;
  bool at_home_ = false;  // the original is written
  bool verified_ = true;  // what is newer at a copy was written later
  std::optional<Error> error_;
  WriteResult result_;
  std::uint64_t put_ = 0;  // version that is put to the copies
  std::size_t open_ = 0;   // copies that have not answered
  std::vector<bool> gone_;
  std::uint64_t newest_ = 0;  // of what copies said that they have instead
  std::uint16_t newest_slot_ = 0;
};

// --- at the home slot --------------------------------------------------------------------------

void Write::start() {
  known_ = state_->copies();
  const std::uint64_t known = known_ == nullptr ? 0 : known_->manifest.number;
  const std::string& key = state_->key();
  const Store& store = shared_->store();
  asked_ = Clock::now();
  auto call = order_.kind == OrderKind::set ? store.set(key, known, order_.value, order_.expires_in)
              : order_.kind == OrderKind::del ? store.del(key, known)
                                              : store.expire(key, known, order_.expires_in);
  std::move(call).then(
      [self = shared_from_this()](Result<Home> home) { self->home_answered(std::move(home)); });
}

void Write::home_answered(Result<Home>&& home) {
  if (!home) return fail(std::move(home).error());
  if (home->status == Home::Status::absent) {
    Lock lock(mutex_);
    return finish(lock, End::no_manifest);
  }
  // The copies that this very script saw, whatever is heard meanwhile.
  if (home->manifest) known_ = std::make_shared<const Copies>(state_->key(), *home->manifest);
  const Home said = std::move(*home);
  Home heard = said;
  if (state_->hear(heard, asked_)) shared_->want_repair(state_);
  const bool touch = order_.kind == OrderKind::expire || order_.kind == OrderKind::persist;
  {
    Lock lock(mutex_);
    if (said.status != Home::Status::ok) {
      // Not split any more, and the plain key was written; or nothing was there to expire.
      if (said.status == Home::Status::no_value && said.lost) return finish(lock, End::lost);
      result_.existed = said.existed;
      result_.version = said.status == Home::Status::joined ? 0 : said.version;
      at_home_ = true;
      return finish(lock, End::done);
    }
    if (round_ == 0) result_.existed = said.existed;
    result_.version = said.version;
    result_.copies.clear();
    for (std::size_t i = 0; i < known_->manifest.copies.size(); ++i) {
      CopyWrite copy;
      copy.name = known_->names[i];
      copy.slot = known_->manifest.copies[i].slot;
      result_.copies.push_back(std::move(copy));
    }
    gone_.assign(result_.copies.size(), false);
    newest_ = 0;
    at_home_ = true;
    open_ = result_.copies.size();
    changed_.notify_all();
  }
  if (!touch) {
    const bool is_set = order_.kind == OrderKind::set;
    return spread(said.version, said.expires,
                  is_set ? std::optional<std::string_view>(order_.value) : std::nullopt);
  }
  // A copy that missed an earlier value must not be called current: it gets the value as well.
  asked_ = Clock::now();
  shared_->store()
      .look(state_->key(), known_->manifest.number, true)
      .then(then(&Write::original_read));
}

/// Of expire and persist.
void Write::original_read(Result<Home>&& home) {
  if (home && home->status == Home::Status::ok && !home->lost) {
    return spread(home->version, home->expires, home->value);
  }
  const Error error =
      home ? Error(ErrorCode::damaged, Outcome::not_sent, "the original was lost meanwhile")
           : home.error();
  shared_->want_repair(state_);
  Lock lock(mutex_);
  for (CopyWrite& copy : result_.copies) {
    copy.state = CopyWrite::State::failed;
    copy.error = error;
  }
  open_ = 0;
  finish(lock, End::done);
}

// --- at the copies -----------------------------------------------------------------------------

void Write::spread(std::uint64_t version, std::int64_t expires,
                   std::optional<std::string_view> value) {
  const Manifest& manifest = known_->manifest;
  {
    Lock lock(mutex_);
    put_ = version;
    if (manifest.copies.empty()) return finish(lock, End::done);
  }
  // The last answer may begin the next step at once: nothing of this object is looked at after it.
  const auto self = shared_from_this();
  const auto copies = known_;
  for (std::size_t i = 0; i < copies->manifest.copies.size(); ++i) {
    shared_->copy_store()
        .put(state_->key(), copies->manifest.copies[i].slot, version, expires, value)
        .then([self, i](Result<Copy> copy) { self->copy_answered(i, std::move(copy)); });
  }
}

void Write::copy_answered(std::size_t i, Result<Copy>&& answer) {
  Lock lock(mutex_);
  CopyWrite& copy = result_.copies[i];
  if (!answer) {
    copy.state = CopyWrite::State::failed;
    copy.error = std::move(answer).error();
  } else if (answer->status == Copy::Status::written) {
    copy.state = CopyWrite::State::written;
  } else if (answer->status == Copy::Status::newer) {
    copy.state = CopyWrite::State::newer;
    if (answer->version > newest_) {
      newest_ = answer->version;
      newest_slot_ = static_cast<std::uint16_t>(copy.slot);
    }
  } else if (answer->status == Copy::Status::gone) {
    gone_[i] = true;  // removed since: it is in no manifest any more
  } else {
    copy.state = CopyWrite::State::failed;
    copy.error = Error(ErrorCode::damaged, Outcome::rejected, "the copy is not one of a value");
  }
  if (--open_ == 0) return all_answered(lock);
  changed_.notify_all();
}

void Write::all_answered(Lock& lock) {
  const bool failed =
      std::any_of(result_.copies.begin(), result_.copies.end(),
                  [](const CopyWrite& copy) { return copy.state == CopyWrite::State::failed; });
  if (failed) shared_->want_repair(state_);
  if (newest_ <= put_) return finish(lock, End::done);
  verified_ = false;
  lock.unlock();
  check_home();
}

// --- a copy has a later version: was it written later, or has the home slot forgotten it? -------

void Write::check_home() {
  asked_ = Clock::now();
  shared_->copy_store()
      .look(state_->key(), known_->manifest.number, false)
      .then(
          [self = shared_from_this()](Result<Home> home) { self->home_checked(std::move(home)); });
}

void Write::home_checked(Result<Home>&& home) {
  Lock lock(mutex_);
  if (!home || home->status != Home::Status::ok) {
    if (home && home->status == Home::Status::joined) verified_ = true;
    if (!verified_) shared_->want_repair(state_);
    return finish(lock, End::done);
  }
  Home heard = *home;
  const std::uint64_t newest = newest_;
  const std::uint16_t slot = newest_slot_;
  const std::uint64_t mine = result_.version;
  if (home->version >= newest && home->restored <= mine) {
    verified_ = true;
    lock.unlock();
    state_->hear(heard, asked_);
    lock.lock();
    return finish(lock, End::done);
  }
  if (++round_ >= most_rounds) {
    shared_->want_repair(state_);
    return finish(lock, End::done);
  }
  lock.unlock();
  state_->hear(heard, asked_);
  if (home->version >= newest) return again();  // somebody else has given it back
  give_back(slot);
}

/// The home slot takes what the copy in `slot` has.
void Write::give_back(std::uint16_t slot) {
  shared_->store().look_copy(state_->key(), slot, true).then(then(&Write::newest_read));
}

void Write::newest_read(Result<Copy>&& copy) {
  const bool has =
      copy && (copy->status == Copy::Status::value || copy->status == Copy::Status::deleted ||
               copy->status == Copy::Status::expired);
  if (!has) return again();
  shared_->store()
      .restore(state_->key(), copy->version, copy->expires, copy->value)
      .then(then(&Write::given_back));
}

/// If it failed the next round finds out.
void Write::given_back(Result<Home>&& /*home*/) {
  again();
}

void Write::again() {
  {
    Lock lock(mutex_);
    verified_ = true;
  }
  start();
}

// --- the end -----------------------------------------------------------------------------------

void Write::fail(Error error) {
  // Whatever the original holds now, the copies are brought to it.
  if (!error.did_not_run() || round_ > 0) shared_->want_repair(state_);
  Lock lock(mutex_);
  error_ = std::move(error);
  finish(lock, End::done);
}

void Write::finish(Lock& /*held*/, End end) {
  end_ = end;
  changed_.notify_all();
}

bool Write::enough() const {
  if (end_ != End::under_way) return true;
  if (!at_home_) return false;
  if (shared_->options().acknowledge == Acknowledge::home) return true;
  if (shared_->options().acknowledge == Acknowledge::all) return false;
  const auto written =
      std::count_if(result_.copies.begin(), result_.copies.end(),
                    [](const CopyWrite& copy) { return copy.state == CopyWrite::State::written; });
  return static_cast<std::size_t>(written) * 2 > result_.copies.size();
}

Write::End Write::wait() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return enough(); });
  return end_;
}

Result<WriteResult> Write::result() {
  WriteResult result;
  bool verified = true;
  {
    const Lock lock(mutex_);
    if (error_) return *error_;
    verified = verified_;
    result.version = result_.version;
    result.existed = result_.existed;
    for (std::size_t i = 0; i < result_.copies.size(); ++i) {
      if (!gone_[i]) result.copies.push_back(result_.copies[i]);
    }
  }
  std::size_t have = 0;
  for (const CopyWrite& copy : result.copies) {
    if (copy.state == CopyWrite::State::written) ++have;
    if (copy.state == CopyWrite::State::newer && verified) ++have;
  }
  const std::size_t all = result.copies.size();
  switch (shared_->options().acknowledge) {
    case Acknowledge::home:
      result.acknowledged = true;
      break;
    case Acknowledge::quorum:
      result.acknowledged = have * 2 > all || all == 0;
      break;
    case Acknowledge::all:
      result.acknowledged = have == all;
      break;
  }
  if (result.version != 0) state_->raise_floor(result.version);
  if (all != 0) {
    const auto topology = shared_->topology();
    for (CopyWrite& copy : result.copies)
      copy.node = owner_of(*topology, static_cast<std::uint16_t>(copy.slot));
  }
  return result;
}

// --- a key that was joined ---------------------------------------------------------------------

/// What a client that knows nothing of split keys does.
Result<WriteResult> write_plain(const Client& client, const std::string& key,
                                const WriteOrder& order) {
  WriteResult result;
  result.acknowledged = true;
  try {
    switch (order.kind) {
      case OrderKind::set:
        if (order.expires_in) {
          client.set(key, order.value, *order.expires_in);
        } else {
          client.set(key, order.value);
        }
        break;
      case OrderKind::del:
        result.existed = client.del({key}) > 0;
        break;
      case OrderKind::expire:
        result.existed = client.expire(key, *order.expires_in);
        break;
      case OrderKind::persist:
        // PERSIST tells whether there was an expiry.
        result.existed = client.persist(key) || client.exists({key}) > 0;
        break;
    }
  } catch (const Error& e) {
    return e;
  }
  return result;
}

/// Known for certain, a moment ago.
bool joined_for_certain(const KeyState& state) {
  const auto copies = state.copies();
  return copies != nullptr && copies->manifest.joined &&
         Clock::now() - state.confirmed_at() < reader_limit;
}

}  // namespace

Result<WriteResult> write(Shared& shared, const std::shared_ptr<KeyState>& state,
                          WriteOrder order) {
  state->used(Clock::now());
  for (int attempt = 0;; ++attempt) {
    if (joined_for_certain(*state)) {
      const auto began = Clock::now();
      auto done = write_plain(shared.client(), state->key(), order);
      // It may have waited in the client while the key was split again.
      const bool slow = Clock::now() - began > grace - reader_limit;
      if (!done || !slow || attempt > 0 || !shared.refresh(*state)) return done;
      continue;
    }
    auto call = std::make_shared<Write>(shared.shared_from_this(), state, std::move(order));
    call->start();
    const Write::End end = call->wait();
    if (end == Write::End::under_way || end == Write::End::done) return call->result();
    if (attempt == 2) {
      return Error(ErrorCode::damaged, Outcome::rejected,
                   "the manifest or the original of the key is lost again and again");
    }
    order = call->take_order();
    if (end == Write::End::lost) {
      if (auto repaired = repair(shared, *state); !repaired) return repaired.error();
      continue;
    }
    auto current = shared.refresh(*state);
    if (current) continue;
    if (current.error().code() != ErrorCode::not_split) return std::move(current).error();
    return write_plain(shared.client(), state->key(), order);
  }
}

}  // namespace slotwise::hotkey
